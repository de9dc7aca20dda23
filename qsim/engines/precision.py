"""Run until the interval is narrow enough.

An interval shrinks with the square root of the run, so the first run tells about how long the last must be.  It is
never less than doubled: a half-width that comes from 20 batches is itself uncertain by a sixth, and looking
after every customer would stop at the luckiest moment.  Each run starts afresh with the same seed, so that
the outcome is that of a plain run of the final length.
Source: Law (2015), Simulation Modeling and Analysis, section 9.5.3, relative precision by repeated doubling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from qsim import _check
from qsim.errors import InvalidParameterError
from qsim.metrics import SYMBOLS, Metrics

MARGIN = 1.2
"""The next run is chosen this much longer than the last one's interval asks for."""

STRETCH = 16
"""A run is at most this many times as long as the one before: short runs misjudge their own spread."""

Progress = Callable[[float], object]


@dataclass(frozen=True)
class PrecisionTarget:
    """Half-width of the interval of each value in ``of``, as a share ``precision`` of it, with ``most`` customers."""

    precision: float
    of: tuple[str, ...]
    most: int

    @classmethod
    def checked(cls, precision: float, of: str | Sequence[str], most: float, customers: int) -> Self:
        """Raises ValueError naming the argument of ``simulate`` that makes no sense."""
        share = _check.fraction("precision", precision)
        names = (of,) if isinstance(of, str) else _check.sequence("precision_of", of)
        known = [name for name in SYMBOLS if name != "p_block"]
        for name in names:
            if name not in known:
                raise InvalidParameterError(
                    "precision_of", f"must be among {', '.join(known)}, not {name!r}", value=name
                )
        if not names:
            raise InvalidParameterError("precision_of", "must not be empty", "name the values that matter, such as 'W'")
        remedy = f"the first run already takes customers={customers}"
        return cls(share, names, _check.count("most_customers", most, customers, remedy))

    def missed_by(self, metrics: Metrics) -> dict[str, float]:
        """Relative half-widths that are still too wide, by name of the value."""
        widths = {name: relative_half_width(metrics, name) for name in self.of}
        return {name: width for name, width in widths.items() if width > self.precision}


def relative_half_width(metrics: Metrics, name: str) -> float:
    """Half the length of the interval of a simulated value, as a share of the value."""
    low, high = metrics.interval(name)
    value = float(getattr(metrics, name))
    reach = max(high - value, value - low)  # an interval may be cut off at zero or one
    return 0.0 if reach == 0 else reach / value if value > 0 else math.inf


def run_to_precision(
    once: Callable[[int, Progress | None], Metrics], target: PrecisionTarget, first: int, progress: Progress | None
) -> Metrics:
    """The first run long enough, or one of ``target.most`` customers whose warnings say what it missed.

    ``once(customers, progress)`` makes one run.
    """
    customers, left = min(first, target.most), 1.0
    while True:
        metrics = once(customers, _second_half(progress, left))
        missed = target.missed_by(metrics)
        if not missed and not metrics.warnings:
            return metrics
        if customers == target.most:
            said = [f"the interval of {name} is ± {100 * width:.2g} % wide" for name, width in missed.items()]
            return replace(metrics, warnings=(*metrics.warnings, *said))
        factor = min(STRETCH, max([2.0, *(MARGIN * (width / target.precision) ** 2 for width in missed.values())]))
        customers = min(target.most, math.ceil(customers * factor))
        left /= 2


def _second_half(progress: Progress | None, left: float) -> Progress | None:
    """Progress of a run that may not be the last: it takes half of what is left."""
    if progress is None:
        return None
    return lambda share: progress(1 - left + left / 2 * min(share, 1.0))
