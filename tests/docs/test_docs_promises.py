"""Each promise about data names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def test_every_promise_is_held_by_a_test(repository: Path) -> None:
    page = (repository / "docs" / "promises.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 15
    for row in rows:
        named = re.fullmatch(r"\| .*\. \| `(tests/\S+\.py)::(\w+)` \|", row)
        assert named, row
        tree = ast.parse((repository / named[1]).read_text("utf-8"))
        assert named[2] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, row
