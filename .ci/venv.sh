#!/usr/bin/env bash
# Makes .venv and installs what a requirements file pins, from wheels only.
#   .ci/venv.sh requirements.txt | requirements-dev.txt
# Does nothing, in a few milliseconds, when that file is already installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-python3}
wanted=$1

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.version_info >= (3, 11))' \
  2>/dev/null) || { echo "Ampsite needs Python 3.11 or newer; '$python' does not run." >&2; exit 1; }
if [[ $version == *False ]]; then
  echo "Ampsite needs Python 3.11 or newer; '$python' is ${version% *}. Name another: make PYTHON=..." >&2
  exit 1
fi

# Two of these at once would install into the same folder.
exec 9<requirements.txt
flock 9

# A stamp is written last, so an install that was cut off has none. The path is part of it
# because scripts in a virtualenv carry it; the version because an upgrade of Python breaks it.
stamp() { { echo "$version $PWD"; cat "$@"; } | sha256sum | cut -d' ' -f1; }
run=$(stamp requirements.txt)
dev=$(stamp requirements.txt requirements-dev.txt)
have() { [[ -x .venv/bin/python && "$(cat ".venv/$1" 2>/dev/null)" == "$2" ]]; }

case $wanted in
  requirements.txt) have .installed "$run" && exit 0 ;;
  requirements-dev.txt) have .installed "$run" && have .installed-dev "$dev" && exit 0 ;;
  *) echo "usage: $0 requirements.txt | requirements-dev.txt" >&2; exit 2 ;;
esac

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "Python's venv module is missing. As root, type this, then try again:" >&2
    echo "    apt-get update && apt-get install -y python3-venv" >&2
    exit 1
  fi
  echo "Installing Debian's python3-venv."
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get -q update && apt-get -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=120 install python3-venv; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    exit 1
  fi
  rm -f "$log"
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "'$python' still has no venv module. Debian's own has: make PYTHON=/usr/bin/python3" >&2
    exit 1
  fi
fi

# Only an addition can be installed on top; whatever was changed or cut off starts afresh, so
# that nothing of an older list is left.
if ! have .installed "$run" || [[ -e .venv/.installed-dev ]]; then
  echo "Making .venv (once, about a minute)."
  rm -rf .venv
  "$python" -m venv .venv
fi
rm -f .venv/.installed
echo "Installing $wanted."
export PIP_DISABLE_PIP_VERSION_CHECK=1
# The files pin everything, so pip needs to resolve nothing; `check` finds what is left out.
.venv/bin/python -m pip install -qq --no-input --only-binary :all: --no-deps -r "$wanted"
.venv/bin/python -m pip check >/dev/null || { .venv/bin/python -m pip check >&2; exit 1; }

echo "$run" >.venv/.installed
if [[ $wanted == requirements-dev.txt ]]; then
  echo "$dev" >.venv/.installed-dev
fi
