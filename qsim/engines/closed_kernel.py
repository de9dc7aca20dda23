"""The compiled event loop of a closed system: think, queue, be served, think again.

Every customer is in one of three places: thinking or in service (then its next event is in the heap), or in a
queue (then it is linked from the customer before it).  The kernel runs until the output is full or a stream of
variates runs low, and says how many customers it finished; the caller refills and calls again.
"""

from __future__ import annotations

import math

from qsim._types import FloatArray, IntArray
from qsim.engines._jit import kernel

# Rows of `customer_times`.
ARRIVED, WAITED, SERVED = 0, 1, 2
# Rows of `customer_links`: whether in service, the queue joined, the customer behind in that queue.
IN_SERVICE, QUEUE, BEHIND = 0, 1, 2
# Rows of `queue_state`.
HEAD, TAIL, BUSY = 0, 1, 2
# Entries of `counters`.
HEAP_SIZE, SEQUENCE = 0, 1
# Streams of variates.
THINK, SERVICE, ROUTE = 0, 1, 2
MOST_PER_EVENT = 2  # a finish can start the next service, and the customer, back at once, its own
NOBODY = -1


@kernel()
def _push(times: FloatArray, order: IntArray, who: IntArray, counters: IntArray, time: float, customer: int) -> None:
    """Add an event; of two at the same time the one added first comes first."""
    sequence = counters[SEQUENCE]
    counters[SEQUENCE] = sequence + 1
    hole = counters[HEAP_SIZE]
    counters[HEAP_SIZE] = hole + 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if times[parent] <= time:
            break
        times[hole], order[hole], who[hole] = times[parent], order[parent], who[parent]
        hole = parent
    times[hole], order[hole], who[hole] = time, sequence, customer


@kernel()
def _drop_first(times: FloatArray, order: IntArray, who: IntArray, counters: IntArray) -> None:
    """Remove the earliest event."""
    n = counters[HEAP_SIZE] - 1
    counters[HEAP_SIZE] = n
    time, sequence, customer = times[n], order[n], who[n]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= n:
            break
        other = child + 1
        if other < n and (
            times[other] < times[child] or (times[other] == times[child] and order[other] < order[child])
        ):
            child = other
        if times[child] > time or (times[child] == time and order[child] > sequence):
            break
        times[hole], order[hole], who[hole] = times[child], order[child], who[child]
        hole = child
    times[hole], order[hole], who[hole] = time, sequence, customer


@kernel()
def run_closed(  # noqa: PLR0912, PLR0915
    think: FloatArray,
    service: FloatArray,
    route: FloatArray,
    used: IntArray,
    ends: IntArray,
    servers_per_queue: int,
    times: FloatArray,
    order: IntArray,
    who: IntArray,
    counters: IntArray,
    customer_times: FloatArray,
    customer_links: IntArray,
    queue_state: IntArray,
    last_finish: float,
    gaps: FloatArray,
    waits: FloatArray,
    services: FloatArray,
) -> tuple[int, float]:
    """Run until the outputs are full or variates run low; returns how many finished, and the last finish time.

    Times count from the last event of the call before: on return all of them are moved back by it.
    """
    done = 0
    queues = queue_state.shape[1]
    clock = last_finish
    while (
        done < gaps.size
        and used[THINK] < ends[THINK]
        and used[SERVICE] + 1 < ends[SERVICE]
        and used[ROUTE] < ends[ROUTE]
    ):
        clock, customer = times[0], who[0]
        _drop_first(times, order, who, counters)
        arriving = True
        if customer_links[IN_SERVICE, customer] == 1:
            customer_links[IN_SERVICE, customer] = 0
            gaps[done] = clock - last_finish
            waits[done] = customer_times[WAITED, customer]
            services[done] = customer_times[SERVED, customer]
            last_finish = clock
            done += 1
            queue = customer_links[QUEUE, customer]
            successor = queue_state[HEAD, queue]
            if successor == NOBODY:
                queue_state[BUSY, queue] -= 1
            else:
                queue_state[HEAD, queue] = customer_links[BEHIND, successor]
                customer_times[WAITED, successor] = clock - customer_times[ARRIVED, successor]
                length = service[used[SERVICE]]
                used[SERVICE] += 1
                customer_times[SERVED, successor] = length
                customer_links[IN_SERVICE, successor] = 1
                _push(times, order, who, counters, clock + length, successor)
            thinking = think[used[THINK]]
            used[THINK] += 1
            if thinking > 0:
                _push(times, order, who, counters, clock + thinking, customer)
                arriving = False
        if arriving:
            queue = 0
            if queues > 1:
                queue = min(math.floor(route[used[ROUTE]] * queues), queues - 1)
                used[ROUTE] += 1
            customer_links[QUEUE, customer] = queue
            if queue_state[BUSY, queue] < servers_per_queue:
                queue_state[BUSY, queue] += 1
                length = service[used[SERVICE]]
                used[SERVICE] += 1
                customer_times[WAITED, customer] = 0.0
                customer_times[SERVED, customer] = length
                customer_links[IN_SERVICE, customer] = 1
                _push(times, order, who, counters, clock + length, customer)
            else:
                customer_times[ARRIVED, customer] = clock
                customer_links[BEHIND, customer] = NOBODY
                if queue_state[HEAD, queue] == NOBODY:
                    queue_state[HEAD, queue] = customer
                else:
                    customer_links[BEHIND, queue_state[TAIL, queue]] = customer
                queue_state[TAIL, queue] = customer
    # Count from the clock, so that digits are not lost in long runs.
    for i in range(counters[HEAP_SIZE]):
        times[i] -= clock
    for customer in range(customer_times.shape[1]):
        customer_times[ARRIVED, customer] -= clock
    return done, last_finish - clock
