"""Conditions that no index answers, and that shall not tempt a database to try another."""

from __future__ import annotations

from django.db.models import BooleanField, Case, Q, When


def fits(condition: Q) -> Case:
    """The condition as a value of each row. Inside of CASE no database finds the rows by
    another index instead, and then sorts all that there are."""
    return Case(When(condition, then=True), default=False, output_field=BooleanField())
