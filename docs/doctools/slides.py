"""The pages as slides: ``make slides`` writes each as one HTML file that opens offline, and as a PDF.

A slide is a section. It shows lists, tables, blocks and pictures as they are, and of each paragraph the first sentence,
or all of it where the slide would be half empty; the notes (key N) hold the whole text. A section too long for a slide
is spread evenly over several; a slide not a third full takes its neighbour in. plotly draws the pictures, Chromium
prints the PDF, and nothing is fetched.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
TAUGHT = ("tutorial-*.md", "explanation-*.md", "theory/*.md")
"""The pages that a course is made of."""

LINES, COLUMNS = 18, 95
"""What fits on a slide, in lines of text and in letters."""

CODE_LINES, CODE_COLUMNS, CODE_LINE = 20, 105, 0.75
"""Of a block of code that fits below a sentence; and the height of its lines, in lines of text."""

_PICTURE = re.compile(r"^\[([^\]]+)\]\((?:\.\./)+examples/gallery/(\w+)\.py\)$")
_SENTENCE = re.compile(r"(.+?[.:?!])(?=\s+[A-Z`*\"]|$)", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


@dataclass(frozen=True)
class Slide:
    """A heading, its parts in Markdown, and the text in full for the notes."""

    title: str
    parts: tuple[str, ...]
    notes: str = ""


def slides_of(page: str) -> list[Slide]:
    """The slides of a page; the first is its title.

    >>> [slide.title for slide in slides_of("# Queues\\n\\nThey form. They grow.\\n\\n## Why\\n\\nArrivals vary.")]
    ['Queues', 'Why']
    >>> slides_of("# Queues\\n\\nThey form. They grow.")[0].parts
    ('They form. They grow.',)
    """
    page = _COMMENT.sub("", page).partition("\n## Sources")[0]
    found: list[Slide] = []
    for title, blocks in _sections(page):
        prose = "\n\n".join(b for b in blocks if _is_prose(b))
        whole = [part for block in blocks for part in _shown(block, whole=True)]
        short = [part for block in blocks for part in _shown(block)]
        packed = _evenly(
            whole if sum(map(_height, short)) <= LINES / 2 and sum(map(_height, whole)) <= LINES else short
        )
        for number, parts in enumerate(packed or [[]]):
            heading = f"{title} ({number + 1})" if number else title
            slide = Slide(heading, tuple(parts), "" if number else prose)
            if len(found) > 1 and (both := _together(found[-1], slide)) is not None:
                found[-1] = both
            else:
                found.append(slide)
    return found


def _together(slide: Slide, following: Slide) -> Slide | None:
    """Both as one slide, where one of them is not a third full and both fit."""
    heights = [sum(map(_height, one.parts)) for one in (slide, following)]
    if min(heights) >= LINES / 3 or sum(heights) + 2 > LINES:
        return None
    parts = (*slide.parts, f"### {following.title}", *following.parts)
    return Slide(slide.title, parts, "\n\n".join(filter(None, (slide.notes, following.notes))))


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
    return not block.startswith(("```", "|", "- ", "1. ", ">", "![")) and not _PICTURE.match(block)


def _shown(block: str, *, whole: bool = False) -> list[str]:
    """What of a block is on the slide: the first sentence of prose, or the ``whole``; long code is parted."""
    if _is_prose(block) and not whole:
        first = _SENTENCE.match(block)
        return [first[1] if first else block]
    if not block.startswith("```"):
        return [block]
    fence, *code, _ = block.splitlines()
    pieces = max(-(-len(code) // CODE_LINES), 1)
    each = -(-len(code) // pieces)
    return ["\n".join([fence, *code[i : i + each], "```"]) for i in range(0, len(code), each)]


def _evenly(parts: Sequence[str]) -> list[list[str]]:
    """The parts on as few slides as hold them, the emptiest as full as can be."""
    forward = [list(_packed(parts, most)) for most in range(LINES + 1)]
    backward = [[lot[::-1] for lot in _packed(parts[::-1], most)][::-1] for most in range(LINES + 1)]
    fewest = [lots for lots in forward + backward if len(lots) == len(forward[-1])]
    return max(fewest, key=lambda lots: min((sum(map(_height, lot)) for lot in lots), default=0))


def _packed(parts: Sequence[str], most: int) -> Iterator[list[str]]:
    """The parts in lots of at most so many lines each; a longer part is a lot."""
    lot: list[str] = []
    for part in parts:
        if lot and sum(map(_height, [*lot, part])) > most:
            yield lot
            lot = []
        lot.append(part)
    if lot:
        yield lot


def _height(part: str) -> float:
    if _PICTURE.match(part):
        return LINES - 3
    if part.startswith("```"):
        return 1 + CODE_LINE * sum(1 + len(line) // CODE_COLUMNS for line in part.splitlines()[1:-1])
    return 1 + sum(1 + len(line) // COLUMNS for line in part.splitlines())


def html_of(title: str, slides: Sequence[Slide], figures: dict[str, str]) -> str:
    """One page that holds the slides; ``figures`` are the pictures of the gallery as plotly's JSON."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    def rendered(text: str) -> str:
        return str(markdown.render(_LINK.sub(r"\1", text)))  # links lead out of the slides

    def drawn(part: str) -> str:
        picture = _PICTURE.match(part)
        if picture is None:
            return rendered(part)
        label = html.escape(picture[1])
        return f'<div class="figure" data-picture="{picture[2]}" role="img" aria-label="{label}"></div>'

    body = "\n".join(
        f'<section class="slide{"" if i else " title"}"><h2>{html.escape(slide.title)}</h2>'
        f"{''.join(map(drawn, slide.parts))}<aside>{rendered(slide.notes)}</aside></section>"
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


def write_slides(out: Path) -> list[Path]:
    """Write the slides of every taught page into ``out``; a PDF beside each where a browser is here."""
    from calibrate.report.paper import print_pdf
    from doctools.gallery import pictures
    from measure.errors import MeasureError

    drawn = {p.name: p for p in pictures(DOCS.parent / "examples" / "gallery")}
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(page for pattern in TAUGHT for page in DOCS.glob(pattern)):
        slides = slides_of(page.read_text(encoding="utf-8"))
        named = [m[2] for s in slides for part in s.parts if (m := _PICTURE.match(part))]
        figures = {name: drawn[name].figure().to_json() for name in named}
        target = out / f"{page.stem}.html"
        target.write_text(html_of(slides[0].title, slides, figures), encoding="utf-8")
        written.append(target)
        try:
            print_pdf(target, target.with_suffix(".pdf"))
        except MeasureError as error:
            sys.stderr.write(f"no PDF of {page.name}: {error}\n")
    return written


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.stdout.write(f"{len(write_slides(folder))} sets of slides: {folder}\n")
