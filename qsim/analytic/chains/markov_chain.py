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

from typing import TYPE_CHECKING

import numpy as np

from qsim._types import FloatArray

if TYPE_CHECKING:
    pass


def stationary(generator: FloatArray) -> FloatArray:
    """The row vector π with π·Q = 0 adding up to one.

    >>> stationary(np.array([[-1.0, 1.0], [3.0, -3.0]])).tolist()
    [0.75, 0.25]
    """
    system = generator.T.copy()
    system[-1] = 1.0
    return np.asarray(np.linalg.solve(system, np.eye(len(system))[-1]))
