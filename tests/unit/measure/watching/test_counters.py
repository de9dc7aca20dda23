"""/proc/diskstats as numbers, and what happened between two looks."""

from __future__ import annotations

import pytest

from measure import watching
from measure.errors import MeasureError
from measure.watching import Counters, between, counters_now, device_name, read_counters

OLD = " 253 0 vda 100 3 800 50 20 4 160 30 2 60 80"
NEW = f"{OLD} 7 0 56 1 3 2"
BEFORE = Counters(
    reads=100, sectors_read=800, read_ms=50, writes=20, sectors_written=160, write_ms=30, in_flight=2, busy_ms=60
)


@pytest.mark.parametrize("text", [OLD, NEW])
def test_kernels_with_and_without_discards_are_read(text):
    assert read_counters(text) == {"vda": BEFORE}


def after(**changed: int) -> Counters:
    return Counters(**{**BEFORE.__dict__, **changed})


def test_between_two_looks_are_the_differences():
    found = between("vda", BEFORE, after(reads=300, read_ms=90, sectors_read=2400, busy_ms=560), 2.0, "t", [1, 3])
    assert found is not None
    assert (found.throughput_per_s, found.response_time_s, found.outstanding) == (100, 0.0002, 0.02)
    assert (found.read_bytes, found.busy_share, found.in_flight, found.in_flight_variance) == (1600 * 512, 0.25, 0.5, 1)


def test_writes_are_counted_as_reads_are():
    found = between("vda", BEFORE, after(writes=60, write_ms=80, sectors_written=480), 2.0, "t", [1])
    assert found is not None
    assert (found.writes, found.write_s, found.written_bytes) == (40, 0.05, 320 * 512)


def test_ticks_that_a_kernel_counts_for_short_requests_are_not_believed():
    """200 requests of 80 us in a second, each counted as a tick of 4 ms; no look saw one."""
    did = between("vda", BEFORE, after(reads=300, read_ms=66, busy_ms=860), 1.0, "", [0] * 50)
    assert did is not None
    assert did.in_flight == pytest.approx(0.016)
    assert did.agrees


def test_reads_and_writes_together_keep_a_device_busy():
    """Busy for 0.9 s of a second: 0.4 s of reads and 0.5 s of writes, one at a time; few looks saw them."""
    did = between("vda", BEFORE, after(reads=300, read_ms=450, writes=120, write_ms=530, busy_ms=960), 1.0, "", [0, 1])
    assert did is not None
    assert did.in_flight == pytest.approx(0.9)
    assert did.agrees


def test_a_counter_of_32_bits_goes_on_over_its_end():
    near = Counters(**{**BEFORE.__dict__, "read_ms": 2**32 - 10})
    found = between("vda", near, Counters(**{**BEFORE.__dict__, "reads": 110, "read_ms": 15}), 1.0, "t", [0])
    assert found is not None
    assert found.read_s == pytest.approx(0.025)


def test_counters_that_began_anew_tell_nothing():
    assert between("vda", BEFORE, after(reads=5, read_ms=1), 1.0, "t", [0]) is None


@pytest.mark.parametrize("given", ["vda", "/dev/vda"])
def test_a_device_is_known_by_its_name_and_its_path(given):
    assert device_name(given, {"vda": BEFORE}) == "vda"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("sdz", "sdz: the kernel counts no block device of this name; there are: vda"),
        ("/dev/no-such", "/dev/no-such: this path does not exist; there are: vda"),
        ("/etc/passwd", "/etc/passwd: it is no block device; there are: vda"),
    ],
)
def test_what_is_no_device_is_refused_in_a_line(given, why):
    with pytest.raises(MeasureError) as refused:
        device_name(given, {"vda": BEFORE, "loop0": Counters(*[0] * 8)})
    assert str(refused.value) == why


def test_a_system_without_counters_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(watching, "DISKSTATS", tmp_path / "none")
    with pytest.raises(MeasureError, match="only Linux counts what its devices do"):
        counters_now()
