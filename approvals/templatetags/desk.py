"""How a text somebody else wrote is shown: as text, with nothing hidden in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from memories.characters import Segment, label_of, name_of, replace_hidden, segments
from memories.lookalikes import mixed_words

register = template.Library()

# In one text. Of more hidden characters each is the sign �, more words are left unmarked.
MOST_TOKENS = 1_000
_SPACES = {" ": "·", "\t": "→\t", "\n": "↵\n"}


@register.filter
def visible(text: str) -> SafeString:
    """``text`` escaped, its hidden and bidirectional characters as tokens that name them,
    words that mix look-alike scripts marked."""
    parts = segments(text, most=2 * MOST_TOKENS)
    if len(parts) > 2 * MOST_TOKENS:
        return escape(replace_hidden(text))
    words = tuple(islice(mixed_words(text), MOST_TOKENS))
    if len(parts) == 1 and not parts[0].label and not words:
        return escape(text)
    return format_html_join("", "{}", ((part,) for part in _marked(parts, words)))


@register.filter
def beginning(text: str, length: int) -> str:
    """The first characters; unlike ``truncatechars`` it does not normalize all of a text,
    which takes seconds for one made of combining marks."""
    return text if len(text) <= length else f"{text[:length]}…"


@register.filter
def visible_change(text: str) -> SafeString:
    """As ``visible``, for a piece that changed: white space alone is shown by signs."""
    if not text.isspace() or len(text) > MOST_TOKENS:
        return visible(text)
    return format_html_join("", "{}", ((_space(character),) for character in text))


def _space(character: str) -> str:
    if character in _SPACES:
        return _SPACES[character]
    return _token(label_of(character), name_of(character))


def _marked(
    parts: tuple[Segment, ...], words: tuple[tuple[int, int], ...]
) -> Iterator[str]:
    """The parts in order, cut where a marked word begins or ends."""
    at, left = 0, list(reversed(words))
    for part in parts:
        end = at + len(part.text)
        if part.label:
            yield _token(part.label, part.title)
            at = end
        while at < end:
            while left and left[-1][1] <= at:
                left.pop()
            start, stop = left[-1] if left else (end, end)
            cut = min(end, stop if start <= at else start)
            text = part.text[len(part.text) - (end - at) : len(part.text) - (end - cut)]
            yield _lookalike(text) if start <= at else text
            at = cut


@lru_cache(maxsize=1_000)
def _token(label: str, title: str) -> SafeString:
    return format_html('<span class="token" title="{}">{}</span>', title, label)


def _lookalike(text: str) -> SafeString:
    title = "Mixes letters of scripts that look alike"
    return format_html('<span class="lookalike" title="{}">{}</span>', title, text)
