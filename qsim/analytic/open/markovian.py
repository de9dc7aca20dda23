"""PH/PH/c and PH/PH/c/K: phase-type times between arrivals and of service, solved exactly as a Markov chain.

The state is the number present n, the phase of the next arrival, and how many of the busy servers are in each
phase of service: servers are counted, not labelled, so c servers with m phases have C(c+m-1, m-1) states.  n
changes by one at a time, a quasi-birth-death process.  With more customers than servers every level looks alike,
and the state probabilities are matrix-geometric,

    π(n+1) = π(n)·R,   n >= c,   R the smallest solution of  R²·A(down) + R·A(local) + A(up) = 0,

found by logarithmic reduction, which doubles the number of levels it looks across in each step.  Below c, and
down from K where places are limited, R(n) = A(up)·(-A(local) - R(n+1)·A(down))⁻¹ differs from level to level.
Arrivals find level n with the share that the arrival rates of its phases give it.

Source: Neuts (1981), Matrix-Geometric Solutions in Stochastic Models, chapters 1 and 3; Latouche & Ramaswami
(1993), J. Appl. Prob. 30; counting phases: Ramaswami & Lucantoni (1985), Advances Appl. Prob. 17, "Algorithms for
the multi-server queue with phase type service".

>>> from qsim import Erlang, GGc, solve
>>> round(solve(GGc(Erlang(2, 1.0), Erlang(2, 1.6), servers=2)).Wq, 6)
1.300322
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.times.markov import MarkovTimes
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Exponential
from qsim.distributions.base import Phases, require_phases
from qsim.metrics import Metrics

METHOD = "matrix-geometric solution (Neuts 1981), phases counted (Ramaswami & Lucantoni 1985)"

LARGEST_LEVEL = 400
"""States of one level, beyond which a solution takes minutes."""

ROUGH = 1e-7
"""From this error on a warning: rounding leaves about 1e-16·(ca² + cs²)/(1 - ρ)² of every value."""

MOST_WORK = 4e9
"""Multiplications (levels times the cube of their states): a few seconds."""


@dataclass(frozen=True)
class Servers:
    """What the busy servers do, by the number busy n = 0, ..., c: lists of matrices over occupancies of phases.

    ``move[n]``: rates between phases (diagonal: minus the rate of anything); ``finish[n]``: n -> n - 1;
    ``begin[n]``: probabilities of n -> n + 1.
    """

    move: Sequence[FloatArray]
    finish: Sequence[FloatArray]
    begin: Sequence[FloatArray]


def occupancies(customers: int, phases: int) -> list[tuple[int, ...]]:
    """All ways to spread customers over phases, in a fixed order."""
    if phases == 1:
        return [(customers,)]
    return [(k, *rest) for k in range(customers, -1, -1) for rest in occupancies(customers - k, phases - 1)]


def servers_of(service: Phases, servers: int) -> Servers:
    """The matrices of ``servers`` servers with this service law."""
    alpha, T = service
    m = alpha.size
    ends = np.maximum(-T.sum(axis=1), 0.0)
    levels = [occupancies(n, m) for n in range(servers + 1)]
    number = [{state: i for i, state in enumerate(level)} for level in levels]

    def changed(state: tuple[int, ...], leave: int | None, enter: int | None) -> tuple[int, ...]:
        new = list(state)
        if leave is not None:
            new[leave] -= 1
        if enter is not None:
            new[enter] += 1
        return tuple(new)

    move, finish, begin = [], [], []
    for n, level in enumerate(levels):
        moves = np.zeros((len(level), len(level)))
        finishes = np.zeros((len(level), len(levels[n - 1]) if n else 0))
        begins = np.zeros((len(level), len(levels[n + 1]) if n < servers else 0))
        for i, state in enumerate(level):
            for phase, busy in enumerate(state):
                if n < servers:
                    begins[i, number[n + 1][changed(state, None, phase)]] += alpha[phase]
                if busy == 0:
                    continue
                finishes[i, number[n - 1][changed(state, phase, None)]] += busy * ends[phase]
                for other in range(m):
                    moves[i, number[n][changed(state, phase, other)]] += busy * T[phase, other]
        move.append(moves)
        finish.append(finishes)
        begin.append(begins)
    return Servers(move, finish, begin)


def rate_matrix(up: FloatArray, local: FloatArray, down: FloatArray) -> FloatArray:
    """R of the levels that look alike, by logarithmic reduction (Latouche & Ramaswami 1993, section 4)."""
    identity = np.eye(local.shape[0])
    both = np.linalg.solve(-local, np.hstack([up, down]))
    rise, fall = both[:, : up.shape[1]], both[:, up.shape[1] :]
    first_passage, ahead = fall.copy(), rise.copy()
    for _ in range(60):
        middle = identity - rise @ fall - fall @ rise
        both = np.linalg.solve(middle, np.hstack([rise @ rise, fall @ fall]))
        rise, fall = both[:, : up.shape[1]], both[:, up.shape[1] :]
        step = ahead @ fall
        first_passage += step
        ahead = ahead @ rise
        if step.max() < 1e-15 or ahead.max() < 1e-15:
            break
    return np.asarray(np.linalg.solve((-local - up @ first_passage).T, up.T).T)


@dataclass(frozen=True)
class Solution:
    """``levels``: π(0), π(1), ... up to c, or up to K where places are limited; ``ratio``: R above, or None."""

    levels: Sequence[FloatArray]
    ratio: FloatArray | None

    def p(self, n: int) -> float:
        """Probability of n present."""
        if n < len(self.levels):
            return float(self.levels[n].sum())
        if self.ratio is None:
            return 0.0
        power = np.linalg.matrix_power(self.ratio, n - len(self.levels) + 1)
        return float((self.levels[-1] @ power).sum())


def solve_chain(arrivals: tuple[FloatArray, FloatArray], servers: Servers, capacity: int | None) -> Solution:
    """State probabilities; ``arrivals`` are the rates (D0, D1) between its phases without and with an arrival."""
    D0, D1 = arrivals
    c = len(servers.move) - 1
    still: FloatArray = np.eye(D0.shape[0])
    up = [_kron(D1, b) for b in servers.begin[:c]]
    local = [_kron(D0, np.eye(move.shape[0])) + _kron(still, move) for move in servers.move]
    down = [_kron(still, f) for f in servers.finish[1:]]
    up_full = _kron(D1, np.eye(servers.move[c].shape[0]))
    down_full = _kron(still, servers.finish[c] @ servers.begin[c - 1])
    ratio = None
    ratios: list[FloatArray] = []
    if capacity is None:
        ratio = rate_matrix(up_full, local[c], down_full)
        above = ratio @ down_full
    else:
        lost = local[c] + up_full
        above = np.zeros_like(lost)
        for n in range(capacity - 1, c - 1, -1):
            here = lost if n == capacity - 1 else local[c] + above
            ratios.append(_divided(up_full, here))
            above = ratios[-1] @ down_full
        if capacity == c:
            local[c] = lost
    for n in range(c - 1, -1, -1):
        ratios.append(_divided(up[n], local[n + 1] + above))
        above = ratios[-1] @ down[n]
    ratios.reverse()
    levels = [_stationary(local[0] + above)]
    for R in ratios:
        levels.append(levels[-1] @ R)
        size = float(levels[-1].sum())
        if size > 1e100:  # an overloaded queue with limited places is nearly always full
            levels = [level / size for level in levels]
    total = math.fsum(float(level.sum()) for level in levels[:-1])
    total += float(_beyond(levels[-1], ratio).sum())
    return Solution(tuple(level / total for level in levels), ratio)


def _kron(outer: FloatArray, inner: FloatArray) -> FloatArray:
    """Arrival phases outside, occupancies of the servers inside."""
    return np.asarray(np.kron(outer, inner), dtype=np.float64)


def _divided(up: FloatArray, local: FloatArray) -> FloatArray:
    """up·(-local)⁻¹."""
    return np.asarray(np.linalg.solve(-local.T, up.T).T)


def _beyond(level: FloatArray, ratio: FloatArray | None) -> FloatArray:
    """π(c) + π(c+1) + ... = π(c)·(I - R)⁻¹."""
    if ratio is None:
        return level
    return np.asarray(np.linalg.solve((np.eye(ratio.shape[0]) - ratio).T, level))


def _stationary(generator: FloatArray) -> FloatArray:
    """The row vector π with π·Q = 0 adding up to one."""
    system = generator.T.copy()
    system[-1] = 1.0
    return np.asarray(np.linalg.solve(system, np.eye(len(system))[-1]))


def applies(model: OpenQueue, most_work: float = MOST_WORK) -> bool:
    """First come first served, phase-type times, and few enough phases."""
    one_exponential = model.servers == 1 and model.capacity is None and isinstance(model.service, Exponential)
    if not model.plain or one_exponential or math.isinf(model.arrivals.mean):  # GI/M/1 has one root
        return False
    arrivals, service = model.arrivals.phases(), model.service.phases()
    return arrivals is not None and service is not None and _small(arrivals[0].size, service[0].size, model, most_work)


def _small(arrival_phases: int, service_phases: int, model: OpenQueue, most_work: float) -> bool:
    c = model.servers
    sizes = [arrival_phases * math.comb(n + service_phases - 1, service_phases - 1) for n in (c, max(c // 2, 1))]
    levels = 60 if model.capacity is None else model.capacity - c
    return sizes[0] <= LARGEST_LEVEL and levels * sizes[0] ** 3 + c * sizes[1] ** 3 <= most_work


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1 and places are not limited."""
    model.require_stable()
    (alpha, T), service = require_phases(model.arrivals), require_phases(model.service)
    arrivals = T, np.outer(np.maximum(-T.sum(axis=1), 0.0), alpha)
    c, S = model.servers, model.service.mean
    servers = servers_of(service, c)
    solution = solve_chain(arrivals, servers, model.capacity)
    phases = arrivals[0].shape[0]
    rates = arrivals[1].sum(axis=1) / model.arrival_rate

    def found(level: FloatArray) -> FloatArray:
        """The occupancies that arrivals find there; adds up to the share of arrivals that find this level."""
        return np.asarray(rates @ level.reshape(phases, -1))

    if solution.ratio is None:
        lost = float(found(solution.levels[-1]).sum())
        Lq = math.fsum((n + 1) * float(level.sum()) for n, level in enumerate(solution.levels[c + 1 :]))
        p_wait = math.fsum(float(found(level).sum()) for level in solution.levels[c:-1]) / (1 - lost)  # of those let in
    else:
        R = solution.ratio
        beyond = _beyond(solution.levels[c], R)
        lost = 0.0
        Lq = float((_beyond(beyond, R) @ R).sum())
        p_wait = float(found(beyond).sum())
    X = model.arrival_rate * (1 - lost)
    variability = model.arrivals.scv + model.service.scv
    error = 0.0 if model.capacity is not None else 1e-16 * variability / (1 - model.rho) ** 2
    rough = f"rho = {model.rho:.9g} is so near 1 that values are off by about {error:.0e}"
    return Metrics.from_times(
        model,
        throughput=X,
        service=S,
        servers=c,
        Wq=Lq / X,
        p_wait=p_wait,
        p_block=lost,
        method=METHOD,
        warnings=(rough,) if error > ROUGH else (),
        states=solution,
        times=_times(arrivals, servers, service, solution, model),
    )


