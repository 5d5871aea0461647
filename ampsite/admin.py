"""Django's admin as a part of the desk: its sessions, its errors, its record."""

from __future__ import annotations

from functools import update_wrapper
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import URLPattern, URLResolver

from memories.models import User

# People sign in, sign out and change their password at the desk, where that is throttled
# and audited; the other two answer about any row of any table.
NOT_HERE = frozenset(
    {
        "login",
        "logout",
        "password_change",
        "password_change_done",
        "autocomplete",
        "view_on_site",
    }
)


class DeskAdminSite(AdminSite):
    site_title = "Ampsite"
    site_header = "Ampsite admin"
    index_title = "Everything that is kept"
    empty_value_display = "none"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return isinstance(request.user, User) and request.user.manages

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Strangers meet the desk's login page and come back; who is no admin meets 403."""
        guarded = super().admin_view(view, cacheable)

        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                is_read = request.method in {"GET", "HEAD"}
                here = request.get_full_path() if is_read else request.path
                back = urlencode({"next": here})
                return redirect(f"{resolve_url(settings.LOGIN_URL)}?{back}")
            if not self.has_permission(request):
                raise PermissionDenied("Only admins may open the admin pages.")
            response: HttpResponse = guarded(request, *args, **kwargs)
            return response

        return update_wrapper(inner, guarded)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [
            one for one in super().get_urls() if getattr(one, "name", "") not in NOT_HERE
        ]
