# `make run` starts the whole product, `make test` shows that it is well. A clean clone on
# Debian with Python 3.11+, git and make is enough; both say what they install.

PYTHON ?= python3
# Not `?=`: a HOST that a shell exports must not open the desk to the network.
HOST = 127.0.0.1
PORT = 8000
# A few of: check sqlite serving postgres browser redis. Empty means all.
LANES =
# How many lanes run side by side. Empty means as many as there are processors.
JOBS =

export PYTHON JOBS

.PHONY: run test check lint help

run: ## Start Ampsite on http://HOST:PORT (PORT=9000 for another port)
	@bash .ci/venv.sh requirements.txt
	@.venv/bin/python manage.py migrate --noinput --verbosity 0
	@exec .venv/bin/python manage.py serve --first-run --host $(HOST) --port $(PORT)

test: ## Every check and every test (LANES="check sqlite" for some)
	@bash .ci/venv.sh requirements-dev.txt
	@.venv/bin/python .ci/lanes.py $(LANES)

check: ## Format, lint, types, import contracts, migrations
	@$(MAKE) --no-print-directory test LANES=check

lint: ## Format what a tool can format, then lint
	@bash .ci/venv.sh requirements-dev.txt
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .
	@find templates -name '*.html' -exec .venv/bin/djade --target-version 5.2 {} +

help:
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10