def _times(
    arrivals: tuple[FloatArray, FloatArray], servers: Servers, service: Phases, solution: Solution, model: OpenQueue
) -> MarkovTimes:
    c = len(servers.move) - 1
    pace = c * float(np.abs(np.diag(service[1])).max())
    states = servers.move[c].shape[0]
    stay = np.eye(states) + servers.move[c] / pace
    leave = servers.finish[c] @ servers.begin[c - 1] / pace
    rates = arrivals[1].sum(axis=1) / model.arrival_rate
    if solution.ratio is not None:
        R, whole = solution.ratio, _beyond(solution.levels[c], solution.ratio)
        # Row i of the queue: level c + k started from state i of level c, summed up with R per departure.
        entry = np.kron(rates[:, np.newaxis], np.eye(states))
        return MarkovTimes(
            entry, lambda rows: rows @ stay + (R @ rows) @ leave, pace, service, lambda rows: (whole @ rows).sum()
        )
    accepted = 1 - float((rates @ solution.levels[-1].reshape(rates.size, -1)).sum())
    found = [rates @ level.reshape(rates.size, -1) / accepted for level in solution.levels[c:-1]]
    queue = np.array(found).reshape(len(found), states)

    def step(rows: FloatArray) -> FloatArray:
        """One row fewer to wait for with each departure."""
        moved = rows @ stay
        moved[:-1] += rows[1:] @ leave
        return moved

    return MarkovTimes(queue, step, pace, service)


FORMULA = Formula(open_queue, applies, solve)
