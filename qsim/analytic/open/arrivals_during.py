"""How many Poisson arrivals come during one service: the numbers that M/G/1 is made of."""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Deterministic, Distribution, Empirical, Mixture, Shifted

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
LOG_STEP = 2e-3
CHUNK = 2_000_000


def left_behind(service: Distribution, arrival_rate: float, most: int) -> FloatArray:
    """q(0), ..., q(``most``) up to a common factor: those whom departures from M/G/1 leave behind.

    Flows between levels balance: with a(n) of :func:`more_than`,
    q(n)·(1 - a(0)) = q(0)·a(n-1) + sum over k = 1..n-1 of q(k)·a(n-k).
    """
    a = more_than(service, arrival_rate, most)
    q = np.ones(most + 1)
    for n in range(1, most + 1):
        q[n] = (q[0] * a[n - 1] + q[1:n] @ a[n - 1 : 0 : -1]) / (1 - a[0])
        if q[n] > 1e200:
            q[: n + 1] /= q[n]
    return q


def more_than(service: Distribution, arrival_rate: float, most: int) -> FloatArray:
    """P(more than n arrivals during a service) for n = 0, 1, ..., ``most``; shape (most + 1,).

    Exact for constant and phase-type times, histograms, and mixtures and shifts of them.  For others it is the
    probability that arrival n + 1, an Erlang time from the start, finds the service still on, integrated over
    log t by the trapezoid rule (relative error below 1e-9 for the smooth laws of qsim.distributions).
    """
    from scipy.special import gammaln, pdtrc

    n = np.arange(most + 1)
    phases = service.phases()
    if phases is not None:
        # Each step: an arrival before the service ends; the phase it finds goes on.
        state, T = phases
        step = np.linalg.solve(arrival_rate * np.eye(state.size) - T, arrival_rate * np.eye(state.size))
        result = np.empty(most + 1)
        for k in n:
            state = np.asarray(state @ step)
            result[k] = state.sum()
        return result
    if isinstance(service, Mixture):
        pairs = zip(service.weights, service.components, strict=True)
        return np.asarray(np.sum([w * more_than(part, arrival_rate, most) for w, part in pairs], axis=0))
    if isinstance(service, Deterministic):
        return np.asarray(pdtrc(n, arrival_rate * service.value))
    if isinstance(service, Shifted):
        constant = more_than(Deterministic(service.shift), arrival_rate, most)
        exactly = -np.diff(constant, prepend=1.0)
        base = more_than(service.base, arrival_rate, most)
        # More than n in all: more than n in the constant part, or j <= n in it and more than n - j in the other.
        return np.asarray(constant + np.convolve(exactly, base)[: most + 1])
    if isinstance(service, Empirical):
        low, width = np.asarray(service.values), np.asarray(service.widths or (0.0,) * len(service.values))
        weight = np.asarray(service.weights or (1.0,) * len(service.values))
        times = (low[:, np.newaxis] + width[:, np.newaxis] * (NODES + 1) / 2).ravel()
        shares = np.outer(weight / weight.sum(), WEIGHTS / 2).ravel()
        parts = np.array_split(np.arange(times.size), 1 + times.size * (most + 1) // CHUNK)
        return np.asarray(sum(pdtrc(n[:, np.newaxis], arrival_rate * times[part]) @ shares[part] for part in parts))
    log_t = np.arange(-40.0, math.log(service.quantile(1 - 1e-15) / service.mean) + 1, LOG_STEP)
    x = arrival_rate * service.mean * np.exp(log_t)
    still_on = LOG_STEP * (1 - service.cdf(service.mean * np.exp(log_t)))
    parts = np.array_split(n, 1 + log_t.size * (most + 1) // CHUNK)
    densities = (np.exp((k[:, np.newaxis] + 1) * np.log(x) - x - gammaln(k + 1)[:, np.newaxis]) for k in parts)
    return np.concatenate([density @ still_on for density in densities])
