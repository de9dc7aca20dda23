"""PH/PH/c: phase-type times between arrivals and of service, solved exactly as a Markov chain.

The state is the number present n, the phase of the next arrival, and how many of the busy servers are in each
phase of service: servers are counted, not labelled, so c servers with m phases have C(c+m-1, m-1) states.  n
changes by one at a time, a quasi-birth-death process.  With more customers than servers every level looks alike,
and the state probabilities are matrix-geometric,

    π(n+1) = π(n)·R,   n >= c,   R the smallest solution of  R²·A(down) + R·A(local) + A(up) = 0,

found by logarithmic reduction, which doubles the number of levels covered in each step.  Below c,
R(n) = A(up)·(-A(local) - R(n+1)·A(down))⁻¹ differs from level to level.  Arrivals find level n with the share that the
arrival rates of its phases give it.

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
from qsim.analytic.times import MarkovTimes
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.distributions import Exponential
from qsim.distributions.base import Phases, require_phases
from qsim.metrics import Metrics

METHOD = "matrix-geometric solution (Neuts 1981), phases counted (Ramaswami & Lucantoni 1985)"

ROUGH, ROUNDING = 1e-7, 1e-16
"""Relative error from which the method warns: rounding errors are about 1e-16·(ca² + cs²)/(1 - ρ)²."""

STEPS, LESS, MOST_WORK = 60, 1 / 8, 4e9
"""The most steps of the reduction; the cost of a level below c, as a share of a step's; and the most multiplications
(levels times the cube of their states): a few seconds."""
NEGLIGIBLE = 1e-15
RAREST, LONG = 1e-10, 10.0
"""The least probability that a time begins in a phase of more than so many mean times: where it is 5e-11, waits of
M/PH/1 are off by 5e-6."""


@dataclass(frozen=True)
class Servers:
    """Transitions of the busy servers, by the number busy n = 0, ..., c: lists of matrices over occupancies of phases.

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
        finishes = np.zeros((len(level), len(levels[n - 1])))
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
    """R of the repeating levels, by logarithmic reduction (Latouche & Ramaswami 1993, section 4)."""
    identity = np.eye(local.shape[0])
    both = np.linalg.solve(-local, np.hstack([up, down]))
    rise, fall = both[:, : up.shape[1]], both[:, up.shape[1] :]
    first_passage, ahead = fall.copy(), rise.copy()
    for _ in range(STEPS):
        middle = identity - rise @ fall - fall @ rise
        both = np.linalg.solve(middle, np.hstack([rise @ rise, fall @ fall]))
        rise, fall = both[:, : up.shape[1]], both[:, up.shape[1] :]
        step = ahead @ fall
        first_passage += step
        ahead = ahead @ rise
        if step.max() < NEGLIGIBLE:
            break
    return np.asarray(np.linalg.solve((-local - up @ first_passage).T, up.T).T)


@dataclass(frozen=True)
class Solution:
    """``levels``: π(0), π(1), ..., π(c); ``ratio``: R above."""

    levels: Sequence[FloatArray]
    ratio: FloatArray

    def p(self, n: int) -> float:
        """Probability of n present."""
        last = len(self.levels) - 1
        if n <= last:
            return float(self.levels[n].sum())
        return float((self.levels[last] @ np.linalg.matrix_power(self.ratio, n - last)).sum())

    def beyond(self) -> FloatArray:
        """π(c) + π(c+1) + ... = π(c)·(I - R)⁻¹."""
        return np.asarray(np.linalg.solve((np.eye(self.ratio.shape[0]) - self.ratio).T, self.levels[-1]))


