"""The audit on the published tables: what is wrong with each is found, and what is right is left in peace."""

from __future__ import annotations

from measure.auditing.all_checks import audit
from measure.datasets import audit_dataset, load_dataset
from measure.findings import SEVERITIES, Finding


def _errors(findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if f.severity == "error"]


def test_000_the_size_of_the_file_was_taken_for_the_block_and_the_block_is_named() -> None:
    first, *rest = _errors(audit(load_dataset("000-ssd", as_published=True)))
    assert "the block was 4 KiB" in first.hypothesis
    assert "0.254" in first.message
    assert any("page cache" in f.hypothesis for f in rest)
    assert any("holds only 4 blocks" in f.hypothesis for f in rest)


def test_000_the_memory_is_a_cache_and_the_cache_is_named() -> None:
    (finding,) = _errors(audit(load_dataset("000-memory", as_published=True)))
    assert finding.check == "fits-a-cache"
    assert "level-1 cache" in finding.hypothesis
    single = _errors(audit(load_dataset("000-memory", as_published=True), series="read buffer 64 KiB"))
    assert [("level-2 cache" in f.hypothesis, f.series) for f in single] == [(True, "read buffer 64 KiB")]


def test_001_the_mixed_runs_show_one_direction_with_the_time_of_the_other() -> None:
    found = {f.series: f for f in _errors(audit(load_dataset("001-ssd", as_published=True)))}
    for series in ("4 KiB Read and Write", "32 KiB Read and Write"):
        assert "only one direction" in found[series].hypothesis
    assert "339 µs" in found["4 KiB Read and Write"].hypothesis
    assert "0.363" in found["4 KiB Read and Write"].message


def test_001_the_reads_are_left_in_peace_and_the_writes_are_not() -> None:
    worst: dict[str | None, int] = {}
    for f in audit(load_dataset("001-ssd", as_published=True)):
        worst[f.series] = max(worst.get(f.series, 0), SEVERITIES.index(f.severity))
    assert worst["4 KiB read"] == worst["32 KiB read"] == 0
    assert worst["4 KiB write"] >= 1
    assert worst["32 KiB write"] == 2


def test_001_one_curve_is_judged_beside_its_siblings() -> None:
    (finding,) = _errors(audit(load_dataset("001-ssd", as_published=True), series="4 KiB Read and Write"))
    assert "reads alone 0.96, writes alone 0.88" in finding.message


def test_001_the_memory_has_no_error_and_its_lines_in_flight_are_told() -> None:
    found = audit(load_dataset("001-memory", as_published=True), series="256 B read")
    assert not _errors(found)
    assert "31 cache lines" in next(f.message for f in found if f.check == "lines-in-flight")


def test_002_the_labels_are_exchanged() -> None:
    (finding,) = audit_dataset("002-ssd-tails")
    assert (finding.check, finding.severity) == ("labels", "error")
    (finding,) = audit_dataset("002-ssd-baseline")
    assert (finding.check, finding.severity) == ("variance", "error")


def test_003_milliseconds_are_microseconds() -> None:
    (finding,) = _errors(audit(load_dataset("003-ssd-read", as_published=True)))
    assert "a unit off by 1,000" in finding.hypothesis
    assert "Likewise 3 more curves" in finding.message
    assert any("MB of 1000 KiB" in f.hypothesis for f in audit(load_dataset("003-ssd-read", as_published=True)))


def test_004_half_of_the_latency_and_the_fall_past_the_peak() -> None:
    found = audit(load_dataset("004-ssd-depth", as_published=True))
    (finding,) = _errors(found)
    assert "clat" in finding.hypothesis
    assert "0.963, 0.739, 0.525, 0.497, 0.494" in finding.message
    assert "108 k/s at depth 32" in next(f.message for f in found if f.check == "past-the-peak")


def test_004_depth_one_has_a_gap_that_is_no_error() -> None:
    for name in ("004-ssd-block-size", "004-ssd-mix"):
        found = audit(load_dataset(name, as_published=True))
        assert not _errors(found)
        assert any("next submission" in f.hypothesis for f in found)


def test_errors_come_first() -> None:
    order = [SEVERITIES.index(f.severity) for f in audit(load_dataset("001-ssd", as_published=True))]
    assert order == sorted(order, reverse=True)
