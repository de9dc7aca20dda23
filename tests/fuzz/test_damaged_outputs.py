"""Outputs with parts cut, doubled, moved or exchanged: a parser reads what is left, or refuses it in one sentence."""

from __future__ import annotations

from functools import cache

import pytest
from fuzz_parsers import check
from fuzz_targets import MAX_BYTES, TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st

TOKENS = st.sampled_from(
    [
        b"",
        b"0",
        b"-1",
        b"1e999",
        b"nan",
        b"9" * 400,
        b"null",
        b"true",
        b"{}",
        b"[]",
        b'""',
        b"{",
        b"]",
        b'"',
        b",",
        b";",
        b"\n",
        b"\r",
        b"\0",
        b"\xff",
        b"\x0c",
        b"\xef\xbb\xbf",
        b"%",
        b"us",
        b"=",
        b"../x",
        b" " * 200,
        b"[" * 2000,
    ]
)


@cache
def seeds(target: str) -> tuple[bytes, ...]:
    return tuple(TARGETS[target].seeds())


@st.composite
def damaged(draw: st.DrawFn, target: str) -> bytes:
    """One of the outputs to start from, with up to five places changed."""
    content = draw(st.sampled_from(seeds(target)))
    for _ in range(draw(st.integers(1, 5))):
        begin = draw(st.integers(0, len(content)))
        end = draw(st.integers(begin, min(len(content), begin + 200)))
        kind = draw(st.sampled_from(["cut", "double", "token", "bytes", "move"]))
        part = content[begin:end]
        if kind == "double":
            part = part * 2
        elif kind == "token":
            part = draw(TOKENS)
        elif kind == "bytes":
            part = draw(st.binary(max_size=20))
        elif kind == "cut":
            part = b""
        head, tail = content[:begin], content[end:]
        content = (head + tail + part if kind == "move" else head + part + tail)[:MAX_BYTES]
    return content


@pytest.mark.parametrize("target", TARGETS)
def test_a_damaged_output_is_read_or_refused(target: str) -> None:
    @settings(max_examples=40, deadline=None, database=None)
    @given(damaged(target))
    def run(content: bytes) -> None:
        check(TARGETS[target].parser, content)

    run()
