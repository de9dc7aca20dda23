"""One-mode families with a density: gamma, lognormal, Weibull, Burr XII.

Device service times have several modes; these are for theory, and to see how well one mode fits.  They use
scipy.special, as importing scipy.stats takes longer than most answers.  A family supplies its law and, by ``biased``,
its length-biased law, from which E[min(T, x)] follows.

Source: Johnson, Kotz & Balakrishnan (1994), Continuous Univariate Distributions I; Burr (1942), Ann. Math. Statist. 13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions.base import GammaTimes, LengthBiased
from qsim.errors import InvalidParameterError

SMALLEST_SHAPE = 0.02
NARROW = 30.0
"""From this c (and ck) or shape on the scv of Burr's and Weibull's law is a series: log E[T²] - 2 log E[T] in powers of
1/c, as a difference of what is nearly equal would lose every digit."""
ORDERS: FloatArray = np.arange(2.0, 12.0)
WIDEST_SCV = 1e12  # of a gamma or lognormal time: beyond it the higher moments leave the floats
FAR = 40.0  # beyond (x/scale)^c = e^40 the tail of Burr's law is a power, to rounding


@dataclass(frozen=True)
class _TwoMoments(LengthBiased):
    mean: float
    scv: float

    def __post_init__(self) -> None:
        mean = _check.positive("mean", self.mean)
        _check.keep(self, mean=mean, scv=_check.positive("scv", self.scv, "for scv 0 use Deterministic"))
        if self.scv > WIDEST_SCV:
            raise InvalidParameterError(
                "scv", f"must be at most {WIDEST_SCV:g}, not {self.scv!r}", "no time varies so much", self.scv
            )


class Gamma(GammaTimes, _TwoMoments):
    """Gamma with the given mean and scv; the shape is 1/scv.

    >>> Gamma(mean=2, scv=0.5).variance
    2.0
    """


class LogNormal(_TwoMoments):
    """Lognormal with the given mean and scv (of the time itself, not of its logarithm).

    >>> LogNormal(mean=2, scv=3).variance
    12.0
    """

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.scv))

    @property
    def mu(self) -> float:
        """Mean of the logarithm."""
        return math.log(self.mean) - self.sigma**2 / 2

    def _z(self, x: npt.ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(np.maximum(x, 0.0)) - self.mu) / self.sigma)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_normal(out=out)
        out *= self.sigma
        out += self.mu
        np.exp(out, out=out)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import ndtr

        return np.asarray(ndtr(self._z(x)))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import ndtr

        return np.asarray(ndtr(-self._z(x)))

    def biased(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import ndtr

        return np.asarray(ndtr(self._z(x) - self.sigma))

    def quantile(self, q: float) -> float:
        from scipy.special import ndtri

        return math.exp(self.mu + self.sigma * float(ndtri(_check.fraction("q", q))))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return float(self.mean**k * (1 + self.scv) ** (k * (k - 1) / 2))


def _log_gamma_derivatives(x: float) -> FloatArray:
    """Those of log Γ at x, of the ``ORDERS``."""
    from scipy.special import polygamma

    return np.asarray(polygamma(np.arange(1, ORDERS.size + 1), x), dtype=np.float64)


def _narrow_scv(derivatives: FloatArray, shape: float) -> float:
    """The scv from the derivatives of log E[T^r] by r/shape at 0, from the second on."""
    from scipy.special import gamma

    return math.expm1(float(((2.0**ORDERS - 2) / gamma(ORDERS + 1) * derivatives) @ shape**-ORDERS))


@dataclass(frozen=True)
class Weibull(LengthBiased):
    """Weibull with the given shape and mean; shape below 1 has a heavy tail, 1 is the exponential.

    The shape is at least 0.02: below that the mean comes from times too rare and too long for floats.

    >>> Weibull(shape=1, mean=2).scv, round(Weibull(shape=0.5, mean=2).scv, 6)
    (1.0, 5.0)
    """

    shape: float
    mean: float

    def __post_init__(self) -> None:
        _check.keep(self, shape=_check.positive("shape", self.shape), mean=_check.positive("mean", self.mean))
        if self.shape < SMALLEST_SHAPE:
            raise InvalidParameterError(
                "shape",
                f"must be at least {SMALLEST_SHAPE}, not {self.shape!r}",
                "no time has so long a tail",
                self.shape,
            )

    @property
    def scale(self) -> float:
        """The time t at which P(T <= t) = 1 - 1/e."""
        return self.mean / math.gamma(1 + 1 / self.shape)

    @property
    def scv(self) -> float:
        if self.shape < NARROW:
            return math.gamma(1 + 2 / self.shape) / math.gamma(1 + 1 / self.shape) ** 2 - 1
        return _narrow_scv(_log_gamma_derivatives(1.0), self.shape)

    def _hazard(self, x: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):  # an infinite hazard means P(T > x) = 0
            return np.asarray((np.maximum(x, 0.0) / self.scale) ** self.shape)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_exponential(out=out)
        np.power(out, 1 / self.shape, out=out)
        out *= self.scale

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(-np.expm1(-self._hazard(x)))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.exp(-self._hazard(x)))

    def biased(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import gammainc

        return np.asarray(gammainc(1 + 1 / self.shape, self._hazard(x)))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return math.exp(k * math.log(self.scale) + math.lgamma(1 + k / self.shape))


@dataclass(frozen=True)
class BurrXII(LengthBiased):
    """Burr's twelfth law with shapes ``c`` and ``k`` and the given mean: P(T > t) = (1 + (t/scale)^c)^-k.

    Its tail falls as t^-ck, slower than any exponential: ck must exceed 1, or there is no mean, and with ck of 2 or
    less the scv is infinite.  c = 1 is Lomax, k = 1 the log-logistic.

    >>> burr = BurrXII(c=2, k=2, mean=1)
    >>> burr.mean, round(burr.scv, 2)
    (1.0, 0.62)
    """

    c: float
    k: float
    mean: float

    def __post_init__(self) -> None:
        checked = {name: _check.positive(name, getattr(self, name)) for name in ("c", "k", "mean")}
        _check.keep(self, **checked)
        if self.c * self.k <= 1:
            raise InvalidParameterError(
                "c",
                f"times k must exceed 1, not {self.c * self.k!r}: with a tail so heavy there is no mean",
                value=self.c * self.k,
            )
        if self._raw(1) < 1e-150:
            raise InvalidParameterError(
                "c", f"must not be as small as {self.c!r} with k = {self.k!r}", "times would pass all floats"
            )

    @property
    def scale(self) -> float:
        """The time t at which P(T > t) = 2^-k."""
        return self.mean / self._raw(1)

    @property
    def scv(self) -> float:
        if min(self.c, self.c * self.k) < NARROW:
            return self._raw(2) / self._raw(1) ** 2 - 1
        signs = (-1.0) ** ORDERS
        return _narrow_scv(signs * _log_gamma_derivatives(self.k) + _log_gamma_derivatives(1.0), self.c)

    def _raw(self, r: int) -> float:
        """E[(T/scale)^r] = k·B(k - r/c, 1 + r/c); infinite from r = ck on."""
        if r >= self.c * self.k:
            return math.inf
        from scipy.special import betaln  # differences of lgamma lose every digit where k is large

        return math.exp(math.log(self.k) + float(betaln(self.k - r / self.c, 1 + r / self.c)))

    def _log_power(self, x: npt.ArrayLike) -> FloatArray:
        """Log of (x/scale)^c, as c may be hundreds."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.c * np.log(np.maximum(x, 0.0) / self.scale))

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_exponential(out=out)  # -log of a uniform survival
        out /= self.k
        out += np.log(-np.expm1(-out))  # log(e^h - 1), also for h whose exponential overflows
        out /= self.c
        np.exp(out, out=out)
        out *= self.scale

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(-np.expm1(-self.k * np.logaddexp(0.0, self._log_power(x))))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.exp(-self.k * np.logaddexp(0.0, self._log_power(x))))

    def biased(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import betainc, betaincc, betaln, expit

        a, b, log_power = self.k - 1 / self.c, 1 + 1 / self.c, self._log_power(x)
        with np.errstate(over="ignore"):
            far = -np.expm1(-a * log_power - math.log(a) - betaln(a, b))  # where expit would be 0
        near = np.where(log_power < 0, betainc(b, a, expit(log_power)), betaincc(a, b, expit(-log_power)))
        return np.asarray(np.where(log_power > FAR, far, near))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return self.scale**k * self._raw(k)
