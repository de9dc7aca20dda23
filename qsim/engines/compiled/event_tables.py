"""How stations, their queues, customers and the state of a run are laid out for the compiled event loop."""

from __future__ import annotations

import numpy as np

NOBODY = -1
NOWHERE = -1

# How a customer picks one of a station's queues.
ANY, RANDOM, ROUND_ROBIN, SHORTEST = 0, 1, 2, 3
# Which of those waiting is served next.
FIRST_COME, LAST_COME, SHORTEST_JOB, MOST_URGENT, RANDOM_ORDER, SHORTEST_LEFT, LEAST_SERVED = 0, 1, 2, 3, 4, 5, 6

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
        ("blocking", "i8"),  # 1: a customer that finds the next place full stays on its server
        ("capacity", "i8"),
        ("next", "i8"),  # the place after this one, or NOWHERE
        ("route_stream", "i8"),  # uniform numbers for random queues
        ("order_stream", "i8"),  # uniform numbers for random order
        ("visit_stream", "i8"),  # uniform numbers for visits that are no whole number
        ("patience_stream", "i8"),
        ("balk_stream", "i8"),
        ("present", "i8"),
        ("turn", "i8"),  # round robin: the queue of the next arrival
        ("blocked_first", "i8"),  # customers that finished elsewhere and wait for a place here
        ("blocked_last", "i8"),
        ("last_departure", "f8"),
        # In networks alone.
        ("when_full", "i8"),
        ("thinking", "i8"),  # 1: for those whose home it is, the time here is think time
        ("region", "i8"),
        ("reserved", "i8"),  # places taken by customers that are still on their way
        ("dirty", "i8"),  # 1: something may have become free here
        ("stuck", "i8"),  # while looking for a deadlock
        ("waits_for", "i8"),
    ]
)
QUEUE = np.dtype(
    [
        ("place", "i8"),
        ("present", "i8"),
        ("busy", "i8"),
        ("in_service", "i8"),  # entries of the heap: busy servers that are not blocked
        ("first", "i8"),  # of those waiting
        ("last", "i8"),
        ("seen", "f8"),  # when `progress` was last brought up to date
        ("progress", "f8"),  # the queue's own clock; with LEAST_SERVED, what each in service has had
        ("catch_up", "f8"),  # with LEAST_SERVED: where the progress meets those who wait
        ("share", "f8"),  # the time a customer present all along would have had a server for himself
        ("crowded", "f8"),  # when more were last present than servers
        ("riding", "i8"),  # in networks: those in a service that another leads
    ]
)
CUSTOMER = np.dtype(
    [
        ("kind", "i8"),
        ("place", "i8"),
        ("queue", "i8"),
        ("next", "i8"),  # behind it in its list, or in the list of unused rows
        ("order", "i8"),
        ("visits", "i8"),  # left at this place, this one included
        ("key", "f8"),  # the smallest goes first, then the smallest order
        ("need", "f8"),  # service time
        ("work", "f8"),  # what is left of it
        ("think", "f8"),  # how long it will think after this place
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
        ("clock", "f8"),
        ("last_finish", "f8"),
        ("unused", "i8"),  # the first unused row of customers
        ("arrivals", "i8"),  # counts arrivals at any place
        ("present", "i8"),  # customers at stations
        ("thinking", "i8"),
        ("held", "i8"),  # the customer held at the source until there is a place
        ("lost", "i8"),  # arrivals turned away (or held) since the last finish
        ("pause", "i8"),  # 1: some stream of variates runs low, or some output is nearly full
        ("done", "i8"),
    ]
)

RESERVE = 8
"""More variates than one event takes from one stream, and more stays than it ends at one place."""

# Rows of the outputs: of customers, and of stays.
GAP, WAIT, SERVICE, LOST, LOST_OF_KIND = 0, 1, 2, 3, 4
KIND = 3
# Entries of `roles`.
SERVING, THINKING, URGENCY = 0, 1, 2

UNLIMITED = 1 << 62

ORDERS = {
    "FCFS": FIRST_COME,
    "LCFS": LAST_COME,
    "LCFS-PR": LAST_COME,
    "SJF": SHORTEST_JOB,
    "PSJF": SHORTEST_JOB,
    "SRPT": SHORTEST_LEFT,
    "FB": LEAST_SERVED,
    "PS": FIRST_COME,
    "SIRO": RANDOM_ORDER,
    "priority": MOST_URGENT,
    "preemptive priority": MOST_URGENT,
    "polling": FIRST_COME,
}
ROUTINGS = {"shared": ANY, "random": RANDOM, "round-robin": ROUND_ROBIN, "shortest": SHORTEST}
