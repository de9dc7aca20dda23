"""Markov chains in continuous time, for a class: states, rates, the picture, the long run and a time.

In the long run the flow out of each state balances that into it, p(i)·(sum of rates out) = sum over j of
p(j)·rate(j, i), and all p add up to one.  At a time t, p(t) = p(0)·e^(Qt), by uniformisation.

Source: Norris (1997), Markov Chains, chapters 2 and 3; Stewart (1994), Introduction to the Numerical Solution of Markov
Chains, chapter 8.

>>> chain = MarkovChain({("up", "down"): 0.1, ("down", "up"): 0.9})
>>> {state: round(share, 6) for state, share in chain.stationary().items()}
{'up': 0.9, 'down': 0.1}
>>> {state: round(share, 6) for state, share in chain.at(1.0, start="up").items()}
{'up': 0.936788, 'down': 0.063212}
>>> for equation in chain.balance():
...     print(equation)
0.1 p(up) = 0.9 p(down)
0.9 p(down) = 0.1 p(up)
p(up) + p(down) = 1
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.analytic.chains.uniformisation import advanced
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def stationary(generator: FloatArray) -> FloatArray:
    """The row vector π with π·Q = 0 adding up to one.

    >>> stationary(np.array([[-1.0, 1.0], [3.0, -3.0]])).tolist()
    [0.75, 0.25]
    """
    system = generator.T.copy()
    system[-1] = 1.0
    return np.asarray(np.linalg.solve(system, np.eye(len(system))[-1]))


@dataclass(frozen=True)
class MarkovChain:
    """``rates[(i, j)]`` is the rate of going from state i to state j; states are any names or numbers.

    Raises ValueError for a rate that is negative, infinite or from a state to itself.

    >>> MarkovChain({(0, 1): 2.0, (1, 0): 3.0, (1, 2): 2.0, (2, 1): 3.0}).states
    (0, 1, 2)
    """

    rates: Mapping[tuple[Hashable, Hashable], float]

    def __post_init__(self) -> None:
        if not isinstance(self.rates, Mapping) or not self.rates:
            raise InvalidParameterError(
                "rates",
                f"must be a table of rates, not {self.rates!r}",
                "write {('up', 'down'): 0.1, ('down', 'up'): 0.9}",
                self.rates,
            )
        checked = {}
        for pair, rate in self.rates.items():
            if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
                raise InvalidParameterError("rates", f"must be of pairs of two states, not of {pair!r}", value=pair)
            checked[pair] = _check.non_negative(f"rates[{pair!r}]", rate, "a rate is zero or positive")
        object.__setattr__(self, "rates", checked)

    @cached_property
    def states(self) -> tuple[Hashable, ...]:
        """All states, in the order in which they are first named."""
        return tuple(dict.fromkeys(state for pair in self.rates for state in pair))

    @cached_property
    def _sparse(self) -> csr_array:
        from scipy.sparse import csr_array

        number = {state: i for i, state in enumerate(self.states)}
        i, j = (np.array([number[pair[k]] for pair in self.rates]) for k in (0, 1))
        rate, size = np.array(list(self.rates.values())), len(self.states)
        everywhere = np.arange(size)
        leaving = np.bincount(i, rate, size)
        places = (np.append(i, everywhere), np.append(j, everywhere))
        return csr_array((np.append(rate, -leaving), places), shape=(size, size))

    @property
    def generator(self) -> FloatArray:
        """Q, shape (states, states): rates beside the diagonal, minus the rate of leaving on it."""
        return np.asarray(self._sparse.toarray())

    def stationary(self) -> dict[Hashable, float]:
        """The long-run share of time in each state; ValueError where it depends on where the chain starts."""
        from scipy.sparse.csgraph import connected_components

        moves = self._sparse.copy()
        moves.setdiag(0.0)
        count, group = connected_components(moves, connection="strong")
        i, j = moves.nonzero()
        closed = sorted(set(range(count)) - {int(group[a]) for a, b in zip(i, j, strict=True) if group[a] != group[b]})
        if len(closed) > 1:
            firsts = {int(g): state for state, g in reversed(list(zip(self.states, group, strict=True)))}
            ends = sorted((firsts[c] for c in closed), key=self.states.index)
            raise InvalidParameterError(
                "rates",
                f"must lead to one end, not to both {ends[0]!r} and {ends[1]!r}",
                "the long run depends on the start; at(t, start) does not",
            )
        shares = np.zeros(len(self.states))
        inside = np.flatnonzero(group == closed[0])
        shares[inside] = stationary(self.generator[np.ix_(inside, inside)])
        return dict(zip(self.states, shares.tolist(), strict=True))

    def at(self, t: float, start: Hashable) -> dict[Hashable, float]:
        """The probability of each state at time ``t`` when the chain is in ``start`` at zero."""
        if start not in self.states:
            raise InvalidParameterError(
                "start", f"must be a state, not {start!r}", f"such as {self.states[0]!r}", start
            )
        begin = np.array([float(state == start) for state in self.states])
        shares = advanced(begin, self._sparse, _check.non_negative("t", t))
        return dict(zip(self.states, shares.tolist(), strict=True))

    def balance(self) -> list[str]:
        """The balance equations, one for each state, and that all shares add up to one."""
        lines = []
        for state in self.states:
            out = sum(rate for (i, _), rate in self.rates.items() if i == state)
            into = [f"{rate:.6g} p({i})" for (i, j), rate in self.rates.items() if j == state and rate > 0]
            lines.append(f"{out:.6g} p({state}) = {' + '.join(into) or '0'}")
        return [*lines, f"{' + '.join(f'p({state})' for state in self.states)} = 1"]

    def picture(self) -> str:
        """The states and rates as an SVG; ``Path("chain.svg").write_text(chain.picture())`` stores it.

        States stand in a row where each leads only to its neighbours, else in a circle.

        >>> MarkovChain({(0, 1): 2.0, (1, 0): 3.0}).picture().startswith("<svg")
        True
        """
        from qsim.analytic.chains.picture import svg_of

        return svg_of(self.states, self.rates)

    def _repr_html_(self) -> str:
        return self.picture()
