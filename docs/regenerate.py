"""Rewrite what the README and the pages of docs/ show: outputs of commands, tables of figures, references.

    make docs                              what no longer matches, on every page
    python docs/regenerate.py PAGE...      these pages only, outputs that vary from machine to machine too
    python docs/regenerate.py --check      write nothing; exit code 1 where a reference is out of date

An output that still matches is left alone, so that nothing changes but what has changed.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "examples" / "accuracy")]

from doctools.architecture import architecture  # noqa: E402
from doctools.blocks import blocks_of  # noqa: E402
from doctools.matching import difference  # noqa: E402
from doctools.running import PageRunner, Result, rewritten  # noqa: E402
from doctools.site import pages_of  # noqa: E402

PAGES: dict[str, Callable[[], str]] = {"architecture.md": architecture}
"""Pages that are generated whole."""


def regions() -> dict[str, Callable[[], str]]:
    """Parts of a page between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``, by name."""
    from accuracy import collected, figures, in_short
    from accuracy_memory import rivals
    from any_load import table as any_load_table
    from approximations import table as approximations_table
    from change_power import alarm_table, loss_table, queue_table
    from doctools.loads_picture import picture as loads_picture
    from doctools.still import still
    from doctools.weights_picture import picture
    from heavy_tails import table as heavy_tails_table
    from rounding import table as rounding_table
    from surface_accuracy import table as surface_table

    return {
        "picture of the README": lambda: still("docs/"),
        "picture of the first page": lambda: still(""),
        "picture of the weights": picture,
        "picture of the loads": loads_picture,
        "accuracy in short": in_short,
        "drives": lambda: figures(collected()),
        "surfaces": surface_table,
        "memories over a delay": rivals,
        "any load": any_load_table,
        "approximations": approximations_table,
        "heavy tails": heavy_tails_table,
        "rounding": rounding_table,
        "false alarms of changes": lambda: "\n".join(alarm_table(60)),
        "losses found": lambda: "\n".join(loss_table(30)),
        "changes under other loads": lambda: queue_table(60),
    }


_REGION = re.compile(r"(<!-- begin: (.*?) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)


SLOW = (
    *("drives", "accuracy in short", "memories over a delay", "any load", "approximations", "heavy tails", "rounding"),
    *("surfaces", "false alarms of changes", "losses found", "changes under other loads"),
)
"""Regions that take a minute or more."""


VARYING = ("rounding",)
"""Regions whose last figures differ from processor to processor: rewritten where their page is named."""


def with_regions(page: str, *, slow: bool = True, exact: bool = False) -> str:
    """The page with each of its generated regions rewritten where it no longer matches; the ``SLOW`` if ``slow``.

    ``exact`` rewrites last digits too.
    """
    made = regions() if _REGION.search(page) else {}

    def fresh(found: re.Match[str]) -> str:
        if (found[2] in SLOW and not slow) or (found[2] in VARYING and not exact):
            return found[0]
        text = f"\n{made[found[2]]().strip()}\n\n"
        stale = exact or found[2].startswith("picture") or difference(found[3], text)  # pictures agree to the digit
        return f"{found[1]}{text}{found[4]}" if stale else found[0]

    return _REGION.sub(fresh, page)


def with_outputs(page: str, *, exact: bool) -> str:
    """The page with the outputs that came where those shown are stale.

    ``exact`` rewrites those that may differ too, and last digits, so that all figures of a page come from one run.
    """

    def find(name: str) -> object:
        return shutil.which(name) or sys.exit(f"{name} is needed to write this page: install it")

    with tempfile.TemporaryDirectory() as folder:
        runner = PageRunner(Path(folder), find, as_shown=exact)
        parts, end = [], 0
        for block in blocks_of(page):
            results = list(runner.run(block))
            stale = exact if "varies" in block.notes else any(_stale(r, exact) for r in results)
            parts += [page[end : block.start], rewritten(block, results) if stale else block.text]
            end = block.start + len(block.text)
    return "".join([*parts, page[end:]])


def _stale(result: Result, exact: bool) -> bool:
    shown = result.shown.strip()
    if not shown:
        return False
    if exact and "..." not in shown:
        return shown != result.came.strip()
    return difference(result.shown, result.came, result.block.tolerance) is not None


def stale_references() -> list[str]:
    """The names of the pages generated whole that are not what would be generated now."""
    return [name for name, make in PAGES.items() if (DOCS / name).read_text(encoding="utf-8") != make()]


def main(names: list[str]) -> None:
    """Regenerate the named pages to the last digit, or what is stale in all.

    With --check, write nothing and end where a reference is out of date.
    """
    if names == ["--check"]:
        stale = [f"docs/{name}" for name in stale_references()]
        sys.exit(f"out of date: {', '.join(stale)}; rewrite with: make docs" if stale else 0)
    named = [Path(name).resolve() for name in names]
    for name, make in PAGES.items():
        if not named or DOCS / name in named:
            _write(DOCS / name, make())
    for path in named or [DOCS.parent / "README.md", *pages_of(DOCS)]:
        if path.name not in PAGES:
            page = path.read_text(encoding="utf-8")
            _write(path, with_outputs(with_regions(page, exact=bool(named)), exact=bool(named)))
            _draw_stills(page, path.read_text(encoding="utf-8"))


def _draw_stills(before: str, after: str) -> None:
    """Draw each picture again where a page shows one that is not there, or whose numbers have changed."""
    from doctools import loads_picture, still, weights_picture

    for one in (still, weights_picture, loads_picture):
        shown = [line for line in after.splitlines() if f"_static/{one.FILE.name})" in line]
        if shown and not (one.FILE.exists() and set(shown) <= set(before.splitlines())):
            one.draw()
            sys.stdout.write(f"{one.FILE.name} drawn\n")


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name} written\n")


if __name__ == "__main__":
    main(sys.argv[1:])
