"""The few words of curl that the documents use, for machines that lack it: ``-s``, ``-X``,
``-H``, ``-d``, ``-w '\\n'`` and an address. Prints the body, of an error as well."""

from __future__ import annotations

import sys
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener


def request(words: list[str]) -> Request:
    """Raises ``ValueError`` for a word that is not known."""
    url, method, body, headers = "", None, None, {}
    rest = iter(words)
    for word in rest:
        match word:
            case "-s":
                pass
            case "-w":
                if next(rest) != r"\n":
                    raise ValueError("curl -w writes a line's end here, and nothing else")
            case "-X":
                method = next(rest)
            case "-H":
                name, _, value = next(rest).partition(": ")
                headers[name] = value
            case "-d":
                body = next(rest).encode()
            case _ if word.startswith("-") or url:
                raise ValueError(f"curl {word} is not known here")
            case _:
                url = word
    return Request(url, body, headers, method=method)


def main() -> None:
    try:
        answer = build_opener(ProxyHandler({})).open(request(sys.argv[1:]), timeout=60)
    except HTTPError as error:
        answer = error
    with answer:
        sys.stdout.write(answer.read().decode())
    if "-w" in sys.argv:
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
