"""Phrases that we do not write, in the texts of the product and in its pages: a busy reader reads them twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doctools.site import MADE

ROOT = Path(__file__).parents[2]
KINDS = {".py", ".md", ".js", ".html", ".css"}
BUILT = {ROOT / "docs" / name for name in MADE}
PLACES = ("calibrate", "measure", "qsim", "docs", "examples", "README.md", "CHANGELOG.md")

UNWRITTEN = {
    r"\b(?:is|are|was|were|be|been) told\b(?! apart)": "say what is: 'is detected', 'is reported', 'follows from'",
    r"\b(?:is|are) kept\b": "say 'is stored', 'stays', or what is done",
    r"\b(?:is|are|was|were) not told\b(?! apart)": "say 'is unknown', 'is not stated'",
    r"\b(?:customers?|arrivals?|jobs?|server) who\b": "a customer, an arrival or a server is 'that' or 'which'",
    r"\banew\b": "say 'again'",
    r"\bno such\b": "name what is missing",
    r"(?<![.\w])(?:point|finding|curve|run|row|file|error|warning|host|thread|job|loader|server)\(s\)": "count them",
    r"!r\} is no\b": "say invalid ... {value!r}: expected ...",
    r"\b(?:he|his|him)\b": "a customer, an arrival or a user is 'it', 'they' or 'you'",
    r"\bopen as long as\b": "say 'depends on'",
    r"\bsame command goes on\b": "say 'run the same command again to resume'",
}
"""Regular expressions, over lower-case text in which each run of blanks is one, and what to write in their place."""


def prose(text: str) -> str:
    """The text in lower case, with strings and comments that go over several lines joined."""
    joined = re.sub(r'"\s*\n\s*f?"', "", text)
    joined = re.sub(r"\n\s*(?:#:?|//|\*)\s", " ", joined)
    return re.sub(r"\s+", " ", joined).lower()


def found_in(text: str) -> list[str]:
    plain = prose(text)
    return [
        f"...{plain[max(0, m.start() - 40) : m.end() + 20]}...: {instead}"
        for phrase, instead in UNWRITTEN.items()
        for m in re.finditer(phrase, plain)
    ]


def sources() -> list[Path]:
    places = [ROOT / place for place in PLACES]
    return [
        path
        for place in places
        for path in ([place] if place.is_file() else sorted(place.rglob("*")))
        if path.suffix in KINDS and not BUILT & {path, *path.parents}
    ]


@pytest.mark.parametrize("place", PLACES)
def test_no_text_has_a_phrase_that_we_do_not_write(place: str) -> None:
    files = [path for path in sources() if path.relative_to(ROOT).parts[0] == place]
    assert files
    wrong = [f"{path.relative_to(ROOT)}: {one}" for path in files for one in found_in(path.read_text("utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "the depth is\n    told by fio",
        'f"{n} point(s) of "\n',
        'say("it is "\n    "kept")',
        "written anew.",
        "No such file",
        'f"{text!r} is no seed"',
        "# the points are\n# kept here",
        "the customer he served",
        "a customer\n    who waits",
        "the unit is not told",
        "open as long as c is",
    ],
)
def test_the_phrases_are_seen(text: str) -> None:
    assert found_in(text)


@pytest.mark.parametrize("text", ["the two cannot be told apart", "there is no such_name", "the hertz", "kept is"])
def test_other_words_are_not(text: str) -> None:
    assert not found_in(text)
