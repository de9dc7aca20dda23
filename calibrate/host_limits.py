"""A device behind a host: throughput rises as the device's own, until the host or the link is used up.

The host spends its time on every request (system call, interrupt, copy), and the link takes its bytes: with h seconds
of the host a request, X <= 1 / h; with blocks of b bytes over a link of L bytes a second, X <= L / b. Either is a wall
that does not depend on how many requests wait, and below it the device is what it would be alone.
"""

from __future__ import annotations

import numpy as np

from calibrate.curve_models import ClosedModel
from calibrate.posterior import Array, Parameter

ROOM_MEDIAN, ROOM_LOG_SD = 1.5, 0.7
"""The peak that the device would have without the wall, over that of the wall, before any point is seen."""


class HostLimit(ClosedModel):
    """X = min(N / (N + k - 1) Xdevice, Xmax): random routing to k servers, up to what host or link allow."""

    name = "host limit"
    assumption = (
        "servers with a queue each, up to what the host's time for a request (X <= 1 / h) or the link's bytes "
        "(X <= link / block) allow"
    )

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        room = Parameter("room", "", 1.0, 100.0, ROOM_MEDIAN, ROOM_LOG_SD)
        return (*super().parameters(loads, throughput, response), room)

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        smooth = super().start(loads, throughput, response)
        return np.array([[*smooth, room] for room in (1.1, ROOM_MEDIAN, 3.0)])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "h": ("s", 1 / values[:, 1]), "room": ("", values[:, 2])}

    def throughput(self, values: Array, loads: Array) -> Array:
        crossing, peak, room = (values[:, i, None] for i in range(3))
        alone = room * loads[None, :] / (loads[None, :] + np.maximum(crossing * room - 1.0, 0.0))
        return np.asarray(peak * np.minimum(alone, 1.0))
