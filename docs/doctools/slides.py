"""The pages as slides: ``make slides`` writes each as one HTML file that opens offline, and as a PDF.

The text of a page flows over its slides whole: paragraphs part between sentences, code between statements, tables
between rows, and short sections share a slide, so that text covers at least half of every slide.
Formulas are MathML, code stands without prompts and apart from what it prints, plotly draws the pictures, Chromium
prints the PDF, and nothing is fetched.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from doctools.formulas import is_formula, mathml_table

DOCS = Path(__file__).resolve().parent.parent
TAUGHT = ("tutorial-*.md", "explanation-*.md", "theory/*.md")
"""The pages that a course is made of."""

LINES, COLUMNS = 17, 88
"""What fits on a slide, in lines of text and in letters."""

CODE_COLUMNS, CODE_LINE, CODE_FRAME, FORMULA_LINE, FRACTION_LINE = 104, 0.75, 1.0, 1.3, 2.2
"""The letters of a line of code, and the heights of its lines, its frame and a formula, in lines of text."""

LEAST, PICTURE = 10.8, 11
"""The least lines of text on a slide, half of its height with the heading, and those that a picture needs. A picture
counts as what is shown, and its text stands above it; the slide with the title of the page is as full as others."""

MOST_PIECES = 60
"""Pieces among which the beginning of a slide is sought."""

_PICTURE = re.compile(r"^\[([^\]]+)\]\((?:\.\./)+examples/gallery/(\w+)\.py\)$")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`*\"])")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*# doctest:.*")


@dataclass
class Slide:
    """A heading, and its parts in Markdown."""

    title: str
    parts: list[str] = field(default_factory=list)

    @property
    def height(self) -> float:
        """In lines of text."""
        return sum(map(_height, self.parts))


@dataclass(frozen=True)
class Piece:
    """What stands on one slide whole: a sentence, a statement with what it prints, an item, a row, or a whole block.

    ``frame`` are the lines before and after the pieces of its block; ``is_glued`` holds it to the next piece.
    """

    text: str
    section: str
    block: int
    joint: str = "\n"
    frame: tuple[str, str] = ("", "")
    is_glued: bool = False


def slides_of(page: str) -> list[Slide]:
    """The slides of a page; the first is its title.

    Pieces are parted as Knuth and Plass part lines (1981): of all ways the one with the least cost over all slides.

    >>> [slide.title for slide in slides_of("# Queues\\n\\nThey form. They grow.\\n\\n## Why\\n\\nArrivals vary.")]
    ['Queues']
    """
    page = _COMMENT.sub("", page).partition("\n## Sources")[0]
    pieces = list(_pieces(page))
    ends = [n + 1 for n, piece in enumerate(pieces) if not piece.is_glued]
    best: dict[int, tuple[float, list[Slide]]] = {0: (0.0, [])}
    for end in ends:
        found = []
        for begin in [n for n in (0, *ends) if n < end][-MOST_PIECES:]:
            cost, before = best[begin]
            slide = _slide(pieces, begin, end)
            found.append((cost + _emptiness(slide.height) + _parting(pieces, end), [*before, slide]))
        best[end] = min(found, key=lambda way: way[0])
    return _numbered(best[len(pieces)][1])


def _slide(pieces: Sequence[Piece], begin: int, end: int) -> Slide:
    here = pieces[begin:end]
    slide = Slide(here[0].section)
    for (section, _), block in groupby(here, key=lambda piece: (piece.section, piece.block)):
        if section != here[0].section and f"### {section}" not in slide.parts:
            slide.parts.append(f"### {section}")
        first, *more = block
        text = first.joint.join(piece.text for piece in (first, *more)).strip("\n")
        slide.parts += filter(None, ["\n".join(filter(None, (first.frame[0], text, first.frame[1])))])
    return slide


def _emptiness(height: float) -> float:
    """The cost of a slide's height: nothing on a full one, and much above it and below its least."""
    if height > LINES:
        return 20 + 10 * (height - LINES)
    return ((LINES - height) / LINES) ** 2 + (10 * (LEAST - height) if height < LEAST else 0.0)


