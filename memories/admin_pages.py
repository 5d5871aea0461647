"""What the admin pages of all tables share: who sees which rows, and that none is deleted."""

# ruff: noqa: ARG002  (Django names the arguments)

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.utils import get_fields_from_path, unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import linebreaksbr
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html

from memories.characters import segments
from memories.errors import DomainError
from memories.models import User

if TYPE_CHECKING:
    AnyAdmin = admin.ModelAdmin[Any]
    AnyPaginator = Paginator[Any]
else:
    AnyAdmin, AnyPaginator = admin.ModelAdmin, Paginator

MOST_ROWS = 5_000  # that a list counts and leads to; a search finds the others
LONG_IN_MEMORY = ("memory__content", "memory__metadata")
MOST_PARTS = 4_000  # of a text, each a run of characters or one that hides

Column = Callable[[Any], str]


class Glimpse(AnyPaginator):
    """Counts no further than ``MOST_ROWS``: a count of all rows would read them all."""

    @cached_property
    def count(self) -> int:
        rows = cast("QuerySet[Any]", self.object_list)
        return rows[:MOST_ROWS].count()


def text(name: str) -> Column:
    """A column of text that somebody else wrote, with nothing hidden in it."""

    @admin.display(description=name.replace("_", " "))
    def column(row: Any) -> str:
        value = getattr(row, name)
        if value is None:
            return "erased" if name == "payload" else "none"
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, indent=1)
        return format_html('<span dir="auto">{}</span>', linebreaksbr(_visible(value)))

    column.__name__ = name
    return column


def agent_of(name: str) -> Column:
    """A column that names the agent, and leads to it."""

    @admin.display(description="agent")
    def column(row: Any) -> str:
        agent = getattr(row, name)
        address = reverse("admin:memories_agent_change", args=[agent.pk])
        return format_html('<a href="{}">{}</a>', address, agent.agent_id)

    column.__name__ = "agent"
    return column


def _visible(value: str) -> str:
    parts = segments(value, most=MOST_PARTS)
    return "".join(f"[{part.label}]" if part.label else part.text for part in parts)


class Record(AnyAdmin):
    """Rows that are shown, and written elsewhere. ``agent_path`` leads to their agent, ""
    where the row is one; ``long`` are the paths of what may be long, which no list reads.
    """

    agent_path = "agent"
    long: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[Any] = None  # the stubs know no callables in it
    list_select_related: ClassVar[Any] = False
    search_fields: ClassVar[Any] = ()
    actions = None
    list_per_page = 50
    list_max_show_all = 50
    ordering = ("-pk",)
    paginator = Glimpse
    show_facets = admin.ShowFacets.NEVER  # each facet counts all rows
    show_full_result_count = False
    view_on_site = False

    def about(self, row: Any) -> str:
        """What the audit calls the row: ``kind:id``, or "" where there is no entry."""
        raise NotImplementedError  # each table says its own; none is a record in itself

    def person(self, request: HttpRequest) -> User:
        if not isinstance(request.user, User):
            raise PermissionDenied("Nobody is signed in.")
        return request.user

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.person(request).manages

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.person(request).manages

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Only what the filters offer. Django takes any look-up on a table's own columns:
        a regular expression that never ends, or a guess at a hash, letter by letter."""
        offered = {str(name) for name in self.list_filter}
        return lookup.removesuffix("__exact").removesuffix("__isnull") in offered

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).defer(*self.long)
        return self.visible(rows, self.person(request))

    def visible(self, rows: QuerySet[Any], person: User) -> QuerySet[Any]:
        """Those of the agents that the person may see."""
        if person.all_agents:
            return rows
        people = f"{self.agent_path}__people" if self.agent_path else "people"
        return rows.filter(**{people: person})

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Raises ``Http404``: what is not there and what is hidden look alike."""
        found = super().get_object(request, object_id, from_field)
        if found is None:
            raise Http404("There is no such row.")
        return found

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """What has the whole value in the first of ``search_fields`` where anything has it.
        One indexed column at a time: any of several would read the table."""
        term = search_term.strip()
        if not term:
            return queryset, False
        for name in self.search_fields:
            column = cast(Any, get_fields_from_path(self.model, name)[-1])
            try:
                value = column.to_python(term)
            except ValidationError:
                continue  # the term is no value of this column
            path, _, end = name.rpartition("__")
            if path:
                others = column.model.objects.filter(**{end: value})
                path, value = f"{path}__in", list(others.values_list("pk", flat=True)[:1])
            found = queryset.filter(**{path or name: value})
            if found.order_by().exists():
                return found, False
        return queryset.none(), False

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The audit is the only record."""
        about = self.about(self.get_object(request, unquote(object_id)))
        query = f"?{urlencode({'object': about})}" if about else ""
        return redirect(f"{reverse('approvals:audit')}{query}")


class Written(Record):
    """Rows that services change, each with its audit entry in one transaction."""

    def write(self, request: HttpRequest, row: Any, form: Any, *, is_new: bool) -> None:
        """Carry out a valid form by the services; a new row gets its ``pk``."""
        raise NotImplementedError  # each table says its own; none is written in itself

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        # Not the public one: it opens a transaction first, and on SQLite two who take the
        # file's lock and this process's lock in different order wait for each other.
        try:
            response: HttpResponse = self._changeform_view(  # type: ignore[attr-defined]  # left out of the stubs
                request, object_id, form_url, extra_context
            )
        except DomainError as error:  # true since the form was judged
            messages.error(request, str(error))
            return redirect(request.path)
        return response

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.asked_by = self.person(request)
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        self.write(request, obj, form, is_new=not change)

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Any, change: bool
    ) -> None:
        """Nothing: ``write`` did."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Nothing: the audit is the only record."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Nothing: the audit is the only record."""
