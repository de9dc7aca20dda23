"""What the site needs beside the pages: changes, labs and commands as pages, formulas, and links that stay inside."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from doctools.gallery import html_block, large, scripts

INSIDE = {"../CHANGELOG.md": "changes.md", "../README.md": "index.md"}
"""Files beside the folder of the pages, and the page of the site that stands for each."""

MADE = ("gallery", "labs", "changes.md", "commands.md")
"""What the building of the site writes into the folder of the pages, out of other files."""

DATA = "data"
"""Tables of others, with a list of their sources that is read beside them and is no page."""

_PICTURE = re.compile(r"^\[([^\]]+)\]\(((?:\.\./)+)examples/gallery/(\w+)\.py\)$", re.MULTILINE)
_VERBATIM = re.compile(r"^(?:\x08\n)?(\w[^\n]*:\n.+?)\n\n", re.MULTILINE | re.DOTALL)
_DOCTEST = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)


def inside(page: str) -> str:
    """The page with links to pages of the site only, pictures drawn, and interactive Python marked as such."""
    for outside, stands_for in INSIDE.items():
        page = page.replace(f"]({outside})", f"]({stands_for})")
    return _DOCTEST.sub("```pycon\n", with_pictures(page))


def with_pictures(page: str) -> str:
    """The page with each line that only links to a script of the gallery replaced by that picture."""
    links = list(_PICTURE.finditer(page))
    if not links:
        return page
    static = f"{links[0][2].removeprefix('../')}_static"
    shown = _PICTURE.sub(lambda link: f"{html_block(large(link[3], link[1]))}\n\n*{link[1]}*", page)
    return f"{shown}\n{html_block(scripts([link[3] for link in links], static))}\n"


def write_changes(changelog: Path, page: Path) -> None:
    """The changes as a page of the site."""
    page.write_text(changelog.read_text(encoding="utf-8"), encoding="utf-8")


def write_commands(page: Path) -> None:
    """The help of every command as a page of the site, written by Typer; its preformatted parts become blocks."""
    import typer
    from typer.cli import get_docs_for_click

    from calibrate.cli.app import app

    root: Any = typer.main.get_command(app)
    context: Any = root.make_context("qsim", [], resilient_parsing=True)
    text = get_docs_for_click(obj=root, ctx=context, name="qsim", title="Every command").replace("<", "&lt;")
    page.write_text(_VERBATIM.sub(r"```text\n\1\n```\n\n", text), encoding="utf-8")


def add_mathml(app: Any) -> None:
    """Let Sphinx typeset formulas as MathML, by docutils' own translation, which needs no script."""

    def visit(translator: Any, node: nodes.math | nodes.math_block) -> None:
        translator.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
        raise nodes.SkipNode

    app.add_html_math_renderer("mathml", (visit, None), (visit, None))


def write_labs(labs: Path, out: Path) -> None:
    """The labs, without their keys, as pages of the site in ``out``."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    for lab in sorted(labs.glob("*.md")):
        (out / lab.name).write_text(lab.read_text(encoding="utf-8"), encoding="utf-8")


def pages_of(docs: Path) -> list[Path]:
    """The pages that are written by hand or generated whole, without what the site alone needs."""
    return sorted(page for page in docs.rglob("*.md") if page.relative_to(docs).parts[0] not in (*MADE, DATA))
