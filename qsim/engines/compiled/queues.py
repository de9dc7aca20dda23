"""A queue and its servers in the compiled engine, and the tournament that finds the next event.

A queue keeps its customers in service in a heap by the time they will finish, and those waiting in a linked list in
the order in which they will be taken. Where customers slow each other (processor sharing, load-dependent service) a
queue has a clock of its own, which runs at the speed of each customer in service: finish times by that clock never
change.

The earliest of many times is the winner of a tournament between them; a change of one takes log2(times) matches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qsim._types import FloatArray
from qsim.engines.compiled.tables import NONE, RowArray, Table
from qsim.engines.jit import kernel
from qsim.engines.numbered import LEAST_WAIT


def tournament(rows: int) -> tuple[FloatArray, RowArray]:
    """Times (all infinity) of ``rows`` rows, rounded up to a power of two, and the tree of :func:`set_time`."""
    size = 1 << (rows - 1).bit_length()
    tree = np.zeros(2 * size, dtype=np.uint32)
    tree[size:] = np.arange(size)
    for node in range(size - 1, 0, -1):
        tree[node] = tree[2 * node]  # of equal times the lowest row wins
    return np.full(size, math.inf), tree


@kernel(borrows=True)
def set_time(times: FloatArray, tree: RowArray, row: int, time: float) -> None:
    """Change one time; ``tree[1]`` is then the row of the smallest time, the lowest row of equal times."""
    times[row] = time
    winner, node = np.int64(row), times.size + np.int64(row)
    while node > 1:
        other = np.int64(tree[node ^ 1])
        rival = times[other]
        beaten = (rival < time) | ((rival == time) & (node & 1 == 1))  # of equal times the left wins
        winner += beaten * (other - winner)  # without a branch, which the processor could not predict
        time = min(time, rival)
        node >>= 1
        tree[node] = winner


@kernel(inner=True, borrows=True)
def heap_add(tags: FloatArray, ids: RowArray, size: int, tag: float, customer: int) -> None:
    """Add a customer to a heap of ``size``."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if tags[parent] <= tag:
            break
        tags[hole], ids[hole] = tags[parent], ids[parent]
        hole = parent
    tags[hole], ids[hole] = tag, customer


@kernel(inner=True, borrows=True)
def heap_remove(tags: FloatArray, ids: RowArray, size: int, hole: int) -> None:
    """Take the entry at ``hole`` out of a heap of ``size``."""
    n = size - 1
    tag, customer = tags[n], ids[n]
    while hole > 0 and tags[(hole - 1) >> 1] > tag:
        parent = (hole - 1) >> 1
        tags[hole], ids[hole] = tags[parent], ids[parent]
        hole = parent
    while True:
        child = 2 * hole + 1
        if child >= n:
            break
        child += (child + 1 < n) & (tags[child + 1] < tags[child])  # without a branch
        if tags[child] >= tag:
            break
        tags[hole], ids[hole] = tags[child], ids[child]
        hole = child
    tags[hole], ids[hole] = tag, customer


@kernel(inner=True, borrows=True)
def speed_of(place: Any, queue: Any, speeds: FloatArray) -> float:
    """Work done per time unit for each customer in service."""
    if queue.in_service == 0:
        return 0.0
    if place.speeds > 0:
        speed: float = speeds[min(queue.present, place.speeds) - 1] / queue.in_service
        return speed
    return min(1.0, place.servers / queue.present) if place.sharing else 1.0


@kernel(inner=True, borrows=True)
def advance(place: Any, queue: Any, speeds: FloatArray, clock: float) -> None:
    """Bring a queue's own clock up to date; call before anything changes in it."""
    if place.varying:
        elapsed = clock - queue.seen
        queue.progress += elapsed * speed_of(place, queue, speeds)
        if queue.present > 0:
            queue.share += elapsed * min(1.0, place.servers / queue.present)
        if queue.present > place.servers:
            queue.crowded = clock
    else:
        queue.progress = clock
    queue.seen = clock


@kernel(inner=True, borrows=True)
def slowed(queue: Any, arrived: float, response: float, service: float) -> float:
    """Response time less service time; exactly 0, despite rounding, for a customer that never shared a server."""
    return max(response - service, LEAST_WAIT) if queue.crowded > arrived else 0.0


@kernel(inner=True, borrows=True)
def next_finish(place: Any, queue: Any, speeds: FloatArray, tags: FloatArray) -> float:
    """The time at which the first customer in service finishes."""
    if queue.in_service == 0:
        return math.inf
    first: float = tags[0]
    if not place.varying:
        return first
    left = max(0.0, first - queue.progress)
    finish: float = queue.seen + left / speed_of(place, queue, speeds)
    return finish


@kernel(inner=True, borrows=True)
def enqueue(queue: Any, customers: Table, customer: int) -> None:
    """Insert a customer into the waiting list, sorted by key and order."""
    key, order = customers[customer].key, customers[customer].order
    before, after = queue.last, NONE
    if before != NONE and (
        customers[before].key > key or (customers[before].key == key and customers[before].order > order)
    ):
        before, after = NONE, queue.first
        while customers[after].key < key or (customers[after].key == key and customers[after].order < order):
            before, after = after, customers[after].next
    customers[customer].next = after
    if before == NONE:
        queue.first = customer
    else:
        customers[before].next = customer
    if after == NONE:
        queue.last = customer


@kernel(inner=True, borrows=True)
def start_service(queue: Any, customers: Table, customer: int, tags: FloatArray, ids: RowArray, clock: float) -> None:
    """Start the service of a customer."""
    row = customers[customer]
    row.wait += clock - row.since
    heap_add(tags, ids, queue.in_service, queue.progress + row.work, customer)
    queue.in_service += 1


@kernel(inner=True, borrows=True)
def least_urgent(queue: Any, customers: Table, ids: RowArray) -> int:
    """Index in the heap of the customer that would be interrupted first."""
    worst = 0
    for at in range(1, queue.in_service):
        one, other = customers[ids[at]], customers[ids[worst]]
        if one.key > other.key or (one.key == other.key and one.order > other.order):
            worst = at
    return worst
