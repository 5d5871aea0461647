from __future__ import annotations

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_demo_accounts")]

    operations = [
        migrations.CreateModel(
            name="Collection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=128, unique=True)),
                ("embedder", models.CharField(max_length=32)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("dimension", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("building", "Building"),
                            ("serving", "Serving"),
                            ("retired", "Retired"),
                        ],
                        max_length=16,
                    ),
                ),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["serving", "building"])),
                        fields=("state",),
                        name="collection_one_serving_one_building",
                    )
                ],
            },
        ),
    ]
