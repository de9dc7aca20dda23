"""The long-run probabilities of a Markov chain, solved state by state: what formulas are held against."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

Moves = Iterable[tuple[float, Hashable]]


def stationary(start: Hashable, moves: Callable[[Hashable], Moves]) -> dict[Hashable, float]:
    """Long-run probabilities of the chain that can be reached from ``start``; ``moves`` gives (rate, next state)."""
    states, todo, flows = {start: 0}, [start], []
    while todo:
        state = todo.pop()
        for rate, other in moves(state):
            if other not in states:
                states[other] = len(states)
                todo.append(other)
            flows.append((states[state], states[other], rate))
    generator = np.zeros((len(states), len(states)))
    for i, j, rate in flows:
        generator[i, j] += rate
        generator[i, i] -= rate
    generator[:, 0] = 1.0
    right = np.zeros(len(states))
    right[0] = 1.0
    return dict(zip(states, np.linalg.solve(generator.T, right), strict=True))
