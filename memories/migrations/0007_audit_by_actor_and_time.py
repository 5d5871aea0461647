from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0006_memories_newest_first"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                fields=["actor_kind", "actor_id", "-id"], name="audit_of_actor"
            ),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["at"], name="audit_at"),
        ),
    ]
