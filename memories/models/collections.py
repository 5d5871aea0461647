"""Which collections of the index there are, and which of them answers."""

from __future__ import annotations

import re
import secrets
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.embedding.base import Kind


class CollectionQuerySet(models.QuerySet["Collection"]):
    def serving(self) -> Collection | None:
        return self.filter(state=Collection.State.SERVING).first()

    def building(self) -> Collection | None:
        return self.filter(state=Collection.State.BUILDING).first()

    def retired(self) -> Self:
        return self.filter(state=Collection.State.RETIRED)


class Collection(models.Model):
    """Vectors of one kind. One collection answers recall; at most one more is built beside
    it, and takes its place once it is complete; what is retired is about to be dropped."""

    class State(models.TextChoices):
        BUILDING = "building"
        SERVING = "serving"
        RETIRED = "retired"

    name = models.CharField(max_length=128, unique=True)
    embedder = models.CharField(max_length=32)
    model = models.CharField(max_length=200, blank=True)
    dimension = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=State.choices)
    changed_at = models.DateTimeField(default=timezone.now)  # since when it is so

    objects = CollectionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["state"],
                name="collection_one_serving_one_building",
                condition=Q(state__in=["serving", "building"]),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> Kind:
        return Kind(self.embedder, self.model, self.dimension)

    @classmethod
    def of(cls, kind: Kind, state: str, *, again: bool = False) -> Collection:
        """Not saved. ``again``: under a name that no collection ever had, since the plain
        one may be taken, or its points left behind somewhere."""
        # Names are folders, and parts of addresses.
        model = re.sub(r"[^A-Za-z0-9.]+", "-", kind.model)[:60].strip("-.")
        parts = ["memories", kind.embedder, model, str(kind.dimension)]
        if again:
            parts.append(secrets.token_hex(3))
        return cls(
            name="-".join(filter(None, parts)),
            embedder=kind.embedder,
            model=kind.model,
            dimension=kind.dimension,
            state=state,
        )
