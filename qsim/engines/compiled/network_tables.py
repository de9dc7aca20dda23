"""How stations, ways, entries and regions of a network are laid out for its compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.compiled import event_tables
from qsim.engines.compiled.queue_kernels import Table

# What happens to those on the way to a full place.
LOST_THERE, AFTER, BEFORE, REPEAT = 0, 1, 2, 3
# How a customer is held on its server until there is a place.
BEFORE_SERVICE, AFTER_SERVICE = 1, 2

CUSTOMER = np.dtype(
    [
        *event_tables.CUSTOMER.descr,
        ("entry", "i8"),  # how it came in
        ("to", "i8"),  # the place after this one, or NOWHERE
        ("becoming", "i8"),  # its class there
        ("reserved", "i8"),  # 1: it has a place there
        ("held", "i8"),  # BEFORE_SERVICE, AFTER_SERVICE or 0
        ("region", "i8"),  # in which it counts
        ("cycling", "i8"),  # 1: it has been home
    ]
)
ENTRY = np.dtype([("stream", "i8"), ("place", "i8"), ("kind", "i8"), ("home", "i8"), ("number", "i8")])
WAY = np.dtype([("upto", "f8"), ("place", "i8"), ("kind", "i8")])
REGION = np.dtype(
    [
        ("capacity", "i8"),
        ("inside", "i8"),
        ("first", "i8"),  # at the gate
        ("last", "i8"),
        ("dirty", "i8"),
        ("last_admission", "f8"),
    ]
)
STATE = np.dtype([*event_tables.STATE.descr, ("deadlock", "i8"), ("overflow", "i8")])

MARGIN = 200
"""More variates than one instant takes from one stream, and more columns than it fills of one output."""

# Entries of `roles`.
SERVING, URGENCY, NEXT, FIRST_WAY, WAYS = 0, 1, 2, 3, 4


class NetworkTables(NamedTuple):
    """Everything the loop reads and writes."""

    streams: FloatArray
    used: IntArray
    ends: IntArray
    sources: IntArray
    roles: IntArray
    """[place, class]: the streams of service and of the next place, urgency, ways from which to how many."""
    ways: Table
    entries: Table
    state: Table
    places: Table
    queues: Table
    customers: Table
    regions: Table
    speeds: FloatArray
    tags: FloatArray
    who: IntArray
    times: FloatArray
    tree: IntArray
    presence: FloatArray
    outcome: FloatArray
    kinds: IntArray
    stays: FloatArray
    stayed: IntArray
