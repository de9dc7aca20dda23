"""The pages as slides: ``make slides`` writes each as one HTML file that opens offline, and as a PDF.

The text of a page flows over its slides whole: paragraphs part between sentences, code between statements, and a
section that ends before half of a slide shares it with the next. Formulas are MathML, code stands without prompts and
apart from what it prints, plotly draws the pictures, Chromium prints the PDF, and nothing is fetched.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from doctools.formulas import is_formula, mathml_table

DOCS = Path(__file__).resolve().parent.parent
TAUGHT = ("tutorial-*.md", "explanation-*.md", "theory/*.md")
"""The pages that a course is made of."""

LINES, COLUMNS = 17, 88
"""What fits on a slide, in lines of text and in letters."""

CODE_COLUMNS, CODE_LINE, CODE_FRAME, FORMULA_LINE = 104, 0.75, 1.0, 1.6
"""The letters of a line of code, and the heights of its lines, its frame and a formula, in lines of text."""

PICTURE, FEWEST_CODE = 11, 5
"""The least lines of text that a picture needs, and the fewest lines of code that are parted from others."""

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


def slides_of(page: str) -> list[Slide]:
    """The slides of a page; the first is its title.

    >>> [slide.title for slide in slides_of("# Queues\\n\\nThey form. They grow.\\n\\n## Why\\n\\nArrivals vary.")]
    ['Queues', 'Why']
    """
    page = _COMMENT.sub("", page).partition("\n## Sources")[0]
    found: list[Slide] = []
    for title, blocks in _sections(page):
        first, *more = _with_lead_ins(blocks) or [[]]
        heading = f"### {title}"
        joins = len(found) > 1 and found[-1].height < LINES / 2
        if joins and found[-1].height + sum(map(_height, [heading, *first])) <= LINES:
            found[-1].parts.append(heading)
        else:
            found.append(Slide(title))
        number = 1
        for unit in [first, *more]:
            left = unit
            while left:
                here, left = _parted(left, LINES - found[-1].height, fresh=not found[-1].parts)
                found[-1].parts += here
                if left:
                    number += 1
                    found.append(Slide(f"{title} ({number})"))
    return found


def _with_lead_ins(blocks: Sequence[str]) -> list[list[str]]:
    """The blocks, each with the sentences that lead in to it."""
    units: list[list[str]] = []
    for block in blocks:
        if units and _leads_in(units[-1][-1]):
            units[-1].append(block)
        else:
            units.append([block])
    return units


def _parted(unit: list[str], room: float, *, fresh: bool) -> tuple[list[str], list[str]]:
    """What of a unit fits into ``room``, and what is left; something always fits on a ``fresh`` slide."""
    if sum(map(_height, unit)) <= room:
        return unit, []
    *before, last = unit
    left = room - sum(map(_height, before))
    if last.startswith("```") and not is_formula_block(last):
        fence, *code, end = last.splitlines()
        most = int((left - CODE_FRAME) / CODE_LINE)
        cut = next((n for n in range(min(most, len(code)), FEWEST_CODE - 1, -1) if _may_part(code, n)), 0)
        if cut and len(code) - cut >= FEWEST_CODE:
            return [*before, "\n".join([fence, *code[:cut], end])], ["\n".join([fence, *code[cut:], end])]
    if _is_prose(unit[0]):
        sentences = _SENTENCE.split(unit[0])
        for count in range(len(sentences) - 1, 0, -1):
            some = " ".join(sentences[:count])
            if _height(some) <= room and (count < len(sentences) or len(unit) == 1):
                return [some], [" ".join(sentences[count:]), *unit[1:]]
    return (unit, []) if fresh else ([], unit)


def _may_part(code: list[str], at: int) -> bool:
    """Whether a block may part before this line: not within a statement, and not from what it prints."""
    return (at < len(code) and code[at].startswith((">>> ", "$ "))) or not any(c.startswith(">>> ") for c in code)


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
        return 0.5 + FORMULA_LINE * (len(lines) - 2)
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
    typed = any(line.startswith((">>> ", "$ ")) for line in lines)
    for line in lines:
        code = re.match(r"(?:>>>|\.\.\.) ?", line) if lots and lots[-1][0] == "code" else re.match(">>> ", line)
        kind = "code" if code or not typed or line.startswith("$ ") else "output"
        text = _DIRECTIVE.sub("", line[code.end() :] if code else line)
        text = {"<BLANKLINE>": "", "...": "…"}.get(text, text)
        if not lots or lots[-1][0] != kind:
            lots.append((kind, []))
        lots[-1][1].append(text)
    return "".join(f'<pre class="{kind}">{html.escape(chr(10).join(text))}</pre>' for kind, text in lots)


def write_slides(out: Path) -> list[Path]:
    """Write the slides of every taught page into ``out``, with a PDF of each where a browser is here."""
    from calibrate.report.images import print_pdf
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
