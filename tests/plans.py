"""How the databases carry out what a page asks them."""

from __future__ import annotations

import re

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext


def whole_reads(caught: CaptureQueriesContext, table: str) -> list[str]:
    """The questions among those that read the table from one end to the other, or would
    if it were large: PostgreSQL is told to avoid it where it can."""
    asked = (query["sql"] for query in caught.captured_queries)
    about = [sql for sql in asked if sql.startswith("SELECT") and f'"{table}"' in sql]
    assert about, f"Nothing asked about {table}."
    return [sql for sql in about if _is_whole(sql, _plan(sql), table)]


def _plan(sql: str) -> list[str]:
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {sql}")
            return [str(row[0]) for row in cursor.fetchall()]
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return [str(row[-1]) for row in cursor.fetchall()]


def _is_whole(sql: str, plan: list[str], table: str) -> bool:
    """Not what takes the first rows of an index as they come."""
    read = re.compile(rf"^SCAN {table}\b|Seq Scan on {table}\b")
    takes_first = " LIMIT " in sql and " WHERE " not in sql
    sorts = any(re.search(r"TEMP B-TREE|\bSort\b", step) for step in plan)
    return any(map(read.search, plan)) and (sorts or not takes_first)
