"""Every address: pages, the API, and what a machine asks about this process."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("ampsite.health")),
    path("", include("memories.api.urls")),
    path("", include("approvals.urls")),
]
