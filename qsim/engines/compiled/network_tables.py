"""How stations, ways, entries and regions of a network are laid out for its compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.compiled import event_tables
from qsim.engines.compiled.queue_kernels import Table

# What happens to those on the way to a full place.
LOST_THERE, AFTER, BEFORE, REPEAT = 0, 1, 2, 3
# How many are served in each visit to a class.
EXHAUSTIVE, GATED, LIMITED = 1, 2, 3
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
        ("server", "i8"),  # of its queue, where that matters
        ("parent", "i8"),  # whose part it is, or NOBODY
        ("parts", "i8"),  # that are not done
        ("copies", "i8"),  # 1: it sends a copy to `to`, and goes on to `then` itself
        ("then", "i8"),
        ("then_kind", "i8"),
        ("rider", "i8"),  # the next of its batch, or NOBODY
        ("riding", "i8"),  # 1: in the service of another
    ]
)
PLACE = np.dtype(
    [
        *event_tables.PLACE.descr,
        ("remembers", "i8"),  # 1: it matters which server takes a customer, or what it did before
        ("off_after", "f8"),
        ("split", "i8"),  # 1: everyone brings a part to each queue
        ("gather", "i8"),  # how many leave together; 0: each by itself
        ("after", "f8"),  # how long the first of them waits at most
        ("due", "i8"),  # how many of them leave now
        ("polling", "i8"),  # EXHAUSTIVE, GATED, LIMITED or 0
        ("at", "i8"),  # the class where its server is, or to which it goes
        ("visit", "i8"),  # how many it may still serve there
        ("round", "f8"),  # the mean time from class to class once round
        ("going", "i8"),  # 1: on its way to those who wait; 2: going round with nobody there, since `going_since`
        ("going_since", "f8"),
        ("batch", "i8"),  # how many are served at once
        ("least", "i8"),
        ("vacation", "i8"),  # streams, or NOWHERE
        ("uptime", "i8"),
        ("repair", "i8"),
        ("away", "f8"),  # mean vacation
        ("single", "i8"),  # 1: one vacation, then ready
        ("overflow", "i8"),  # where those go who find no place, or NOWHERE
        ("orbit", "i8"),  # 1: a stay is waiting
    ]
)
SERVER = np.dtype([("customer", "i8"), ("kind", "i8"), ("since", "f8"), ("pace", "f8"), ("left", "f8")])
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
STATE = np.dtype(
    [
        *event_tables.STATE.descr,
        ("deadlock", "i8"),
        ("unsettled", "i8"),  # 1: somebody waits for what has become free
        ("overflow", "i8"),
        ("spare", "i8"),  # unused rows of customers
        ("needed", "i8"),  # unused rows that the next event may take
    ]
)

MARGIN = 200
"""More variates than one instant takes from one stream, and more columns than it fills of one output."""

# Entries of `roles`.
SERVING, URGENCY, NEXT, FIRST_WAY, WAYS, WAKING, TURNING, COPY_PLACE, COPY_KIND = range(9)


class NetworkTables(NamedTuple):
    """Everything the loop reads and writes."""

    streams: FloatArray
    used: IntArray
    ends: IntArray
    sources: IntArray
    roles: IntArray
    """[place, class]: streams, urgency, ways from which to how many, where copies go."""
    ways: Table
    entries: Table
    state: Table
    places: Table
    queues: Table
    customers: Table
    regions: Table
    servers: Table
    """[queue, server], where stations remember."""
    speeds: FloatArray
    tags: FloatArray
    who: IntArray
    times: FloatArray
    tree: IntArray
    presence: FloatArray
    outcome: FloatArray
    kinds: IntArray
    stays: FloatArray
    """[part, row, column]: of those turned away the service is negative."""
    stayed: IntArray
    lost_of: IntArray
    """[stream]: lost since the last of it that finished; counted where there are several."""
