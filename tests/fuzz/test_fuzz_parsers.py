"""Every reader has a fuzz target; a fixed share of damaged inputs, and those that failed once, are read or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fuzz_parsers import CORPUS, check, check_in_time, fuzz
from fuzz_targets import DATA, OWN, TARGETS

from measure.errors import DataError

READS = re.compile(
    r"json\.loads?\(|\.raw_decode\(|tomllib\.|read_text\(path\)|read_document\(|csv\.reader|DictReader|pd\.read_csv"
)


def test_every_module_that_reads_has_a_target(repository: Path) -> None:
    reading = {
        ".".join(path.relative_to(repository).with_suffix("").parts).removesuffix(".__init__")
        for package in ("measure", "calibrate", "qsim")
        for path in (repository / package).rglob("*.py")
        if READS.search(path.read_text("utf-8"))
    }
    covered = {module for target in TARGETS.values() for module in target.covers}
    assert sorted(reading - covered - OWN.keys()) == []
    assert sorted((covered | OWN.keys()) - reading) == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_fixed_share_of_damaged_inputs_is_read_or_refused(target: str) -> None:
    runs = 20 if target.startswith("tool ") else 60  # "server" starts from the texts of all tools
    assert fuzz(target, runs, seed=0) == (runs, [])


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_input_that_failed_before_does_no_more(path: Path) -> None:
    check_in_time(TARGETS[path.parent.name].parser, path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_each_parser_reads_some_of_its_golden_outputs_and_bears_all_of_them_cut(target: str) -> None:
    seeds = TARGETS[target].seeds()
    assert seeds
    for whole in seeds:
        for end in (len(whole), len(whole) // 2, len(whole) // 3):
            check(TARGETS[target].parser, whole[:end])


def test_a_form_feed_is_no_line_end_of_a_curve() -> None:
    check(TARGETS["curves"].parser, b"pause,bandwidth_mean\x0c,latency_mean,pause,bandwidth_mean\n1,2,3,4,5\n")
    check(TARGETS["curves"].parser, b"read_pct_rounded,pause,bandwidth_mean,bandwidth_std\x0ccage,latency_mean\n")


def test_a_binary_prefix_without_its_letter_is_no_bandwidth() -> None:
    report = (DATA / "fio-text" / "report-read.txt").read_text("utf-8")
    damaged = re.sub(r"BW=([\d.]+)MiB/s", r"BW=\1iB/s", report)
    assert damaged != report
    check(TARGETS["fio_normal"].parser, damaged.encode())


def test_a_probe_record_of_wrong_kinds_is_refused() -> None:
    record = TARGETS["probe_record"].seeds()[0].decode()
    for before, after in (('"cpu_ns"', '"cpu_\\n"'), ('"hops": 100', '"hops": "x"')):
        damaged = record.replace(before, after)
        assert damaged != record
        check(TARGETS["probe_record"].parser, damaged.encode())


def test_a_control_character_is_no_digit_of_an_interval_log() -> None:
    check(TARGETS["interval_logs"].parser, b"0\x1f,0,0\n100, 50, 0, 0\n")


def test_names_of_any_length_make_no_endless_refusal() -> None:
    long = "x" * 5000
    job = {"jobname": long, "error": 5, "read": {"iops": 1, "lat_ns": {"mean": 5}}}
    for text in (f"{long},iops,latency_us\n1,2,3\n", json.dumps({"fio version": "fio-3.33", "jobs": [job]})):
        check(TARGETS["load"].parser, text.encode())
        with pytest.raises(DataError, match=r"xxx \.\.\. xxx"):
            TARGETS["load"].parser(text.encode())


def test_a_line_end_in_a_name_makes_no_second_line() -> None:
    check(TARGETS["csv"].parser, b'"depth\nof it",iops\n1,2\n')
