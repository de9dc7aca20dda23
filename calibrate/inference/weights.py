"""A posterior as a table of weights: each row a possible device, and how probable it is.

What enters a model linearly has been integrated out: around its ``values`` a row is a normal distribution in the
logarithms, along its ``directions``. A positive quantity of the parameters is taken as log-normal there, its slope
measured one standard deviation to either side, and over the rows it is a mixture.

>>> table = Weights(np.array([[1.0], [4.0]]), np.zeros(2), np.array([0.5, 0.5]), np.zeros((2, 1, 0)))
>>> table.quantiles(lambda values: values[:, 0], (0.1, 0.9)).round(6).tolist()
[1.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrate.inference.misfit import MisfitProcess, carried
from calibrate.inference.mixture import quantiles
from calibrate.inference.parameters import Array, Mask

Quantity = Callable[[Array], Array]
"""Of parameters (n, d) in natural units: a positive quantity of each, (n,) or (n, m)."""

NEGLIGIBLE = 1e-7
"""Rows of less than this share of the heaviest one's weight are dropped."""

LEAST = 1e-300


@dataclass(frozen=True)
class Weights:
    """n rows: ``values`` (n, d) in natural units, ``misfit`` sizes (n,), ``weight`` (n,), ``directions`` (n, d, r).

    A row's parameters are values * exp(directions z) with z (r,) standard normal.
    """

    values: Array
    misfit: Array
    weight: Array
    directions: Array

    @classmethod
    def of(cls, values: Array, misfit: Array, log_weight: Array, directions: Array) -> Weights:
        """From logarithms of weights (n,) up to a constant; rows that do not count are dropped."""
        relative = np.exp(log_weight - log_weight.max())
        counts = relative > NEGLIGIBLE
        weight = relative[counts] / relative[counts].sum()
        return cls(values[counts], misfit[counts], weight, directions[counts])

    def __len__(self) -> int:
        return len(self.weight)

    def at(self, rows: Mask) -> Weights:
        """The rows of a mask (n,), their weights made to add up to 1."""
        return Weights(
            self.values[rows], self.misfit[rows], self.weight[rows] / self.weight[rows].sum(), self.directions[rows]
        )

    @property
    def most_probable(self) -> Array:
        """The parameters (d,) of the heaviest row."""
        return np.asarray(self.values[int(self.weight.argmax())])

    def moments(self, quantity: Quantity) -> tuple[Array, Array]:
        """Mean and standard deviation (n, m) of the logarithm of ``quantity`` in each row."""
        middle = _log(quantity(self.values))
        square = np.zeros_like(middle)
        for axis in range(self.directions.shape[2]):
            step = np.exp(self.directions[:, :, axis])
            apart = _log(quantity(self.values * step)) - _log(quantity(self.values / step))
            square += (0.5 * apart) ** 2
        return middle, np.sqrt(square)

    def quantiles(self, quantity: Quantity, shares: Sequence[float]) -> Array:
        """Quantiles (k,) of a quantity that is one number a row."""
        mean, deviation = self.moments(quantity)
        return np.asarray(np.exp(quantiles(mean, deviation, self.weight, shares))[:, 0])

    def mean_and_sd(self, quantity: Quantity) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm of a quantity that is one number a row."""
        mean, deviation = (v[:, 0] for v in self.moments(quantity))
        centre = float(self.weight @ mean)
        return centre, float(np.sqrt(self.weight @ ((mean - centre) ** 2 + deviation**2)))

    def typical_misfit(self) -> float:
        """The median misfit size."""
        order = np.argsort(self.misfit)
        return float(self.misfit[order][np.searchsorted(np.cumsum(self.weight[order]), 0.5)])


@dataclass(frozen=True)
class Predictive:
    """Log measurements that are still to be made at m loads: of each row mean (n, m) and standard deviation (n, m).

    ``between`` (m, m) is the covariance of different new measurements over all rows.
    """

    mean: Array
    deviation: Array
    weight: Array
    between: Array

    def quantiles(self, shares: Sequence[float]) -> Array:
        """Quantiles (k, m) of the measurements themselves."""
        return np.exp(quantiles(self.mean, self.deviation, self.weight, shares))


def predictive(
    table: Weights, curve: Callable[[Array, Array], Array], process: MisfitProcess, used: Array, noise: Array,
    observed: Array, loads: Array,
) -> Predictive:  # fmt: skip
    """What ``table`` says of measurements at ``loads`` (m,), given those ``observed`` (k,) at ``used`` (k,).

    ``curve(values (n, d), loads)`` gives the model's measurements (n, m); ``noise`` (k,) are relative standard errors.
    """
    everywhere = np.concatenate([used, loads])
    mean, slopes = _curves(table, lambda values: curve(values, everywhere))
    k, missed = len(used), np.log(observed) - mean[:, : len(used)]
    expected, variance = mean[:, k:].copy(), np.empty((len(table), len(loads)))
    left = np.zeros((len(loads), len(loads)))
    directions = np.zeros((len(table), len(loads), slopes.shape[2]))
    for size in np.unique(table.misfit):
        rows = table.misfit == size
        of_misses = carried(process, used, noise, float(size), loads)
        expected[rows] += missed[rows] @ of_misses.gain.T
        along = slopes[rows][:, k:] - np.einsum("mk,nkr->nmr", of_misses.gain, slopes[rows][:, :k])
        directions[rows] = along
        variance[rows] = np.maximum(of_misses.covariance.diagonal(), 0.0) + (along**2).sum(axis=2)
        left += table.weight[rows].sum() * of_misses.covariance
    apart = expected - table.weight @ expected
    among = np.einsum("n,ni,nj->ij", table.weight, apart, apart)
    together = np.einsum("n,nir,njr->ij", table.weight, directions, directions)
    return Predictive(expected, np.sqrt(variance), table.weight, left + among + together)


def _curves(table: Weights, curve: Quantity) -> tuple[Array, Array]:
    """The log curve (n, m) of each row, and its slopes (n, m, r) along the row's directions."""
    middle = _log(curve(table.values))
    slopes = np.empty((*middle.shape, table.directions.shape[2]))
    for axis in range(slopes.shape[2]):
        step = np.exp(table.directions[:, :, axis])
        slopes[:, :, axis] = 0.5 * (_log(curve(table.values * step)) - _log(curve(table.values / step)))
    return middle, slopes


def _log(values: Array) -> Array:
    """Logarithms (n, m), of one column where ``values`` are (n,)."""
    return np.log(np.maximum(values.reshape(len(values), -1), LEAST))
