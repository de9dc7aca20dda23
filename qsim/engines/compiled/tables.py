"""Arrays for the compiled loop: stations, their queues, customers, routes and the state of a run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray
from qsim.engines.numbered import PREEMPTIVE, Plan, Way
from qsim.engines.variates import ARRIVALS, BLOCK, ROUTE, SERVICE, Role
from qsim.engines.variates import NEXT as NEXT_WAY
from qsim.engines.variates import VISITS as VISITED

Table: TypeAlias = npt.NDArray[Any]
RowArray: TypeAlias = npt.NDArray[np.uint32]

NONE = (1 << 32) - 1
"""No row: nobody, nowhere, no stream."""
UNLIMITED = 1 << 62

# How a customer picks one of a station's queues.
ANY, RANDOM, ROUND_ROBIN, SHORTEST = range(4)
ROUTINGS = {"shared": ANY, "random": RANDOM, "round-robin": ROUND_ROBIN, "shortest": SHORTEST}


def _record(rows: str, whole: str = "", real: str = "") -> np.dtype[Any]:
    """``rows`` have no sign, so that numba need not look for indices that count from the end."""
    kinds = (real, "f8"), (whole, "i8"), (rows, "u4")
    return np.dtype([(name, kind) for names, kind in kinds for name in names.split()], align=True)


PLACE = _record(
    "first_queue queues routing last_come preemptive sharing varying speeds is_delay route_stream part present turn",
    "servers capacity",
)
"""``servers``: of each queue. ``sharing``: all present are served at once. ``varying``: the speed depends on the
number present. ``speeds``: length of its row of speeds; 0: each server works at speed 1. ``part``: its row of the
outputs, or NONE. ``turn``: the queue of the next arrival, round robin."""

QUEUE = _record("place present in_service first last", real="seen progress share crowded")
"""``first``, ``last``: of the waiting list. ``progress``: the queue's own clock, brought up to date at time ``seen``.
``share``: the time that a customer present from the start would have had a server for itself. ``crowded``: the last
time at which more customers than servers were present."""

CUSTOMER = _record(
    "entry kind place queue to next",
    "visits_left order",
    "key need work arrived since wait share total_wait total_service",
)
"""``to``: the next place. ``next``: the customer behind it in the waiting list, or the next unused row. The smallest
``key`` goes first, then the smallest ``order``. ``need``: the service time, ``work``: what is left of it. ``since``:
start of the wait."""

MOMENT = _record("unused", "outside spare arrivals lost wanted pause overflow", "clock")
"""``outside``: customers that circulate and have not begun. ``unused``: the first unused row of customers, of ``spare``
ones. ``arrivals`` at any place, ``lost`` since the last finish. ``wanted``: passages and cycles still to be recorded.
``pause``: they are, some stream of variates runs low, or some output is nearly full."""

ENTRY = _record("kind place home", "number")
WAY = _record("place", real="upto")
ROLE = _record("serving next first_way ways counts", "visits", "urgency")
"""A class at a place: its service stream, the stream, first row and number of its ways, and that of its visits."""

MARGIN = 200
"""More variates than the events of one instant take from a stream, and more columns than they fill of an output."""

COLUMNS = BLOCK + 24
"""Of an output: fields a whole number of pages apart would share lines of the cache."""

FIRST_ROWS = 1024
"""Rows for customers from outside at first; more are added on demand."""

# Fields of the outputs.
FIELDS = 5
GAP, WAITING, SERVED, KIND, LOST = range(FIELDS)


class State(NamedTuple):
    """Everything the loop reads and writes."""

    streams: FloatArray
    used: RowArray
    ends: RowArray
    sources: RowArray
    roles: Table
    ways: Table
    entries: Table
    moment: Table
    places: Table
    queues: Table
    customers: Table
    speeds: FloatArray
    tags: FloatArray
    ids: RowArray
    times: FloatArray
    tree: RowArray
    outputs: FloatArray
    """[row, field, column]: row 0 for passages and cycles, the others for stays at the parts of the plan."""
    filled: RowArray
    last: FloatArray
    """The time of the last entry of each row of the outputs."""


def new_state(plan: Plan, roles: list[Role], streams: FloatArray, times: FloatArray, tree: RowArray) -> State:
    """The state of a plan before the first event."""
    index = {role: i for i, role in enumerate(roles)}
    places, size = plan.places, len(plan.places)
    queues = np.zeros(sum(place.queues for place in places), dtype=QUEUE)
    queues["first"] = queues["last"] = NONE
    queues["place"] = np.repeat(np.arange(size), [place.queues for place in places])
    rows = plan.population + (FIRST_ROWS if plan.sources else 0)
    customers = np.zeros(rows, dtype=CUSTOMER)
    customers["next"] = np.append(np.arange(1, rows), NONE)
    most = max((int(place.servers) for place in places if place.servers < math.inf), default=1)
    width = max(most, rows if all_at_once(plan) else 1)
    speeds = np.zeros((size, max(1, *(len(place.speeds) for place in places))))
    for row, place in zip(speeds, places, strict=True):
        row[: len(place.speeds)] = place.speeds
    moment = np.zeros(1, dtype=MOMENT)
    moment["outside"], moment["spare"] = plan.population, rows
    outputs = 1 + len(plan.parts)
    table, ways = _roles(plan, index)
    return State(
        streams=streams,
        used=np.zeros(len(roles), dtype=np.uint32),
        ends=np.zeros(len(roles), dtype=np.uint32),
        sources=np.array([index[Role(ARRIVALS, kind=k)] for k in range(len(plan.sources))], dtype=np.uint32),
        roles=table,
        ways=ways,
        entries=np.array([(e.number, e.kind, e.place, e.home & NONE) for e in plan.entries], dtype=ENTRY),
        moment=moment,
        places=_places(plan, index),
        queues=queues,
        customers=customers,
        speeds=speeds,
        tags=np.zeros((queues.size, width)),
        ids=np.zeros((queues.size, width), dtype=np.uint32),
        times=times,
        tree=tree,
        outputs=np.empty((outputs, FIELDS, COLUMNS)),
        filled=np.zeros(outputs, dtype=np.uint32),
        last=np.zeros(outputs),
    )


def with_room(plan: Plan, t: State) -> State:
    """The state with more rows for customers, if none is left."""
    moment = t.moment[0]
    if not plan.sources or moment["spare"] > 0:
        return t
    old = t.customers.size
    more = np.zeros(old, dtype=CUSTOMER)
    more["next"] = np.append(np.arange(old + 1, 2 * old), moment["unused"])
    moment["unused"] = old
    moment["spare"] += old
    wider = ((0, 0), (0, max(0, 2 * old - t.tags.shape[1]) if all_at_once(plan) else 0))
    return t._replace(
        customers=np.concatenate([t.customers, more]), tags=np.pad(t.tags, wider), ids=np.pad(t.ids, wider)
    )


def all_at_once(plan: Plan) -> bool:
    """Whether some station may serve all its customers at once."""
    return any(place.discipline == "PS" or place.servers == math.inf for place in plan.places)


def _roles(plan: Plan, index: dict[Role, int]) -> tuple[Table, Table]:
    roles = np.zeros((len(plan.places), len(plan.classes)), dtype=ROLE)
    ways: list[Way] = []
    for p, place in enumerate(plan.places):
        for k, mine in enumerate(plan.ways[p]):
            role = roles[p, k]
            role["serving"], role["urgency"] = index[Role(SERVICE, p, k)], place.urgency[k]
            role["next"] = index.get(Role(NEXT_WAY, p, k), NONE)
            role["first_way"], role["ways"] = len(ways), len(mine)
            role["visits"], role["counts"] = place.visits[k], index.get(Role(VISITED, p, k), NONE)
            ways += mine
    return roles, np.array([(upto, to & NONE) for upto, to in ways], dtype=WAY)


def _places(plan: Plan, index: dict[Role, int]) -> Table:
    table = np.zeros(len(plan.places), dtype=PLACE)
    first = 0
    for i, (row, place) in enumerate(zip(table, plan.places, strict=True)):
        row["first_queue"], row["queues"] = first, place.queues
        row["servers"] = UNLIMITED if place.servers == math.inf else place.servers
        row["routing"], row["last_come"] = ROUTINGS[place.routing], place.discipline == "LCFS-PR"
        row["preemptive"] = place.discipline in PREEMPTIVE
        row["sharing"] = place.discipline == "PS"
        row["varying"] = place.discipline == "PS" or bool(place.speeds)
        row["speeds"] = len(place.speeds)
        row["capacity"] = UNLIMITED if place.capacity is None else place.capacity
        row["is_delay"] = place.is_delay
        row["route_stream"] = index.get(Role(ROUTE, i), NONE)
        row["part"] = plan.parts.index(i) + 1 if i in plan.parts else NONE
        first += place.queues
    return table
