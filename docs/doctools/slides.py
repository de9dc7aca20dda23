"""The pages as slides of reveal.js: ``make slides`` builds them with Sphinx, and prints each as a PDF.

A heading begins a slide. Where a section is longer than one, its blocks go on with the next, under the same heading.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes

TAUGHT = ("tutorial-*.md", "explanation-*.md", "theory/*.md")
"""The pages that a course is made of."""

CONFIG: dict[str, Any] = {
    "include_patterns": list(TAUGHT),
    "root_doc": "tutorial-queue-by-hand",
    "suppress_warnings": ["myst.xref_missing", "toc.not_included"],  # links lead out of the slides
    "revealjs_style_theme": "white",
    "revealjs_static_path": ["_static", "gallery/static"],
    "revealjs_css_files": ["slides.css"],
    "revealjs_script_conf": {"width": 1280, "height": 720, "center": False, "hash": True, "transition": "none"},
}
"""How Sphinx builds them."""

LINES, COLUMNS, PICTURE = 17.0, 88, 13.0
"""What fits on a slide below its heading, in lines of text and in letters, and the lines that a picture takes."""


def part_slides(app: Any, doctree: nodes.document, name: str) -> None:
    """Begin the next slide where the blocks of a section fill one; what a sentence leads to stays with it."""
    from sphinx_revealjs.nodes import revealjs_break

    for section in list(doctree.findall(nodes.section)):
        used = 0.0
        for block in [child for child in section.children if not isinstance(child, nodes.title | nodes.section)]:
            needed = height(block)
            after = section.children[section.index(block) + 1 :]
            led = height(after[0]) if after and leads_in(block) and not isinstance(after[0], nodes.section) else 0.0
            if used and used + needed + led > LINES:
                section.insert(section.index(block), revealjs_break())
                used = 0.0
            used += needed


def leads_in(block: nodes.Node) -> bool:
    """Whether a block goes on in the next one: a sentence that is not at its end, a picture in its words."""
    if isinstance(block, nodes.raw):
        return is_picture(block)
    is_caption = isinstance(block, nodes.paragraph) and isinstance(block[0], nodes.emphasis)
    is_open = not block.astext().rstrip('*`)"').endswith((".", "?", "!"))
    return isinstance(block, nodes.paragraph) and is_open and not is_caption


def is_picture(block: nodes.Node) -> bool:
    """Whether it is a picture of the gallery, or one in a file."""
    return "data-picture" in block.astext() or block.next_node(nodes.image) is not None


def height(block: nodes.Node) -> float:
    """The height of a block in lines of text."""
    text = block.astext()
    match block:
        case _ if is_picture(block):
            lines = PICTURE
        case nodes.raw() | nodes.comment():
            lines = 0.0
        case nodes.math_block():
            lines = 1 + 2.2 * len(text.replace("aligned", "").strip().splitlines())
        case nodes.literal_block():
            lines = 1 + 0.8 * len(text.splitlines())
        case nodes.table():
            lines = 1 + sum(1.3 * (1 + len(row.astext()) // COLUMNS) for row in block.findall(nodes.row))
        case nodes.bullet_list() | nodes.enumerated_list():
            lines = 0.5 + sum(1 + len(item.astext()) // COLUMNS for item in block.children)
        case _:
            lines = 1.5 + len(text) // COLUMNS
    return lines


def print_slides(folder: Path) -> int:
    """Print each set of slides in ``folder`` as a PDF beside it, where a browser is here; how many there are."""
    from calibrate.report.page import print_pdf
    from measure.errors import MeasureError

    pages = sorted(page for pattern in TAUGHT for page in folder.glob(pattern.replace(".md", ".html")))
    for page in pages:
        try:
            print_pdf(page, page.with_suffix(".pdf"))
        except MeasureError as error:
            sys.stderr.write(f"no PDF of {page.name}: {error}\n")
    return len(pages)


if __name__ == "__main__":
    out = Path(sys.argv[1])
    sys.stdout.write(f"{print_slides(out)} sets of slides: {out}\n")
