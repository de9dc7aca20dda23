"""The site: it builds without a warning and a network, and shows every picture of the gallery."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from building import built
from doctools.gallery import pictures
from doctools.site import inside, pages_of

ROOT = Path(__file__).resolve().parents[2]
PICTURES = pictures(ROOT / "examples" / "gallery")


class Fetched(HTMLParser):
    """What a browser fetches for a page, and where its links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "a" and named.get("href"):
            self.links.append(str(named["href"]))
        is_fetched = tag in ("script", "img", "iframe") or named.get("rel") in ("stylesheet", "preload", "icon")
        address = named.get("src") or (named.get("href") if tag == "link" else None)
        if is_fetched and address:
            self.fetched.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is read, every link resolved without a warning; it takes more than ten seconds."""
    return built(tmp_path_factory.mktemp("a site"), "html")


@pytest.mark.slow
def test_nothing_is_fetched_from_a_network_and_every_link_inside_leads_somewhere(site):
    pages = [p for p in site.rglob("*.html") if "_static" not in p.parts]
    assert len(pages) > 40
    assert all((site / p.relative_to(ROOT / "docs")).with_suffix(".html").exists() for p in pages_of(ROOT / "docs"))
    for page in pages:
        found = Fetched(page)
        assert found.fetched
        for address in found.fetched:
            assert "://" not in address, f"{page}: {address}"
            assert (page.parent / address.partition("?")[0]).exists(), f"{page}: {address}"
        for link in found.links:
            target = link.partition("#")[0]
            if target and "://" not in target:
                assert (page.parent / target).exists(), f"{page}: {link}"


@pytest.mark.slow
def test_the_styles_fetch_nothing_from_a_network(site):
    styles = list((site / "_static").rglob("*.css"))
    assert styles
    for style in styles:
        assert not re.findall(r"url\([\"']?https?:|@import", style.read_text(encoding="utf-8")), style


@pytest.mark.slow
def test_the_gallery_shows_every_picture_and_its_code(site):
    shown = set(re.findall(r'class="card" href="picture-(\w+)\.html"', (site / "gallery" / "index.html").read_text()))
    assert shown == {p.stem for p in (ROOT / "examples" / "gallery").glob("*.py")}
    for name in shown:
        assert "def" in (site / "gallery" / f"picture-{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", PICTURES, ids=lambda p: p.name)
def test_a_picture_shows_numbers_on_named_axes(picture):
    figure = picture.figure()
    of_words = all(np.asarray(trace.x).dtype.kind in "UO" for trace in figure.data)
    assert figure.layout.xaxis.title.text or of_words
    assert figure.layout.yaxis.title.text
    shown = 0
    for trace in figure.data:
        if trace.type == "heatmap":
            assert np.asarray(trace.z, dtype=float).shape == (len(trace.y), len(trace.x))
            shown += int(np.isfinite(np.asarray(trace.z, dtype=float)).sum())
            continue
        y = np.asarray(trace.y, dtype=float)
        assert np.asarray(trace.x).shape[-1] == len(y) >= 1
        only_a_legend = len(y) == 1 and not np.isfinite(y).all()
        assert only_a_legend or trace.type == "bar" or np.isfinite(y).all()  # no bar where nothing was measured
        shown += int(np.isfinite(y).sum())
    assert shown > 1


def test_links_that_leave_the_folder_stay_in_the_site():
    page = "[changes](../CHANGELOG.md)\n```python\n>>> 1\n1\n```\n```python\nprint(1)\n```\n"
    assert inside(page) == "[changes](changes.md)\n```pycon\n>>> 1\n1\n```\n```python\nprint(1)\n```\n"


def test_a_line_that_only_links_to_a_script_of_the_gallery_is_that_picture():
    page = "Text.\n\n[Many servers](../../examples/gallery/pooling.py)\n\nSee [it](../examples/gallery/pooling.py).\n"
    made = inside(page)
    assert 'data-picture="pooling" role="img" aria-label="Many servers"' in made
    assert 'src="../_static/pooling.js"' in made
    assert "See [it](../examples/gallery/pooling.py)." in made


@pytest.mark.slow
def test_every_how_to_has_a_picture(site):
    pages = sorted(site.glob("howto-*.html"))
    assert len(pages) > 10
    assert not [page.name for page in pages if "data-picture=" not in page.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_options_keep_their_two_dashes(site):
    changes = (site / "changes.html").read_text(encoding="utf-8")
    assert "--" in re.sub(r"<!--|-->", "", changes)
    assert "\N{EN DASH}" not in changes.rpartition("<article")[2]
