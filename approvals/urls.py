"""The addresses of the pages."""

from __future__ import annotations

from django.urls import path

from approvals import views

app_name = "approvals"
urlpatterns = [
    path("", views.home, name="home"),
    path("login/", views.log_in, name="login"),
    path("logout/", views.log_out, name="logout"),
    path("password/", views.password, name="password"),
    path("proposals/", views.queue, name="queue"),
    path("proposals/<uuid:proposal_id>/", views.proposal, name="proposal"),
    path(
        "proposals/<uuid:proposal_id>/memories/<uuid:memory_id>/",
        views.target,
        name="target",
    ),
    # Without the slash too: a script that decides should learn what it may not do.
    path("proposals/<uuid:proposal_id>/approve", views.approve),
    path("proposals/<uuid:proposal_id>/reject", views.reject),
    path("proposals/<uuid:proposal_id>/approve/", views.approve, name="approve"),
    path("proposals/<uuid:proposal_id>/reject/", views.reject, name="reject"),
    path("proposals/<uuid:proposal_id>/rebase/", views.rebase, name="rebase"),
    path("proposals/<uuid:proposal_id>/retry/", views.retry, name="retry"),
    path("proposals/<uuid:proposal_id>/undo/", views.undo, name="undo"),
    path("memories/", views.memories, name="memories"),
    path("memories/<uuid:memory_id>/", views.memory, name="memory"),
    path("memories/<uuid:memory_id>/propose/", views.propose_change, name="propose_change"),
    path("memories/<uuid:memory_id>/forget/", views.forget_memory, name="forget_memory"),
    path("memories/<uuid:memory_id>/retry/", views.retry_memory, name="retry_memory"),
    path(
        "memories/<uuid:memory_id>/versions/<int:version>/restore/",
        views.restore_version,
        name="restore_version",
    ),
    path("agents/", views.agents, name="agents"),
    path("agents/new/", views.new_agent, name="new_agent"),
    path("agents/<uuid:pk>/", views.agent, name="agent"),
    path("agents/<uuid:pk>/edit/", views.edit_agent, name="edit_agent"),
    path("agents/<uuid:pk>/pause/", views.pause_agent, name="pause_agent"),
    path("agents/<uuid:pk>/switch/", views.switch_agent, name="switch_agent"),
    path("agents/<uuid:pk>/keys/", views.create_key, name="create_key"),
    path(
        "agents/<uuid:pk>/keys/<uuid:key_pk>/revoke/", views.revoke_key, name="revoke_key"
    ),
    path("work/", views.work, name="work"),
    path("audit/", views.audit, name="audit"),
    path("audit/<slug:chain>/<int:sequence>/", views.audit_entry, name="audit_entry"),
]
