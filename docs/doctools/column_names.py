"""The table of the names of columns that are read without a declaration."""

from __future__ import annotations

from measure.formats.tables.column_names import accepted_names


def column_table() -> str:
    """The table in Markdown."""
    return "\n".join(["| what | names |", "|---|---|", *(f"| {what} | {names} |" for what, names in accepted_names())])
