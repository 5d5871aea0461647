"""Ampsite: the review desk for what AI agents remember."""

from __future__ import annotations

from ampsite.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
