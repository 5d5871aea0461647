"""Django's admin, as an app with a site of ours."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class DeskAdminConfig(AdminConfig):
    default_site = "ampsite.admin.DeskAdminSite"

    def ready(self) -> None:
        from django.contrib import admin
        from django.contrib.auth.models import Group

        super().ready()
        admin.site.unregister(Group)  # roles say who may do what
