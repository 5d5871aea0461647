"""Memories as people read them: the list, the search, one memory with its history."""

from __future__ import annotations

from approvals.memory_pages.forms import MemoryFilterForm, ProposeForm, SeenForm
from approvals.memory_pages.listing import Listing, listing_for
from approvals.memory_pages.page import MemoryPage, find_memory, page_of
from approvals.memory_pages.restoring import Restoring, restoring_of
from approvals.memory_pages.search import Search, search_for

__all__ = [
    "Listing",
    "MemoryFilterForm",
    "MemoryPage",
    "ProposeForm",
    "Restoring",
    "Search",
    "SeenForm",
    "find_memory",
    "listing_for",
    "page_of",
    "restoring_of",
    "search_for",
]
