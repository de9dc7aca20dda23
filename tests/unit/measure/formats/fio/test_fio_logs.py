"""Logs made to order: units, damage, drift, sizes that memory does not hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from measure import load
from measure.errors import DataError
from measure.formats.by_format import looks_like_log
from measure.formats.fio import logs
from measure.formats.fio.logs import choose_logs, summarise


def _log(folder: Path, text: str, name: str = "x_lat.1.log") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("at_once", [2, 3, logs.REQUESTS_AT_ONCE])
def test_moments_and_bins_are_of_nanoseconds(tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "REQUESTS_AT_ONCE", at_once)
    path = _log(
        tmp_path,
        "".join(
            f"{ms}, {ns}, {way}, 4096, 0\n"
            for ms, ns, way in [(500, 40, 0), (700, 60, 2), (1500, 50, 1), (2000, 50, 0)]
        ),
    )
    found = summarise(path)
    assert (found.requests, found.reads, found.runtime_s, found.block_bytes) == (4, 2, 2, 4096)
    assert (found.mean_s, found.sd_s) == pytest.approx((5e-8, 5e-9 * 2**0.5), rel=1e-12)
    assert found.bandwidth_bytes_per_s == pytest.approx(4 * 4096 / 2, rel=1e-12)
    assert found.histogram.counts.tolist() == [1, 2, 1]
    assert found.unit_known
    for edges, by in ((found.histogram.lower_s, 0), (found.histogram.upper_s, 1)):
        assert edges == pytest.approx(np.array([40, 50, 60]) * 1e-9 + by * 1e-9, rel=1e-12)


def test_histograms_are_added_and_the_last_bin_holds_what_is_longer(tmp_path: Path) -> None:
    """29 bins are octaves: 32 and 192 ns are the middles of the first and the third."""
    path = _log(tmp_path, f"900, 0, 4096, 3{', 0' * 28}\n2000, 1, 4096, 0, 0, 1{', 0' * 26}\n", "x_clat_hist.1.log")
    found = summarise(path)
    assert (found.requests, found.reads, found.runtime_s, found.block_bytes, found.cut) == (4, 3, 2, 4096, False)
    assert (found.averaged, found.unit_known) == (False, True)
    assert (found.mean_s, found.sd_s) == pytest.approx((72e-9, 160e-9 * 0.1875**0.5))
    assert found.bandwidth_bytes_per_s == 4 * 4096 / 2
    long = summarise(_log(tmp_path, "0, 20000000000, 0, 512, 0\n0, 20000000000, 0, 4096, 0\n"))
    assert (long.histogram.counts.tolist(), long.histogram.upper_s.tolist()) == ([2], [2**34 / 1e9])
    assert (long.runtime_s, long.bandwidth_bytes_per_s, np.isnan(long.block_bytes)) == (1e-3, 4_608_000, True)


def test_the_last_line_of_a_killed_run_is_left_out(tmp_path: Path) -> None:
    path = _log(tmp_path, "1, 100000, 0, 4096, 0\n2, 100000, 0, 4096, 0\n3, 10")
    assert summarise(path).cut
    assert [f.check for f in load(path).findings if "log" in f.check] == ["truncated-log"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1, 100, 0, 4096, 0\n1, slow, 0, 4096, 0\n3, 1, 0, 1, 0\n", "is not a latency log of fio after line 0"),
        ("1, 100, 0, 4096, 0\n2, -5, 0, 4096, 0\n3, 1, 0, 1, 0\n", "line 2 is not a line of a latency log"),
        ("1, 100, 0, 4096, 0\n2, 5, 7, 4096, 0\n3, 1, 0, 1, 0\n", "line 2 is not a line of a latency log"),
        ("1, 100, 0, 4096, 0\n\n2, , 0, 4096\n3, 1, 0, 1, 0\n", "line 2 is not a line of a latency log"),
        ("1, 100, 0, 4096\n99999999999999, 5, 0, 4096\n", "spans"),
        ("", "is empty"),
        ("3, 10, 0,", "holds no whole line of a latency log"),
        (f"1, 0, 4096{', 1' * 29}\n" * 1001 + f"1, 3, 4096{', 1' * 29}\n", "line 1002 is not a line of a histogram"),
    ],
)
def test_damage_is_refused_by_file_and_line(tmp_path: Path, text: str, says: str) -> None:
    path = _log(tmp_path, text)
    with pytest.raises(DataError, match=says) as refusal:
        summarise(path)
    assert "x_lat.1.log" in str(refusal.value)


def test_histograms_with_a_wrong_number_of_bins_are_refused(tmp_path: Path) -> None:
    path = _log(tmp_path, "1, 0, 4096, " + ", ".join(["1"] * 77) + "\n", "x_clat_hist.1.log")
    with pytest.raises(DataError, match="invalid histogram log with 77 bins"):
        summarise(path)


def test_every_whole_line_of_a_log_is_looked_at() -> None:
    assert looks_like_log("1, 100, 0, 4096")
    assert looks_like_log("1, 100, 0, 4096\n2, 1")
    assert not looks_like_log("1, 100, 0, 4096\nbandwidth, latency\n3, 100, 0, 4096\n")


def test_the_total_latency_goes_before_completion_and_requests_before_histograms() -> None:
    names = ["a_clat.1.log", "a_lat.2.log", "a_lat.1.log", "a_bw.1.log", "b_clat_hist.1.log"]
    groups = choose_logs([Path(n) for n in names])
    assert [[p.name for p in files] for _, files in groups] == [["a_lat.1.log", "a_lat.2.log"], ["b_clat_hist.1.log"]]
