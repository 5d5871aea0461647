"""Every address: pages, the API, and what a machine asks about this process."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("ampsite.health")),
    path("", include("memories.api.urls")),
    path("", include("approvals.urls")),
    path("admin/", admin.site.urls),
]

# A problem document under the API, a page elsewhere.
handler400 = "memories.api.problems.bad_request"
handler404 = "memories.api.problems.not_found"
handler500 = "memories.api.problems.server_error"
