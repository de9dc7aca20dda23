"""The compiled engine: reads blocks of variates, simulates customers, and records batch totals.

Where customers start in the order of arrival, a recursion on the times at which servers become free is enough and
fastest; every other plan runs through the event loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qsim._types import FloatArray
from qsim.engines.compiled.loop import run_events
from qsim.engines.compiled.queues import tournament
from qsim.engines.compiled.tables import new_state, with_room
from qsim.engines.jit import kernel
from qsim.engines.numbered import Plan
from qsim.engines.recorder import Totals
from qsim.engines.variates import ARRIVALS, BLOCK, SERVICE, Role, streams_of

Progress = Callable[[float], object]

REPORT_EVERY = 64  # blocks between two calls of the progress function: a few milliseconds


def run(plan: Plan, customers: int, seed: int, totals: Totals, progress: Progress | None) -> None:
    """Simulate until ``customers`` are recorded."""
    follow = _run_first_come if plan.first_come else _run_events
    follow(plan, customers, seed, totals, progress)


@kernel()
def first_come(gaps: FloatArray, services: FloatArray, free: FloatArray, waits: FloatArray) -> None:
    """Compute waiting times of the next customers; ``free``, a heap, is read and updated.

    No events are needed: each starts on the server that is free first, in the order of arrival (Kiefer & Wolfowitz
    1955; Lindley 1952 for one server).
    Times count from the last arrival of the block before, so a run of a billion customers loses no digits.
    """
    clock = 0.0
    n = free.size
    for i in range(gaps.size):
        clock += gaps[i]
        start = free[0] if free[0] > clock else clock
        waits[i] = start - clock
        finish = start + services[i]
        hole = 0
        while True:  # sift the hole down until the new time fits
            child = 2 * hole + 1
            if child >= n:
                break
            if child + 1 < n and free[child + 1] < free[child]:
                child += 1
            if free[child] >= finish:
                break
            free[hole] = free[child]
            hole = child
        free[hole] = finish
    for k in range(n):
        free[k] -= clock


def _run_first_come(plan: Plan, customers: int, seed: int, totals: Totals, progress: Progress | None) -> None:
    (place,) = plan.places
    streams, _ = streams_of(plan, seed)
    arrivals, services = streams[Role(ARRIVALS)], streams[Role(SERVICE)]
    free = np.zeros(0 if place.servers == math.inf else int(place.servers))
    waits = np.zeros(BLOCK)
    for block, first in enumerate(range(0, customers, BLOCK), start=1):
        n = min(BLOCK, customers - first)
        gap, service, wait = arrivals.block()[:n], services.block()[:n], waits[:n]
        if free.size:
            first_come(gap, service, free, wait)
        totals.add(gap, wait, service)
        if progress is not None and block % REPORT_EVERY == 0:
            progress((first + n) / customers)


def _run_events(plan: Plan, customers: int, seed: int, totals: Totals, progress: Progress | None) -> None:
    streams, buffers = streams_of(plan, seed)
    every = list(streams.values())
    times = [math.inf] * sum(place.queues for place in plan.places)
    times += [streams[Role(ARRIVALS, kind=kind)].next() for kind in range(len(plan.sources))]
    t = new_state(plan, list(streams), buffers, *tournament(np.array(times)))
    width = buffers.shape[1]
    finished, calls = 0, 0
    while finished < customers:
        for i, stream in enumerate(every):
            stream.fill_up()
            t.streams["used"][i], t.streams["end"][i] = width * i + stream.position, width * i + stream.end
        t.streams["next"] = t.variates[t.streams["used"]]
        t = with_room(plan, t)
        t.filled[:] = 0
        t.moment["wanted"] = customers - finished
        run_events(t)
        for i, stream in enumerate(every):
            stream.position = int(t.streams["used"][i]) - width * i
        n = int(t.filled[0])
        totals.add(*t.outputs[0, :, :n])
        for place, output, filled in zip(plan.parts, t.outputs[1:], t.filled[1:].tolist(), strict=True):
            totals.add_stays(place, *output[:4, :filled])
        finished += n
        calls += 1
        if progress is not None and calls % REPORT_EVERY == 0:
            progress(finished / customers)
