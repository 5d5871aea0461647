"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.template import Context
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.sentences import instant

register = template.Library()


@register.simple_tag(takes_context=True)
def section(context: Context, name: str, label: str) -> SafeString:
    """A link of the bar to a section's page; the section that the page is in says so."""
    address = reverse(f"approvals:{name}")
    here = context["request"].path.startswith(address)
    mark = format_html(' aria-current="{}"', "page") if here else ""
    return format_html('<a href="{}"{}>{}</a>', address, mark, label)


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
    """ "3 days ago", "in 2 hours", "now"; short: "3 d". Whole units that went by, or the
    nearest number of those to come: what lapses after 30 days lapses "in 30 days"."""
    seconds = (at - now).total_seconds()
    for unit, size in _UNITS:
        number = round(seconds / size) if seconds > size else int(abs(seconds) // size)
        if number and short:
            return f"{number} {_SHORT[unit]}"
        if number:
            words = f"{number} {unit}{'s' * (number != 1)}"
            return f"in {words}" if seconds > 0 else f"{words} ago"
    return "now" if short else "in a moment" if seconds > 0 else "just now"
