"""Every block of the README and of docs/ runs and gives what the page shows; generated parts are up to date; links lead
somewhere."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import regenerate
from doctools.blocks import blocks_of, commands_of
from doctools.matching import difference
from doctools.running import BlockFailedError, PageRunner, environment_of_commands
from doctools.site import pages_of
from quick_program import quick_program

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *pages_of(ROOT / "docs")]
SESSIONS = [page for page in PAGES if re.search(r"^```(console|python)", page.read_text(encoding="utf-8"), re.M)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT)).removeprefix("docs/")


def with_slow_region(page: Path) -> bool:
    return any(f"<!-- begin: {name} -->" in page.read_text(encoding="utf-8") for name in regenerate.SLOW)


@pytest.fixture(scope="module")
def programs() -> Iterator[str]:
    """The folders in which commands of pages are looked up first: a ``qsim`` that starts quickly, then as installed."""
    with quick_program(environment_of_commands()) as folder:
        yield f"{folder}:{sysconfig.get_path('scripts')}"


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_blocks_give_what_the_page_shows(
    page: Path, tmp_path: Path, programs: str, require_tool: Callable[..., str]
) -> None:
    wrong, unavailable = [], set()
    runner = PageRunner(tmp_path, lambda name: require_tool(*name.split("|")), programs=programs)
    for block in blocks_of(page.read_text(encoding="utf-8")):
        try:
            results = list(runner.run(block))
        except pytest.skip.Exception as reason:  # the rest of the page still runs
            unavailable.add(str(reason))
            continue
        except BlockFailedError as failure:
            wrong.append(str(failure))
            continue
        for result in results:
            if result.shown.strip() and "varies" not in block.notes:
                said = difference(result.shown, result.came, block.tolerance)
                wrong += [f"line {block.line}: {result.source.strip()}\n{said}"] if said else []
    assert not wrong, f"{page.name}: if this is meant, `make docs` rewrites it\n" + "\n\n".join(wrong)
    if unavailable:
        pytest.skip("; ".join(sorted(unavailable)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fence_is_one_that_is_run_or_plain_text(page: Path) -> None:
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language == "console":
            assert commands_of(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        file, _, heading = unquote(target).partition("#")
        there = page.parent / file if file else page
        assert there.exists(), f"{page.name} links to {target}, which is not there"
        if heading:
            assert heading in headings(there), f"{page.name} links to {target}; headings: {headings(there)}"


def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_generated_references_are_up_to_date() -> None:
    assert regenerate.stale_references() == [], "out of date: make docs"


@pytest.mark.parametrize("page", [p for p in PAGES if "<!-- begin: " in p.read_text(encoding="utf-8")], ids=name_of)
def test_generated_regions_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == regenerate.with_regions(text, slow=False), f"{page.name} is out of date: make docs"


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if with_slow_region(p)], ids=name_of)
def test_slow_generated_regions_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == regenerate.with_regions(text), f"{page.name} is out of date: make docs"


def test_the_picture_of_the_readme_shows_the_figures_of_the_block_beside_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    words = r"queueing starts at depth ([\d.]+), 90 % of the peak at depth ([\d.]+), peak ([\d.]+) k/s"
    pictured = re.findall(words, readme)
    assert len(pictured) == 2
    for starts, ninety, peak in pictured:
        assert f"QUEUEING STARTS depth {starts} (" in readme
        assert f"90 % OF PEAK AT depth {ninety} (" in readme
        assert f"PEAK    {peak} k/s" in readme


def test_nothing_names_the_machine_it_was_written_on() -> None:
    """Pages, programs and the frame are read elsewhere: no path of a writer's machine, no address of its network."""
    pattern = re.compile(r"(?<![\w.])/(work|root|tmp|Users)/\w|https?://(10\.|192\.168\.)")
    files = [*PAGES, ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / ".ci").iterdir()]
    files += [*(ROOT / "examples").glob("*.py"), *(ROOT / "docs").rglob("*.py")]
    for file in files:
        assert not (found := pattern.search(file.read_text(encoding="utf-8"))), f"{file.name} names {found}"


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert re.search(rf"^\$ make {target}$", readme, re.M)
        assert re.search(rf"^{target}:", makefile, re.M)
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    assert "make test" in ci.read_text(encoding="utf-8")
