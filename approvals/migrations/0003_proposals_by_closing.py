from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_initial")]

    operations = [
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                fields=["agent", "closed_at"], name="proposal_closed_of_agent"
            ),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["memory_id"], name="proposal_of_memory"),
        ),
    ]
