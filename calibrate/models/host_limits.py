"""A device behind a host: throughput rises as the device's own, until the host or the link is used up.

The host spends its time on every request (system call, interrupt, copy), and the link takes its bytes: with h seconds
of the host a request, X <= 1 / h; with blocks of b bytes over a link of L bytes a second, X <= L / b. Either is a wall
that does not depend on how many requests wait, and below it the device is what it would be alone.

fio tells h, the processor time of its jobs over their requests: with J jobs, each on a processor of its own at most,
X <= J / h. h falls as the queue grows, since more requests are handed over at once (on NVMe drives by up to 1.8 times
from depth 32 to 64), so that the h of the deepest point calibrated on bounds the wall from below. Where the jobs are
busy all the time there, it is the wall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array, Parameter
from calibrate.inference.weights import Weights
from calibrate.models.curves import ClosedModel, Peak
from calibrate.points import Points
from measure.units import counted, format_bandwidth, format_bytes, format_duration, format_rate

ROOM_MEDIAN, ROOM_LOG_SD = 1.5, 0.7
"""The peak that the device would have without the wall, over that of the wall, before any point is seen."""

BUSY = 0.9
"""The share of its time that a job works from which on it is the wall."""

AT_THE_WALL = 0.1


@dataclass(frozen=True)
class HostWork:
    """What the deepest of some points tells: processor time ``cpu_s`` of a request, the jobs, the share they work."""

    cpu_s: float
    jobs: float
    busy: float

    @property
    def most_per_s(self) -> float:
        """J / h: no more requests a second by jobs that need so long for each."""
        return self.jobs / self.cpu_s

    @property
    def is_wall(self) -> bool:
        """Whether the jobs had no time left."""
        return self.busy >= BUSY


class HostLimit(ClosedModel):
    """X = min(N / (N + k - 1) Xdevice, Xmax): random routing to k servers, up to what host or link allow.

    ``host`` is what was measured of the host's work; None where the data do not tell. ``told`` says so in words.
    """

    name = "host limit"
    assumption = (
        "servers with a queue each, up to what the host's time for a request (X <= 1 / h) or the link's bytes "
        "(X <= link / block) allow"
    )

    def __init__(self, host: HostWork | None = None, told: str = "") -> None:
        self.host = host
        if told:
            self.assumption = f"{type(self).assumption}; {told}"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        room = Parameter("room", "", 1.0, 100.0, ROOM_MEDIAN, ROOM_LOG_SD)
        return (*super().parameters(loads, throughput, response), room)

    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        if peak is None and self.host is not None and self.host.is_wall:
            peak = Peak(self.host.most_per_s, AT_THE_WALL)
        return super().weights(points, peak)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "h": ("s", 1 / values[:, 1]), "room": ("", values[:, 2])}

    def _at(self, values: Array, loads: Array) -> Array:
        crossing, peak, room = (values[:, i, None] for i in range(3))
        alone = room * loads / (loads + np.maximum(crossing * room - 1.0, 0.0))
        return np.asarray(peak * np.minimum(alone, 1.0))


def host_limit_of(points: Points) -> HostLimit:
    """The model with what these points tell of host and link."""
    host = None
    if points.host_cpu_s is not None and points.jobs is not None:
        cpu_s, jobs = float(points.host_cpu_s[-1]), float(points.jobs[-1])
        host = HostWork(cpu_s, jobs, cpu_s * float(points.throughput_per_s[-1]) / jobs)
    return HostLimit(host, f"{_host_told(host, points)}; {_link_told(points)}")


def _host_told(host: HostWork | None, points: Points) -> str:
    if host is None:
        return "the host's time for a request is not in these data (fio's JSON has it)"
    working = (
        f"{format_duration(host.cpu_s)} of processor time for a request, so its {counted(int(host.jobs), 'job')} worked"
    )
    found = (
        "the host is the limit"
        if host.is_wall
        else (
            f"the host is not the limit below {format_rate(host.most_per_s)}, and less time a request, in "
            "batches, raises "
            "that"
        )
    )
    return f"at depth {points.load[-1]:g} fio took {working} {100 * min(host.busy, 1.0):.0f} % of the time: {found}"


def _link_told(points: Points) -> str:
    if points.block_bytes is None or points.carried_bytes_per_s is None:
        return "the size of a block is not in these data, so the link's bytes are not known"
    moved = float(points.throughput_per_s.max()) * points.block_bytes
    block, here = format_bytes(points.block_bytes), format_bandwidth(moved)
    if points.carried_bytes_per_s > 1.1 * moved:
        most, wall = points.carried_bytes_per_s, points.carried_bytes_per_s / points.block_bytes
        return (
            f"blocks of {block} moved {here}, and others {format_bandwidth(most)} in the same sweep, so the link is "
            f"not the limit below {format_rate(wall)}"
        )
    return f"blocks of {block} moved {here}; the link's own limit is not in these data (qsim audit --link NAME)"
