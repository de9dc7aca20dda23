"""The loop that looks: on a device whose counters, clock and sleep are the test's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import pytest

from measure.errors import MeasureError
from measure.formats.block_device_counts import DeviceInterval
from measure.watching import Counters, Lost, watch


@dataclass
class Machine:
    """Devices that complete 1,000 reads of 2 ms a second; each is there from one time until another."""

    there: dict[str, list[tuple[float, float]]]
    now: float = 0.0

    def look(self) -> dict[str, Counters]:
        return {
            name: Counters(round(1000 * (self.now - start)), 0, round(2000 * (self.now - start)), 0, 0, 0, 2, 0)
            for name, spans in self.there.items()
            for start, end in spans
            if start <= self.now < end
        }

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def watch(self, *names: str, count: int) -> list[DeviceInterval | Lost]:
        found = watch(names, look=self.look, clock=lambda: self.now, sleep=self.sleep)
        return [one for together in islice(found, count) for one in together]


def test_each_second_is_an_interval_and_both_sides_of_littles_law_agree():
    for interval in Machine({"sda": [(0, 9)]}).watch("sda", count=3):
        assert isinstance(interval, DeviceInterval)
        assert interval.seconds == pytest.approx(1)
        assert interval.throughput_per_s == pytest.approx(1000, rel=0.002)
        assert interval.outstanding == pytest.approx(interval.in_flight, rel=0.002)


def test_a_device_that_vanishes_is_told_once_and_ends_the_watch():
    found = Machine({"sda": [(0, 2.5)]}).watch("sda", count=9)
    assert [type(one) for one in found] == [DeviceInterval, DeviceInterval, Lost]
    assert found[-1] == Lost("sda", "gone")


def test_the_others_go_on_and_a_device_that_returns_is_followed_from_then():
    found = Machine({"sda": [(0, 99)], "sdb": [(0, 1.5), (3.5, 99)]}).watch("sda", "sdb", count=8)
    assert [one.why for one in found if isinstance(one, Lost)] == ["gone"]
    of_b = [one for one in found if isinstance(one, DeviceInterval) and one.device == "sdb"]
    assert [round(one.reads) for one in of_b] == [1000] * len(of_b)
    assert len(of_b) > 2


def test_an_unknown_device_is_refused_before_anything_is_waited_for():
    machine = Machine({"sda": [(0, 9)]})
    with pytest.raises(MeasureError, match="sdq: the kernel counts no block device of this name"):
        machine.watch("sdq", count=1)
    assert machine.now == 0


def test_the_bias_of_late_looks_is_taken_out_and_they_are_counted():
    """A device holds 4 requests half of the time; a look that comes 5 ms late sees none, as they are done meanwhile."""
    machine, looks = Machine({"sda": [(0, 99)]}), iter(range(1000))
    late = busy = False

    def sleep(seconds: float) -> None:
        nonlocal late, busy
        look = next(looks)
        late, busy = look % 4 == 0, look % 2 == 0
        machine.sleep(seconds + 5e-3 * late)

    def look() -> dict[str, Counters]:
        seen = 4 if busy and not late else 0
        return {
            name: replace(c, in_flight=seen, busy_ms=round(500 * machine.now)) for name, c in machine.look().items()
        }

    found = watch(["sda"], look=look, clock=lambda: machine.now, sleep=sleep)
    (interval,) = next(found)
    assert isinstance(interval, DeviceInterval)
    assert interval.in_flight == pytest.approx(2, rel=0.01)  # looks saw 1
    assert interval.late_looks_share == pytest.approx(0.25, abs=0.03)


def test_both_sides_of_littles_law_disagree_beyond_the_looks_interval_only():
    seen = DeviceInterval(
        "sda", "", 1.0, reads=1000, read_s=3.5, in_flight=3.3, in_flight_variance=2.0, late_looks_share=0
    )
    assert seen.seen_error == pytest.approx(2.6 * (2.0 / 50) ** 0.5)
    assert seen.agrees
    assert not replace(seen, in_flight=1.1).agrees
    assert DeviceInterval("sda", "", 1.0, reads=1000, read_s=3.5).agrees  # nobody looked
