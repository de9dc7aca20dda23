"""Arrays for the compiled loop: stations, their queues, customers, routes and the state of a run."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray, IntArray
from qsim.engines.numbered import PREEMPTIVE, Plan, PlannedStation, Way
from qsim.engines.variates import ARRIVALS, BLOCK, ROUTE, SERVICE, Role
from qsim.engines.variates import NEXT as NEXT_WAY
from qsim.engines.variates import VISITS as VISITED

Table: TypeAlias = npt.NDArray[Any]
RowArray: TypeAlias = npt.NDArray[np.uint32]

NONE = (1 << 32) - 1  # no row: nowhere, no stream, no output
NOBODY = 0  # the first row of customers, whose service never ends
UNLIMITED = 1 << 62

# How a customer picks one of a station's queues.
ANY, RANDOM, ROUND_ROBIN, SHORTEST = range(4)
ROUTINGS = {"shared": ANY, "random": RANDOM, "round-robin": ROUND_ROBIN, "shortest": SHORTEST}


def _record(rows: str, whole: str = "", real: str = "") -> np.dtype[Any]:
    """``rows`` have no sign, so that numba need not look for indices that count from the end.

    The size is a power of two, so that a row is found by a shift.
    """
    kinds = (real, "f8"), (whole, "i8"), (rows, "u4")
    names, types = zip(*((name, kind) for some, kind in kinds for name in some.split()), strict=True)
    ends = list(accumulate(int(kind[1]) for kind in types))
    size = 1 << (ends[-1] - 1).bit_length()
    return np.dtype({"names": names, "formats": types, "offsets": [0, *ends[:-1]], "itemsize": size})


PLACE = _record(
    "first_queue queues routing in_order last_come preemptive sharing varying speeds is_delay route_stream part turn "
    "present",
    "servers capacity",
)
"""``servers``: of each queue. ``in_order``: customers leave a queue in the order in which they came. ``sharing``: all
present are served at once. ``varying``: the speed depends on the number present. ``speeds``: length of its row of
speeds; 0: each server works at speed 1. ``part``: its row of the outputs, or NONE. ``turn``: the queue of the next
arrival, round robin."""

QUEUE = _record("in_order place present in_service first last", real="seen progress share crowded")
"""``first``, ``last``: of the waiting list; in order, of all present. ``progress``: the queue's own clock, brought up
to date at time ``seen``; in order, the time at which all present will have been served. ``share``: the time that a
customer present from the start would have had a server for itself. ``crowded``: the last time at which more customers
than servers were present."""

CUSTOMER = _record(
    "entry kind place to next",
    "visits_left order",
    "key need work finish arrived since wait share total_wait total_service",
)
"""``to``: the next place. ``next``: the customer behind it in the waiting list, or the next unused row. The smallest
``key`` goes first, then the smallest ``order``. ``need``: the service time, ``work``: what is left of it, ``finish``:
when it will end, in order. ``since``: start of the wait."""

MOMENT = _record("unused", "outside spare arrivals lost wanted", "clock")
"""``outside``: customers that circulate and have not begun. ``unused``: the first unused row of customers, of ``spare``
ones. ``arrivals`` at any place, ``lost`` since the last finish. ``wanted``: passages and cycles still to be recorded.
"""

STREAM = _record("used end", real="next")
"""``used`` and ``end``: of its variates, of which ``next`` is the first not used yet."""

ENTRY = _record("kind place home", "number")
WAY = _record("place", real="upto")
ROLE = _record("serving next first_way ways counts", "visits", "urgency")
"""A class at a place: its service stream, the stream, first row and number of its ways, and that of its visits."""

COLUMNS = 2 * BLOCK + 24  # of an output: fields a whole number of pages apart would share lines of the cache

FIRST_ROWS = 1024  # rows for customers from outside at first; more are added on demand

# Fields of the outputs.
FIELDS = 5
GAP, WAITING, SERVED, KIND, LOST = range(FIELDS)


class State(NamedTuple):
    """Everything the loop reads and writes."""

    variates: FloatArray
    streams: Table
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
    times: IntArray
    tree: RowArray
    outputs: FloatArray
    """[row, field, column]: row 0 for passages and cycles, the others for stays at the parts of the plan."""
    filled: RowArray
    last: FloatArray  # the time of the last entry of each row of the outputs


def new_state(plan: Plan, roles: list[Role], variates: FloatArray, times: IntArray, tree: RowArray) -> State:
    """The state of a plan before the first event."""
    index = {role: i for i, role in enumerate(roles)}
    places, size = plan.places, len(plan.places)
    queues = np.zeros(sum(place.queues for place in places), dtype=QUEUE)
    queues["place"] = np.repeat(np.arange(size), [place.queues for place in places])
    queues["in_order"] = [in_order(places[place]) for place in queues["place"]]
    rows = plan.population + (FIRST_ROWS if plan.sources else 0)
    customers = np.zeros(1 + rows, dtype=CUSTOMER)
    customers["next"] = np.append(np.arange(1, rows + 1), NOBODY)
    customers["finish"][NOBODY] = math.inf
    most = max((int(place.servers) for place in places if place.servers < math.inf), default=1)
    width = 3 + max(most, rows if all_at_once(plan) else 1)
    speeds = np.zeros((size, max(1, *(len(place.speeds) for place in places))))
    for row, place in zip(speeds, places, strict=True):
        row[: len(place.speeds)] = place.speeds
    moment = np.zeros(1, dtype=MOMENT)
    moment["outside"], moment["spare"], moment["unused"] = plan.population, rows, 1
    outputs = 1 + len(plan.parts)
    table, ways = _roles(plan, index)
    return State(
        variates=variates.reshape(-1),
        streams=np.zeros(len(roles), dtype=STREAM),
        sources=np.array([index[Role(ARRIVALS, kind=k)] for k in range(len(plan.sources))], dtype=np.uint32),
        roles=table,
        ways=ways,
        entries=np.array([(e.number, e.kind, e.place, e.home & NONE) for e in plan.entries], dtype=ENTRY),
        moment=moment,
        places=_places(plan, index),
        queues=queues,
        customers=customers,
        speeds=speeds,
        tags=np.full((queues.size, width), math.inf),
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
    wider = ((0, 0), (0, max(0, 2 * old + 3 - t.tags.shape[1]) if all_at_once(plan) else 0))
    return t._replace(
        customers=np.concatenate([t.customers, more]),
        tags=np.pad(t.tags, wider, constant_values=math.inf),
        ids=np.pad(t.ids, wider),
    )


def in_order(place: PlannedStation) -> bool:
    """Whether customers leave each queue in the order of arrival: the end of a service is known at the arrival."""
    return place.discipline == "FCFS" and place.servers == 1 and not place.speeds


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
        row["in_order"] = in_order(place)
        row["varying"] = place.discipline == "PS" or bool(place.speeds)
        row["speeds"] = len(place.speeds)
        row["capacity"] = UNLIMITED if place.capacity is None else place.capacity
        row["is_delay"] = place.is_delay
        row["route_stream"] = index.get(Role(ROUTE, i), NONE)
        row["part"] = plan.parts.index(i) + 1 if i in plan.parts else NONE
        first += place.queues
    return table
