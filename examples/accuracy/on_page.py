"""Tables of docs that take too long for docs/regenerate.py: each script writes its own, between marks of its name."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def shown_table(page: str, name: str) -> str:
    """The table ``name`` as it stands on a page of docs: between ``<!-- NAME -->`` and ``<!-- NAME ends -->``.

    Raises ValueError where the page has no such marks.
    """
    return _marked(_text(page), page, name)[2].strip()


def write_table(page: str, name: str, table: str) -> None:
    """Put ``table`` in the place of the one that stands there. Raises ValueError as ``shown_table``."""
    text = _text(page)
    start, end = _marked(text, page, name).span(2)
    (DOCS / page).write_text(f"{text[:start]}\n{table.strip()}\n\n{text[end:]}", encoding="utf-8")


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def _marked(text: str, page: str, name: str) -> re.Match[str]:
    found = re.search(rf"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- {re.escape(name)} ends -->)", text, re.DOTALL)
    if not found:
        raise ValueError(f"docs/{page} has lost the marks <!-- {name} --> and <!-- {name} ends -->")
    return found
