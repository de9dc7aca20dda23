"""The comparison of shown and found outputs lets through what may differ, and nothing else."""

from __future__ import annotations

import pytest
from doctools.blocks import blocks_of, commands_of
from doctools.matching import difference
from doctools.running import BlockFailedError, PageRunner, rewritten


@pytest.mark.parametrize(
    ("shown", "came"),
    [
        ("W = 0.25\n", "W = 0.25\n"),
        ("W = 0.250\n", "W = 0.251\n"),  # one in the last place
        ("X = 600k/s\n", "X = 605k/s\n"),  # 0.8 %
        ("a   b\n─────\n", "a b\n───────\n"),
        ("first\n...\nlast\n", "first\n1\n2\nlast\n"),
        ("first\n...\nlast\n", "first\nlast\n"),
        ("took ... s\n", "took 12.5 s\n"),
        ("7.68 [5.6, 8.8] N*\n", "7.68 [4.9, 9.4] N*\n"),  # the ends of an interval
        ("+0.4%\n", "+0.5%\n"),
    ],
)
def test_lets_through(shown: str, came: str) -> None:
    assert difference(shown, came) is None


@pytest.mark.parametrize(
    ("shown", "came"),
    [
        ("W = 0.25\n", "W = 0.35\n"),
        ("N = 4\n", "N = 5\n"),
        ("7.68 [5.6, 8.8] N*\n", "7.00 [5.6, 8.8] N*\n"),
        ("[5.6, 8.8]\n", "[1.6, 8.8]\n"),
        ("[5.6, 8.8] 4\n", "[5.6, 8.8] 5\n"),
        ("![held out: 46.2 k/s](picture.svg)\n", "![held out: 42.7 k/s](picture.svg)\n"),  # no interval
        ("knee\n", "knees\n"),
        ("4 KiB\n", "4 MiB\n"),
        ("one\n", "one\ntwo\n"),
        ("first\n...\nlast\n", "first\n1\n"),
        ("1e-5 s\n", "2e-5 s\n"),
        ("", "something\n"),
    ],
)
def test_catches(shown: str, came: str) -> None:
    assert difference(shown, came) is not None


def test_a_wider_tolerance_is_asked_for_by_a_note() -> None:
    (block,) = blocks_of("<!-- within: 10 % -->\n```console\n$ echo 108\n100\n```\n")
    assert difference("100\n", "108\n", block.tolerance) is None
    assert difference("100\n", "112\n", block.tolerance) is not None


@pytest.mark.parametrize(
    "page",
    ["```bash\nls\n```\n", "```\nls\n```\n", "```text\n$ ls\n```\n", "<!-- skip: please -->\n```console\n$ ls\n```\n"],
)
def test_no_block_escapes_being_run(page: str) -> None:
    with pytest.raises(ValueError, match="line"):
        blocks_of(page)


def test_commands_continue_and_keep_their_output() -> None:
    (block,) = blocks_of("```console\n$ cat <<END\n> a\n> END\na\n$ true\n```\n")
    first, second = commands_of(block)
    assert first.text == "cat <<END\na\nEND"
    assert (first.output, second.output) == ("a\n", "")


def test_outputs_are_run_and_written_anew(tmp_path) -> None:
    page = "```console\n$ echo 1\n?\n$ true\n```\n\n```python\n>>> 1 + 1\n?\n>>> 1 / 0\n?\n```\n"
    runner = PageRunner(tmp_path, lambda name: name)
    console, python = blocks_of(page)
    assert rewritten(console, list(runner.run(console))) == "$ echo 1\n1\n$ true\n"
    assert rewritten(python, list(runner.run(python))) == (
        ">>> 1 + 1\n2\n>>> 1 / 0\nTraceback (most recent call last):\n    ...\nZeroDivisionError: division by zero\n"
    )


def test_a_command_that_fails_fails_the_page(tmp_path) -> None:
    runner = PageRunner(tmp_path, lambda name: name)
    (block,) = blocks_of("```console\n$ exit 3\n```\n")
    with pytest.raises(BlockFailedError, match="ended with 3"):
        list(runner.run(block))
    (marked,) = blocks_of("<!-- exit: 3 -->\n```console\n$ exit 3\n```\n")
    assert [r.came for r in runner.run(marked)] == [""]


def test_a_comma_after_a_number_is_no_part_of_it() -> None:
    assert difference("knee [38, 59.65]", "knee [37.96, 59.69]") is None
    assert difference("1,970,138 customers", "1,970,140 customers") is None
    assert difference("38, then 2", "50, then 2") is not None
