"""The table of the walk: who gets what at every address there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Each asks about objects of the agent bravo. The last two may see the agent alpha alone.
WHO = ("anonymous", "viewer", "reviewer", "admin", "limited-reviewer", "limited-admin")
LIMITED = WHO[-2:]


@dataclass(frozen=True)
class Row:
    """What each of ``WHO`` gets, in that order: a status, or ``login`` for the way to the
    login page and back. A single word is for all of them."""

    address: str
    get: str
    post: str
    body: str = ""

    def expected(self, method: str) -> list[str]:
        words = (self.get if method == "GET" else self.post).split()
        return words * len(WHO) if len(words) == 1 else words


PAGE = "login 200 200 200 200 200"
SHOWN = "login 200 200 200 404 404"
BACK = "login 302 302 302 404 404"
REVIEWERS = "login 403 200 200 404 404"
ADMINS = "login 403 403 200 404 404"
TURNED = "login 403 403 302 404 404"
DECIDED = "login 403 409 409 404 404"
PROPOSAL, MEMORY, AGENT = (
    "/proposals/{proposal}/",
    "/memories/{memory}/",
    "/agents/{agent}/",
)

TABLE = {
    "healthz": Row("/healthz", "200", "405"),
    "readyz": Row("/readyz", "503", "405"),
    "metrics": Row("/metrics", "404", "405"),
    r"\A\.well\-known/amp\-schema\.json/?\Z": Row(
        "/.well-known/amp-schema.json", "200", "405"
    ),
    # A session opens no door of the API.
    r"\Aapi/v1/amp/?\Z": Row("/api/v1/amp", "401", "401"),
    r"\Aapi/v1/whoami/?\Z": Row("/api/v1/whoami", "401", "401"),
    r"\Aapi/v1/proposals/?\Z": Row("/api/v1/proposals", "401", "401"),
    r"\Aapi/v1/proposals/(?P<id>[^/]+)/?\Z": Row("/api/v1" + PROPOSAL, "401", "401"),
    r"\Aapi/v1/proposals/(?P<id>[^/]+)/approve/?\Z": Row(
        "/api/v1" + PROPOSAL + "approve", "401", "401"
    ),
    r"\Aapi/v1/proposals/(?P<id>[^/]+)/reject/?\Z": Row(
        "/api/v1" + PROPOSAL + "reject", "401", "401"
    ),
    r"\A(?:api|\.well-known)(?:/|\Z)": Row("/api/v2/", "404", "404"),
    "": Row("/", "302", "405"),
    "login/": Row("/login/", "200 302 302 302 302 302", "422"),
    "logout/": Row("/logout/", "405", "302"),
    "password/": Row("/password/", PAGE, "login 422 422 422 422 422"),
    "proposals/": Row("/proposals/", PAGE, "405"),
    "proposals/<uuid:proposal_id>/": Row(PROPOSAL, SHOWN, "405"),
    "proposals/<uuid:proposal_id>/memories/<uuid:memory_id>/": Row(
        "/proposals/{stale}/memories/{memory}/", SHOWN, "405"
    ),
    "proposals/<uuid:proposal_id>/approve": Row(PROPOSAL + "approve", "302", DECIDED),
    "proposals/<uuid:proposal_id>/reject": Row(PROPOSAL + "reject", "302", DECIDED),
    "proposals/<uuid:proposal_id>/approve/": Row(PROPOSAL + "approve/", "302", DECIDED),
    "proposals/<uuid:proposal_id>/reject/": Row(PROPOSAL + "reject/", "302", DECIDED),
    "proposals/<uuid:proposal_id>/rebase/": Row(PROPOSAL + "rebase/", "302", DECIDED),
    "proposals/<uuid:proposal_id>/retry/": Row(
        PROPOSAL + "retry/", "302", "login 403 302 302 404 404"
    ),
    "proposals/<uuid:proposal_id>/undo/": Row(
        "/proposals/{rejected}/undo/",
        "302",
        "login 403 403 403 404 404",
        "decision={decision}",
    ),
    "memories/": Row("/memories/", PAGE, "405"),
    "memories/<uuid:memory_id>/": Row(MEMORY, SHOWN, "405"),
    "memories/<uuid:memory_id>/propose/": Row(
        MEMORY + "propose/", REVIEWERS, "login 403 422 422 404 404"
    ),
    "memories/<uuid:memory_id>/forget/": Row(MEMORY + "forget/", REVIEWERS, DECIDED),
    "memories/<uuid:memory_id>/retry/": Row(
        MEMORY + "retry/", BACK, "login 403 302 302 404 404"
    ),
    "memories/<uuid:memory_id>/versions/<int:version>/restore/": Row(
        MEMORY + "versions/1/restore/", REVIEWERS, DECIDED
    ),
    "agents/": Row("/agents/", PAGE, "405"),
    "agents/new/": Row(
        "/agents/new/", "login 403 403 200 403 403", "login 403 403 422 403 403"
    ),
    "agents/<uuid:pk>/": Row(AGENT, SHOWN, "405"),
    "agents/<uuid:pk>/edit/": Row(AGENT + "edit/", ADMINS, TURNED),
    "agents/<uuid:pk>/pause/": Row(AGENT + "pause/", BACK, TURNED, "to=on"),
    "agents/<uuid:pk>/switch/": Row(AGENT + "switch/", BACK, TURNED, "to=off"),
    "agents/<uuid:pk>/keys/": Row(AGENT + "keys/", ADMINS, "login 403 403 422 404 404"),
    "agents/<uuid:pk>/keys/<uuid:key_pk>/revoke/": Row(
        AGENT + "keys/{key}/revoke/", ADMINS, TURNED
    ),
    "work/": Row("/work/", PAGE, "405"),
    "audit/": Row("/audit/", PAGE, "405"),
    "audit/<slug:chain>/<int:sequence>/": Row("/audit/{chain}/{sequence}/", SHOWN, "405"),
}

# In the admin, whether the row is of a hidden agent makes a difference to admins alone.
ADMIN_PAGE = "login 403 403 200 403 200"
ADMIN_ROW = "login 403 403 200 403 404"
ADMIN_WAY = "login 403 403 302 403 404"
REFUSED = "login 403 403 403 403 404"
NOTHING = "login 403 403 404 403 404"
NOBODY = "login 403 403 403 403 403"
PEOPLE = "login 403 403 200 403 403"
ANYWHERE = "login 403 403 302 403 302"  # to where the row would be, unseen
ROWS = {
    "approvals/proposal": "{proposal}",
    "approvals/proposaltarget": "{target}",
    "approvals/proposaldraft": "{draft}",
    "approvals/decision": "{decision}",
    "memories/memory": "{memory}",
    "memories/memoryrevision": "{revision}",
    "memories/indexentry": "{index_entry}",
    "memories/apikey": "{key}",
    "memories/auditentry": "{entry}",
    "memories/agent": "{agent}",
    "memories/user": "{person}",
}
CHANGED = {"memories/agent": ADMIN_WAY, "memories/user": ADMIN_ROW}
ADMIN = {
    "admin/": Row("/admin/", ADMIN_PAGE, ADMIN_PAGE),
    "admin/jsi18n/": Row("/admin/jsi18n/", ADMIN_PAGE, "login 403 403 405 403 405"),
    "admin/^(?P<app_label>approvals|memories)/$": Row(
        "/admin/memories/", ADMIN_PAGE, ADMIN_PAGE
    ),
    "admin/(?P<url>.*)$": Row("/admin/nothing", NOTHING, NOTHING),
    "admin/memories/user/<int:object_id>/password/": Row(
        "/admin/memories/user/{person}/password/", PEOPLE, PEOPLE.replace("200", "422")
    ),
}


def admin_rows() -> Iterator[tuple[str, Row]]:
    for model, row in ROWS.items():
        route, address = f"admin/{model}/", f"/admin/{model}/"
        of_people = model == "memories/user"
        listed, added = (PEOPLE, PEOPLE) if of_people else (ADMIN_PAGE, NOBODY)
        yield route, Row(address, listed, listed)
        yield route + "add/", Row(address + "add/", added, added)
        one = {
            "history/": (ADMIN_WAY, ADMIN_WAY),
            "delete/": (REFUSED, REFUSED),
            "change/": (ADMIN_ROW, CHANGED.get(model, REFUSED)),
            "": (ANYWHERE, ANYWHERE),
        }
        for act, (get, post) in one.items():
            yield f"{route}<path:object_id>/{act}", Row(f"{address}{row}/{act}", get, post)


def table() -> dict[str, Row]:
    return {**TABLE, **ADMIN, **dict(admin_rows())}
