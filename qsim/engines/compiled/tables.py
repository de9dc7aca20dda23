"""How stations, their queues, customers, ways and the state of a run are laid out for the compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray, IntArray

Table: TypeAlias = npt.NDArray[Any]

NOBODY = -1
UNLIMITED = 1 << 62

# How a customer picks one of a station's queues.
ANY, RANDOM, ROUND_ROBIN, SHORTEST = range(4)
# Which of the waiting customers is served next.
FIRST_COME, LAST_COME, SHORTEST_JOB, MOST_URGENT, RANDOM_ORDER, SHORTEST_LEFT = range(6)

PLACE = np.dtype(
    [
        ("first_queue", "i8"),
        ("queues", "i8"),
        ("servers", "i8"),  # at each queue
        ("routing", "i8"),
        ("order", "i8"),
        ("preemptive", "i8"),
        ("sharing", "i8"),  # 1: all present are served at once
        ("varying", "i8"),  # 1: the speed of service depends on how many are present
        ("speeds", "i8"),  # entries of its row of speeds; 0: each server works at speed 1
        ("capacity", "i8"),
        ("is_delay", "i8"),  # 1: its time is think time for customers that circulate
        ("route_stream", "i8"),  # uniform numbers for random queues
        ("order_stream", "i8"),  # uniform numbers for random order
        ("present", "i8"),
        ("turn", "i8"),  # round robin: the queue of the next arrival
        ("last_departure", "f8"),
    ]
)
QUEUE = np.dtype(
    [
        ("place", "i8"),
        ("present", "i8"),
        ("in_service", "i8"),  # entries of the heap
        ("first", "i8"),  # of those waiting
        ("last", "i8"),
        ("seen", "f8"),  # when `progress` was last brought up to date
        ("progress", "f8"),  # the queue's own clock
        ("share", "f8"),  # the time a customer present all along would have had a server for itself
        ("crowded", "f8"),  # when more were last present than servers
    ]
)
CUSTOMER = np.dtype(
    [
        ("entry", "i8"),  # how it came in
        ("kind", "i8"),
        ("place", "i8"),
        ("queue", "i8"),
        ("to", "i8"),  # the place after this one, or NOWHERE
        ("becoming", "i8"),  # its class there
        ("cycling", "i8"),  # 1: it has been home
        ("next", "i8"),  # behind it in its list, or in the list of unused rows
        ("order", "i8"),
        ("key", "f8"),  # the smallest goes first, then the smallest order
        ("need", "f8"),  # service time
        ("work", "f8"),  # what is left of it
        ("arrived", "f8"),
        ("since", "f8"),  # waiting since
        ("wait", "f8"),
        ("share", "f8"),
        ("total_wait", "f8"),
        ("total_service", "f8"),
    ]
)
STATE = np.dtype(
    [
        ("last_finish", "f8"),
        ("unused", "i8"),  # the first unused row of customers
        ("spare", "i8"),  # unused rows of customers
        ("arrivals", "i8"),  # counts arrivals at any place
        ("present", "i8"),  # customers at stations
        ("lost", "i8"),  # arrivals turned away since the last finish
        ("pause", "i8"),  # 1: some stream of variates runs low, or some output is nearly full
        ("overflow", "i8"),
        ("done", "i8"),
    ]
)
ENTRY = np.dtype([("stream", "i8"), ("place", "i8"), ("kind", "i8"), ("home", "i8"), ("number", "i8")])
WAY = np.dtype([("upto", "f8"), ("place", "i8"), ("kind", "i8")])

MARGIN = 200
"""More variates than one instant takes from one stream, and more columns than it fills of one output."""

# Rows of the outputs: of customers, and of stays.
GAP, WAIT, SERVICE, LOST = range(4)
KIND = 3
# Entries of `roles`.
SERVING, URGENCY, NEXT, FIRST_WAY, WAYS = range(5)

ORDERS = {
    "FCFS": FIRST_COME,
    "LCFS": LAST_COME,
    "LCFS-PR": LAST_COME,
    "SJF": SHORTEST_JOB,
    "PSJF": SHORTEST_JOB,
    "SRPT": SHORTEST_LEFT,
    "PS": FIRST_COME,
    "SIRO": RANDOM_ORDER,
    "priority": MOST_URGENT,
    "preemptive priority": MOST_URGENT,
}
ROUTINGS = {"shared": ANY, "random": RANDOM, "round-robin": ROUND_ROBIN, "shortest": SHORTEST}


class Tables(NamedTuple):
    """Everything the loop reads and writes."""

    streams: FloatArray
    used: IntArray
    ends: IntArray
    sources: IntArray
    roles: IntArray
    """[place, class]: streams, urgency, ways from which to how many."""
    ways: Table
    entries: Table
    state: Table
    places: Table
    queues: Table
    customers: Table
    speeds: FloatArray
    tags: FloatArray
    who: IntArray
    times: FloatArray
    tree: IntArray
    presence: FloatArray
    outcome: FloatArray
    kinds: IntArray
    stays: FloatArray
    """[place, row, column]; of one place alone no column is filled."""
    stayed: IntArray
