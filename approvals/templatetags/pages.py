"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.sentences import instant

register = template.Library()

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_SHORT = {"day": "d", "hour": "h", "minute": "min"}


@register.simple_tag
def when(at: datetime | None, style: str = "long") -> SafeString | str:
    """A time relative to now, exact on hover; ``style`` "short" for rows."""
    if at is None:
        return "never"
    text = relative(at, timezone.now(), short=style == "short")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds"),
        instant(at),
        text,
    )


def relative(at: datetime, now: datetime, *, short: bool = False) -> str:
    """ "3 days ago", "in 2 hours", "now"; short: "3 d"."""
    seconds = (at - now).total_seconds()
    for unit, size in _UNITS:
        number = int(abs(seconds) // size)
        if number and short:
            return f"{number} {_SHORT[unit]}"
        if number:
            words = f"{number} {unit}{'s' * (number != 1)}"
            return f"in {words}" if seconds > 0 else f"{words} ago"
    return "now" if short else "in a moment" if seconds > 0 else "just now"
