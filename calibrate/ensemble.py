"""Walkers through a density: the moves of emcee (Foreman-Mackey et al. 2013), half of all walkers in one go.

emcee computes all proposals at once, but weighs them one after another in Python, which takes four fifths of the time
where the density is cheap. Three moves take turns at random: the stretch of Goodman and Weare (2010), the difference of
two other walkers (ter Braak 2006), and a draw from a mixture that resembles the density, which carries a walker to
wherever there is too little of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import emcee
import numpy as np

from calibrate.discrepancy import Array
from calibrate.t_mixture import TMixture


@dataclass(frozen=True)
class _Together:
    """A move for ``emcee.EnsembleSampler``: the proposals of ``kind``, accepted for half of the walkers in one go."""

    kind: Any

    def propose(self, model: Any, state: Any) -> tuple[Any, Array]:
        """The state after both halves of the walkers were moved, and who was."""
        self.kind.setup(state.coords)
        accepted = np.zeros(len(state.coords), dtype=bool)
        half = model.random.permutation(len(state.coords)) < len(state.coords) // 2
        for moving in (half, ~half):
            proposed, factors = self.kind.get_proposal(state.coords[moving], [state.coords[~moving]], model.random)
            log_prob = model.log_prob_fn(proposed)
            chance = factors + log_prob - state.log_prob[moving]
            accepted[moving] = np.log(model.random.rand(len(chance))) < chance
            state = self.kind.update(state, emcee.State(proposed, log_prob=log_prob), accepted, moving)
        return state, accepted


class _Independent(emcee.moves.RedBlueMove):  # type: ignore[misc]
    """Proposals from a mixture, wherever the walkers are."""

    def __init__(self, mixture: TMixture) -> None:
        super().__init__()
        self.mixture = mixture

    def get_proposal(self, moving: Array, _others: list[Array], random: Any) -> tuple[Array, Array]:
        proposed = self.mixture.draw(np.random.default_rng(random.randint(2**31)), len(moving))
        return proposed, self.mixture.log_density(moving) - self.mixture.log_density(proposed)


class Walkers:
    """Walkers that begin at ``start`` (w, d); with a ``mixture``, a third of their moves are draws from it."""

    def __init__(
        self, log_density: Callable[[Array], Array], start: Array, seed: int, mixture: TMixture | None = None
    ) -> None:
        kinds = [emcee.moves.StretchMove(), emcee.moves.DEMove(), *([_Independent(mixture)] if mixture else [])]
        moves = [(_Together(kind), 1 / len(kinds)) for kind in kinds]
        self._sampler = emcee.EnsembleSampler(*start.shape, log_density, moves=moves, vectorize=True)
        self._sampler.log_prob_fn = log_density  # without emcee's wrapper, which prints an interruption to stdout
        legacy_state = np.random.RandomState(seed).get_state()  # the form in which emcee takes its seed
        self._state: Any = emcee.State(start, random_state=legacy_state)

    def walk(self, steps: int, kept: int) -> Array:
        """The last ``kept`` of so many further steps: (kept, w, d)."""
        self._state = self._sampler.run_mcmc(self._state, steps, skip_initial_state_check=True)
        return np.asarray(self._sampler.get_chain()[-kept:])
