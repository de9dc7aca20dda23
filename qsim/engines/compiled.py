"""The compiled engine: blocks of variates in, waiting times out, batch totals kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qsim.distributions import Deterministic
from qsim.engines import closed_kernel as closed
from qsim.engines.kernels import SCAN_LIMIT, few_servers, many_servers, one_server
from qsim.engines.recorder import Recorder
from qsim.engines.streams import BLOCK, Uniform, VariateStream, spawn
from qsim.models import Closed, Model, Open

Progress = Callable[[float], object]

REPORT_EVERY = 64
"""Blocks between two calls of the progress function: a few milliseconds."""


def run(model: Model, customers: int, seed: int, recorder: Recorder, progress: Progress | None) -> None:
    """Simulate until ``customers`` are recorded."""
    if isinstance(model, Open):
        _run_open(model, customers, seed, recorder, progress)
    else:
        _run_closed(model, customers, seed, recorder, progress)


def _run_open(model: Open, customers: int, seed: int, recorder: Recorder, progress: Progress | None) -> None:
    arrival_seed, service_seed = spawn(seed, 2)
    arrivals = VariateStream(model.arrivals, arrival_seed)
    services = VariateStream(model.service, service_seed)
    serve = one_server if model.servers == 1 else few_servers if model.servers <= SCAN_LIMIT else many_servers
    free = np.zeros(model.servers)
    waits = np.empty(BLOCK)
    for block, first in enumerate(range(0, customers, BLOCK), start=1):
        n = min(BLOCK, customers - first)
        gap, service = arrivals.block()[:n], services.block()[:n]
        serve(gap, service, free, waits[:n])
        recorder.add(gap, waits[:n], service)
        if progress is not None and block % REPORT_EVERY == 0:
            progress((first + n) / customers)


def _run_closed(model: Closed, customers: int, seed: int, recorder: Recorder, progress: Progress | None) -> None:
    (station,) = model.queueing
    queues = station.servers if station.queues == "random" else 1
    population = model.population
    seeds = spawn(seed, 3)
    streams = [
        VariateStream(distribution, s)
        for distribution, s in zip(
            (model.delays[0].distribution if model.delays else Deterministic(0.0), station.service, Uniform()),
            seeds,
            strict=True,
        )
    ]
    # Everyone starts thinking, in order of number.
    times = np.array([streams[closed.THINK].next() for _ in range(population)])
    who = np.lexsort((np.arange(population), times))
    times = times[who]
    order = who.copy()
    counters = np.array([population, population], dtype=np.int64)
    customer_times = np.zeros((3, population))
    customer_links = np.zeros((3, population), dtype=np.int64)
    queue_state = np.zeros((3, queues), dtype=np.int64)
    queue_state[closed.HEAD] = closed.NOBODY
    out = np.empty((3, BLOCK))
    used, ends = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    finished, last_finish, calls = 0, 0.0, 0
    while finished < customers:
        for i, stream in enumerate(streams):
            if stream.end - stream.position < closed.MOST_PER_EVENT:
                stream.refill()
            used[i], ends[i] = stream.position, stream.end
        n = min(BLOCK, customers - finished)
        done, last_finish = closed.run_closed(
            streams[closed.THINK].buffer,
            streams[closed.SERVICE].buffer,
            streams[closed.ROUTE].buffer,
            used,
            ends,
            1 if queues > 1 else station.servers,
            times,
            order,
            who,
            counters,
            customer_times,
            customer_links,
            queue_state,
            last_finish,
            out[0, :n],
            out[1, :n],
            out[2, :n],
        )
        for i, stream in enumerate(streams):
            stream.position = int(used[i])
        recorder.add(out[0, :done], out[1, :done], out[2, :done])
        finished += done
        calls += 1
        if progress is not None and calls % REPORT_EVERY == 0:
            progress(finished / customers)
