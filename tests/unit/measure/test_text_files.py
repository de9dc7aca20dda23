"""Files that others wrote: one rule for whatever a reader raises; pipes, devices and large files are refused."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from measure import load
from measure.errors import DataError, StoreError
from measure.text_files import decode, json_of, reading, toml_of

TABLE = "depth,iops,latency_us\n1,12000,83\n8,80000,100\n"


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), RecursionError(), StoreError("x"), OSError(5, "x")])
def test_whatever_a_reader_raises_names_the_file(error: Exception) -> None:
    with pytest.raises(DataError, match=r"some\.json"), reading("some.json"):
        raise error


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (toml_of, ".".join("a" * 100_000) + " = 1"),
        (toml_of, "x = {" + ".".join(['"a"'] * 100_000) + " = 1}"),
        (toml_of, "x = " + "[" * 10_000),
        (toml_of, "x = " + "1" * 10**6),
        (json_of, '{"a":' * 10_000),
        (json_of, "1" * 10**6),
        (json_of, '{"a": {"b": 1, "b": 2}}'),
    ],
)
def test_what_nobody_writes_is_refused_at_once(parse: Callable[[str], object], text: str) -> None:
    start_s = time.process_time()
    with pytest.raises(ValueError, match=r"200 parts|too deeply|digits|'b' stands twice") as refused:
        parse(text)
    assert time.process_time() - start_s < 1
    assert len(str(refused.value)) < 120


def test_an_interruption_is_none_of_it() -> None:
    with pytest.raises(KeyboardInterrupt), reading("some.json"):
        raise KeyboardInterrupt


def test_the_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode())))
    sweep = load("-")
    assert (list(sweep.points["load"]), sweep.name, sweep.raw) == ([1, 8], "stdin", ())


def test_a_file_that_is_called_like_the_standard_input_is_named_by_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text(TABLE)
    assert (load("./-").name, load("./-").raw) == ("-", (tmp_path / "-",))


def test_percentiles_that_cannot_be_are_refused(tmp_path: Path) -> None:
    for cells, why in (("90,80", "p99 = 80.0 µs is below p50 = 90.0 µs at load 1"), ("-1,80", "negative")):
        path = tmp_path / "t.csv"
        path.write_text(f"depth,iops,latency_us,p50_us,p99_us\n1,12000,83,{cells}\n")
        with pytest.raises(DataError, match=why):
            load(path)


def test_a_text_of_brackets_alone_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(DataError, match=r"x\.json holds 2,000,001 opening brackets"):
        decode(b"[" + b"[]," * 2_000_000 + b"0]", "x.json")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_in_a_circle_are_not_a_matter_of_permissions(tmp_path: Path) -> None:
    (tmp_path / "one.csv").symlink_to("other.csv")
    (tmp_path / "other.csv").symlink_to("one.csv")
    with pytest.raises(DataError, match=r"one\.csv cannot be read: .*; its links lead in a circle; name the file"):
        load(tmp_path / "one.csv")
