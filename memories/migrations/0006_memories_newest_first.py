from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_collections_in_use")]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["-created_at", "-id"], name="memory_newest"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["agent", "-created_at", "-id"], name="memory_of_agent"
            ),
        ),
    ]