def _parting(pieces: Sequence[Piece], end: int) -> float:
    """The cost of a slide's end before a piece: the more, the closer the two pieces belong together."""
    if end == len(pieces) or pieces[end].section != pieces[end - 1].section:
        return 0.0
    return 0.3 if pieces[end].block == pieces[end - 1].block else 0.1


def _numbered(slides: Sequence[Slide]) -> list[Slide]:
    """The slides. A section of several slides numbers them in their titles."""
    count = Counter[str]()
    for slide in slides:
        held = [part.removeprefix("### ") for part in slide.parts if part.startswith("### ")]
        count.update([slide.title, *held])
        if count[slide.title] > 1:
            slide.title += f" ({count[slide.title]})"
    return list(slides)


def _pieces(page: str) -> Iterator[Piece]:
    for section, blocks in _sections(page):
        for number, block in enumerate(blocks or [""]):
            *texts, last = _parted(block)
            after = blocks[number + 1] if number + 1 < len(blocks) else ""
            look = partial(Piece, section=section, block=number, joint=_joint(block), frame=_frame(block))
            yield from (look(text) for text in texts)
            yield look(last, is_glued=not block or bool(after and (_leads_in(block) or _PICTURE.match(after))))


def _joint(block: str) -> str:
    return " " if _is_prose(block) else "\n"


def _frame(block: str) -> tuple[str, str]:
    """The fences of code, and the head of a table."""
    lines = block.splitlines()
    if block.startswith("```"):
        return lines[0], lines[-1]
    return ("\n".join(lines[:2]), "") if block.startswith("|") else ("", "")


def _parted(block: str) -> list[str]:
    """The pieces of a block, without its frame."""
    lines = block.splitlines()
    if block.startswith("```"):
        code = lines[1:-1]
        return _runs(code, r">>> |\$ |$" if _is_typed(block) else r"[^\s)\]}]")
    if block.startswith("|"):
        return lines[2:] or [""]
    if _is_prose(block):
        return _SENTENCE.split(" ".join(lines))
    return _runs(lines, r"- |\d+\. ")


def _is_typed(block: str) -> bool:
    """Whether a block of code shows what is typed, and what that prints."""
    return block.startswith("```console") or any(line.startswith((">>> ", "$ ")) for line in block.splitlines())


def _runs(lines: Sequence[str], first: str) -> list[str]:
    """Lines in runs, each of which begins with one that matches ``first``."""
    runs: list[list[str]] = []
    for line in lines:
        if not runs or re.match(first, line):
            runs.append([])
        runs[-1].append(line)
    return ["\n".join(run) for run in runs]


def is_formula_block(block: str) -> bool:
    """Whether a fenced block holds formulas."""
    return block.startswith("```text") and is_formula(block.split("\n", 1)[1].removesuffix("```"))


def _sections(page: str) -> Iterator[tuple[str, list[str]]]:
    """Every heading with its blocks, which are parted by empty lines outside of code."""
    title, blocks, lines, fenced = "", list[str](), list[str](), False
    for line in [*page.splitlines(), ""]:
        if line.startswith("```"):
            fenced = not fenced
        heading = None if fenced else re.match(r"#{1,3} (.+)", line)
        if (heading or (not line and not fenced)) and lines:
            blocks.append("\n".join(lines))
            lines = []
        if heading:
            if title:
                yield title, blocks
            title, blocks = heading[1], []
        elif line or fenced:
            lines.append(line)
    yield title, blocks


def _is_prose(block: str) -> bool:
    return not block.startswith(("```", "|", "- ", "1. ", ">", "![", "#")) and not _PICTURE.match(block)


def _leads_in(block: str) -> bool:
    """Whether a sentence of the block goes on in the next one."""
    return _is_prose(block) and not block.rstrip('*`)"').endswith((".", "?", "!"))


