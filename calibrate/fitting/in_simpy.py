"""A calibrated device in a SimPy simulation of your own.

All requests share the device (processor sharing), which works at the total rate X(n) while n are present. Each request
has a service time of its own; the service that each has received grows at X(n) / n, and a request is done when it has
received its service time.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from simpy import Environment, Event

from measure.errors import DataError
from qsim import Station
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from types import TracebackType

BLOCK = 4096
"""Service times are drawn in blocks of this size."""


class DeviceRequest(Event):
    """A request at the device: an event that happens when it is served, with the response time as its value.

    Used with ``with``, a request that is left before it was served is cancelled.
    """

    def __init__(self, device: DeviceInSimPy, target: float) -> None:
        super().__init__(device.env)
        self.device = device
        self.since = device.env.now
        self.target = target

    def cancel(self) -> None:
        """Cancel the request, if it is not served yet."""
        self.device.withdraw(self)

    def __enter__(self) -> DeviceRequest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class DeviceInSimPy:
    """A device in ``env``: ``yield device.request()`` returns when served. ``len(device)`` are present.

    >>> import simpy
    >>> from calibrate import from_datasheet
    >>> env = simpy.Environment()
    >>> device = from_datasheet(idle_latency=80e-6, peak_iops=600e3).simpy(env, seed=1)
    >>> def user():
    ...     response = yield device.request()
    ...     print(response == env.now)
    >>> _ = env.process(user())
    >>> env.run()
    True
    """

    def __init__(self, env: Environment, station: Station, seed: int = 0) -> None:
        if not isinstance(env, Environment):
            raise TypeError(f"env must be a simpy.Environment, not {env!r}")
        if station.speeds is None:
            raise DataError(
                f"{station.name} is M/G/{station.servers}, by an open sweep; in SimPy that is "
                f"simpy.Resource(env, capacity={station.servers}) and a timeout of its service time"
            )
        self.env = env
        self.station = station
        self.speeds = station.speeds
        self._rng = np.random.default_rng(seed)
        self._times: list[float] = []
        self._order = count()
        self._queue: list[tuple[float, int, DeviceRequest]] = []
        self._present = 0
        self._given = 0.0
        self._clock = env.now
        self._plan = 0

    def __len__(self) -> int:
        return self._present

    def request(self) -> DeviceRequest:
        """A request that begins now. Raises ValueError where more are present than the fit covers."""
        most = self.station.most
        if most is not None and self._present >= most:
            raise InvalidParameterError(
                "requests",
                f"must be at most {most} at a time, up to which {self.station.name} is known",
                "measure it deeper, or make the device with extrapolate=True",
                self._present + 1,
            )
        self._advance()
        made = DeviceRequest(self, self._given + self._service())
        heapq.heappush(self._queue, (made.target, next(self._order), made))
        self._present += 1
        self._schedule()
        return made

    def withdraw(self, request: DeviceRequest) -> None:
        """Remove a request that is still present; its event never happens."""
        place = next((i for i, (_, _, each) in enumerate(self._queue) if each is request), None)
        if place is None:
            return
        self._advance()
        self._queue[place] = self._queue[-1]
        self._queue.pop()
        heapq.heapify(self._queue)
        self._present -= 1
        self._schedule()

    def _service(self) -> float:
        if not self._times:
            drawn = np.empty(BLOCK)
            self.station.time.fill(self._rng, drawn)
            self._times = drawn.tolist()
        return self._times.pop()

    def _pace(self) -> float:
        """Service that each present request receives per unit of time."""
        return self.speeds[min(self._present, len(self.speeds)) - 1] / self._present

    def _advance(self) -> None:
        now = self.env.now
        if self._present:
            self._given += (now - self._clock) * self._pace()
        self._clock = now

    def _schedule(self) -> None:
        """Schedule the next completion, which replaces the previous schedule."""
        self._plan += 1
        if not self._queue:
            self._given = 0.0  # reset while idle, so that rounding errors do not accumulate
            return
        plan = self._plan
        left = max(self._queue[0][0] - self._given, 0.0) / self._pace()
        self.env.timeout(left).callbacks.append(lambda _: self._serve(plan))

    def _serve(self, plan: int) -> None:
        if plan != self._plan:
            return
        self._advance()
        target, _, served = heapq.heappop(self._queue)
        self._given = target
        self._present -= 1
        served.succeed(self.env.now - served.since)
        self._schedule()
