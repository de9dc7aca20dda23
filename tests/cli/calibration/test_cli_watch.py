"""``qsim watch`` on counters of the test's own, and what its record gives."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from calibrate.cli.calibration import watch as watch_command
from measure import watching
from measure.formats.block_device_counts import record_header

LOGS = Path(__file__).parents[2] / "data" / "sysstat"


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device ``sda`` that completes 100 reads of 1 ms between two looks, and ``sdb`` that does nothing.

    Sleeping is at once and exact, however busy the machine is that tests it.
    """
    looks = itertools.count()
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    exact = {"clock": lambda: now[0], "sleep": sleep}
    monkeypatch.setattr(watching.watch, "__kwdefaults__", watching.watch.__kwdefaults__ | exact)
    monkeypatch.setattr(watch_command, "time", SimpleNamespace(monotonic=exact["clock"]))

    class File:
        def read_text(self, _encoding: str) -> str:
            n = 1 + next(looks)
            return f"8 0 sda {100 * n} 0 {800 * n} {100 * n} 0 0 0 0 1 {10 * n} 0\n8 1 sdb 1 0 8 1 0 0 0 0 0 1 1\n"

    monkeypatch.setattr(watching, "DISKSTATS", File())


def test_each_interval_is_a_line_and_the_end_sums_up(qsim, device):
    run = qsim("watch", "sda", "--every", "0.1s", "--for", "0.3s")
    lines = run.out.splitlines()
    assert run.code == 0
    assert lines[0].split()[:2] == ["device", "rate"]
    assert [line.split()[0] for line in lines[1:4]] == ["sda"] * 3
    assert all(len(line) <= 80 for line in lines)
    seconds = re.match(r"sda, (\d+) ms: ", lines[5])
    assert seconds
    assert int(seconds[1]) >= 300
    labels = [line.split()[0] for line in lines[6:] if not line.startswith(" ")]
    assert labels == ["CURVE", "MOST", "LITTLE", "APART"]


def test_json_is_an_object_a_line_with_reads_and_writes_apart(qsim, device):
    run = qsim("watch", "sda", "--every", "0.1s", "--for", "0.2s", "--json")
    first = json.loads(run.out.splitlines()[0])
    assert {"time", "throughput_per_s", "response_time_s", "outstanding", "reads_per_s", "writes_per_s"} <= set(first)
    assert first["response_time_s"] == pytest.approx(1e-3)
    assert first["write_response_time_s"] is None
    assert first["peak_share"] is None


def test_a_record_is_new_complete_and_never_replaced(qsim, device, tmp_path):
    args = ("watch", "sda", "sdb", "--every", "0.1s", "--for", "0.2s", "--record", "w.csv")
    assert qsim(*args).code == 0
    rows = (tmp_path / "w.csv").read_text().splitlines()
    assert rows[0] + "\n" == record_header()
    assert [row.split(",")[1] for row in rows[1:]] == ["sda", "sdb"] * 2
    again = qsim(*args)
    assert (again.code, again.error) == (1, "w.csv exists and is not replaced; choose another name for --record")
    assert (tmp_path / "w.csv").read_text().splitlines() == rows


def test_a_fit_places_it(qsim, device, sweep_csv):
    assert qsim("fit", str(sweep_csv), "--out", "fit.json").code == 0
    assert "knee at 10" in qsim("watch", "sda", "--every", "0.1s", "--for", "0.1s", "--fit", "fit.json").out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["sdq"], 1, "sdq: the kernel counts no block device of this name; there are: sda, sdb"),
        (["sda", "--every", "1ms"], 2, "--every: 1ms is out of reach; give 0.1s to 1h"),
        (["sda", "--for", "0.5s"], 2, "--for 500 ms is shorter than an interval, 1.00 s"),
        (["sda", "--fit", "none.json"], 1, "none.json"),
    ],
)
def test_what_cannot_be_watched_is_one_line(qsim, device, args, code, words):
    run = qsim("watch", *args)
    assert run.code == code
    assert words in run.error


def test_a_log_of_iostat_is_fitted_and_no_peak_told_that_was_not_approached(qsim):
    run = qsim("fit", str(LOGS / "iostat-12.6.1.txt"), "--use", "0.86")
    assert "KNEE    unknown: the peak was never approached; at 1" in run.out
    assert "PEAK    at least 12.5 k/s" in run.out
    assert "12 of 17 s were steady, in 2 stretches" in run.err


def test_a_log_of_iostat_shows_both_readings_of_its_load(qsim):
    run = qsim("fit", str(LOGS / "iostat-12.6.1.txt"))
    assert "PEAK    60 k/s" in run.out
    assert "Poisson arrivals are assumed; had a fixed number been in flight, the idle latency would be 69 µs" in run.out