def _height(part: str) -> float:
    if _PICTURE.match(part):
        return PICTURE
    lines = part.splitlines()
    if is_formula_block(part):
        return 0.5 + sum(FRACTION_LINE if "/" in line else FORMULA_LINE for line in lines[1:-1])
    if part.startswith("```"):
        return CODE_FRAME + CODE_LINE * sum(1 + len(line) // CODE_COLUMNS for line in lines[1:-1])
    if part.startswith("|"):
        return 0.4 + 1.1 * sum(1 + len(line) // COLUMNS for line in lines if not line.startswith("|--"))
    if _is_prose(part):
        return 0.4 + 1 + len(" ".join(lines)) // COLUMNS
    return 0.4 + sum(1 + len(line) // COLUMNS for line in lines)


def html_of(title: str, slides: Sequence[Slide], figures: dict[str, str]) -> str:
    """One page that holds the slides; ``figures`` are the pictures of the gallery as plotly's JSON."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    def drawn(part: str) -> str:
        picture = _PICTURE.match(part)
        if picture is not None:
            label = html.escape(picture[1])
            return f'<div class="figure" data-picture="{picture[2]}" role="img" aria-label="{label}"></div>'
        if part.startswith("```"):
            return _code(part)
        return str(markdown.render(_LINK.sub(r"\1", part)))  # links lead out of the slides

    body = "\n".join(
        f'<section class="slide{"" if i else " title"}"><h2>{html.escape(slide.title)}</h2>'
        f"{''.join(map(drawn, slide.parts))}</section>"
        for i, slide in enumerate(slides)
    )
    static = DOCS / "_static"
    plotly = (files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8") if figures else ""
    drawings = json.dumps({name: json.loads(text) for name, text in figures.items()}).replace("<", "\\u003c")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>qsim: {html.escape(title)}</title>\n'
        f"<style>{(static / 'slides.css').read_text('utf-8')}</style>\n<script>{plotly}</script></head>\n"
        f"<body>\n{body}\n<script>const pictures = {drawings};\n{(static / 'slides.js').read_text('utf-8')}</script>"
        "</body></html>\n"
    )


def _code(block: str) -> str:
    """A block of code: formulas typeset, statements without prompts, and apart what they print."""
    if is_formula_block(block):
        return mathml_table(block.split("\n", 1)[1].removesuffix("```"))
    lots: list[tuple[str, list[str]]] = []
    lines = block.splitlines()[1:-1]
    typed = _is_typed(block)
    for line in lines:
        code = re.match(r"(?:>>>|\.\.\.) ?", line) if lots and lots[-1][0] == "code" else re.match(">>> ", line)
        kind = "code" if code or not typed or line.startswith("$ ") else "output"
        text = _DIRECTIVE.sub("", line[code.end() :] if code else line)
        text = {"<BLANKLINE>": "", "...": "…"}.get(text, text)
        if not lots or lots[-1][0] != kind:
            lots.append((kind, []))
        lots[-1][1].append(text)
    return "".join(f'<pre class="{kind}">{html.escape(chr(10).join(text))}</pre>' for kind, text in lots)


def write_html(out: Path) -> Iterator[Path]:
    """Write the slides of every taught page into ``out``; each file once it is there."""
    from doctools.gallery import pictures

    drawn = {p.name: p for p in pictures(DOCS.parent / "examples" / "gallery")}
    out.mkdir(parents=True, exist_ok=True)
    for page in sorted(page for pattern in TAUGHT for page in DOCS.glob(pattern)):
        slides = slides_of(page.read_text(encoding="utf-8"))
        named = [m[2] for s in slides for part in s.parts if (m := _PICTURE.match(part))]
        figures = {name: drawn[name].figure().to_json() for name in named}
        target = out / f"{page.stem}.html"
        target.write_text(html_of(slides[0].title, slides, figures), encoding="utf-8")
        yield target


def write_slides(out: Path) -> int:
    """Write the slides, with a PDF of each where a browser is here; how many."""
    from calibrate.report.page import print_pdf
    from measure.errors import MeasureError

    count = 0
    for count, page in enumerate(write_html(out), start=1):  # noqa: B007 - the last is returned
        try:
            print_pdf(page, page.with_suffix(".pdf"))
        except MeasureError as error:
            sys.stderr.write(f"no PDF of {page.name}: {error}\n")
    return count


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.stdout.write(f"{write_slides(folder)} sets of slides: {folder}\n")