def solve_chain(arrivals: tuple[FloatArray, FloatArray], servers: Servers) -> Solution:
    """State probabilities; ``arrivals``: the rates (D0, D1) between arrival phases without and with an arrival."""
    D0, D1 = arrivals
    c = len(servers.move) - 1
    still: FloatArray = np.eye(D0.shape[0])
    up = [_kron(D1, b) for b in servers.begin[:c]]
    local = [_kron(D0, np.eye(move.shape[0])) + _kron(still, move) for move in servers.move]
    down = [_kron(still, f) for f in servers.finish[1:]]
    down_full = _kron(still, servers.finish[c] @ servers.begin[c - 1])
    ratio = rate_matrix(_kron(D1, np.eye(servers.move[c].shape[0])), local[c], down_full)
    above = ratio @ down_full
    ratios: list[FloatArray] = []
    for n in range(c - 1, -1, -1):
        ratios.append(np.asarray(np.linalg.solve(-(local[n + 1] + above).T, up[n].T).T))
        above = ratios[-1] @ down[n]
    levels = [_stationary(local[0] + above)]
    for R in reversed(ratios):
        levels.append(levels[-1] @ R)
    total = math.fsum(float(level.sum()) for level in levels[:-1]) + float(Solution(levels, ratio).beyond().sum())
    return Solution(tuple(level / total for level in levels), ratio)


def _kron(outer: FloatArray, inner: FloatArray) -> FloatArray:
    """Kronecker product: arrival phases outside, occupancies of the servers inside."""
    return np.asarray(np.kron(outer, inner), dtype=np.float64)


def _stationary(generator: FloatArray) -> FloatArray:
    """The row vector π with π·Q = 0 adding up to one."""
    system = generator.T.copy()
    system[-1] = 1.0
    return np.asarray(np.linalg.solve(system, np.eye(len(system))[-1]))


def _begins_rarely(phases: tuple[FloatArray, FloatArray], mean: float) -> bool:
    """Whether a time begins in a long phase, but too rarely."""
    begins, rates = phases
    return bool(((begins > 0) & (begins < RAREST) & (-LONG * mean * rates.diagonal() < 1)).any())


def applies(model: OpenQueue, most_work: float = MOST_WORK) -> bool:
    """First come first served, phase-type times, no limit on places, few enough phases, and none too rare."""
    one_exponential = model.servers == 1 and isinstance(model.service, Exponential)  # GI/M/1 has one root
    if not model.plain or one_exponential or model.capacity is not None or math.isinf(model.arrivals.mean):
        return False
    arrivals, service = model.arrivals.phases(), model.service.phases()
    if arrivals is None or service is None:
        return False
    if _begins_rarely(arrivals, model.arrivals.mean) or _begins_rarely(service, model.service.mean):
        return False
    c, phases = model.servers, service[0].size
    states = arrivals[0].size * math.comb(c + phases - 1, c)
    return states <= math.cbrt(most_work / (STEPS + LESS * c))


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    (alpha, T), service = require_phases(model.arrivals), require_phases(model.service)
    arrivals = T, np.outer(np.maximum(-T.sum(axis=1), 0.0), alpha)
    servers = servers_of(service, model.servers)
    solution = solve_chain(arrivals, servers)
    R, whole = solution.ratio, solution.beyond()
    # The occupancies that arrivals find add up to the share of them that wait.
    rates = arrivals[1].sum(axis=1) / model.arrival_rate
    p_wait = min(1.0, float((rates @ whole.reshape(alpha.size, -1)).sum()))
    Lq = float((np.linalg.solve((np.eye(R.shape[0]) - R).T, whole) @ R).sum())
    error = ROUNDING * (model.arrivals.scv + model.service.scv) / (1 - model.rho) ** 2
    rough = f"rho = {model.rho:.9g} is so near 1 that values are off by about {error:.0e}"
    return model.metrics(
        Lq / model.arrival_rate,
        p_wait=p_wait,
        method=METHOD,
        warnings=(rough,) if error > ROUGH else (),
        states=solution,
        times=_times(rates, servers, service, R, whole),
    )


def _times(rates: FloatArray, servers: Servers, service: Phases, R: FloatArray, whole: FloatArray) -> MarkovTimes:
    """Row i of the queue: level c + k started from state i of level c, summed up with R per departure."""
    c = len(servers.move) - 1
    pace = c * float(np.abs(np.diag(service[1])).max())
    states = servers.move[c].shape[0]
    stay = np.eye(states) + servers.move[c] / pace
    leave = servers.finish[c] @ servers.begin[c - 1] / pace
    entry = _kron(rates[:, np.newaxis], np.eye(states))
    return MarkovTimes(
        entry, lambda rows: rows @ stay + (R @ rows) @ leave, pace, service, lambda rows: (whole @ rows).sum()
    )


FORMULA = Formula(open_queue, applies, solve)
