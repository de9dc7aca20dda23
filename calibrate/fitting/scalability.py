"""The two figures that people know services by: contention and coherency of Gunther's Universal Scalability Law.

Contention is the share of the work that is done one at a time, coherency what each pair of requests costs the others
(Gunther, Guerrilla Capacity Planning, 2007). They describe all points of a curve, beside its knee.
"""

from __future__ import annotations

from collections.abc import Mapping

from calibrate.fitting.curve_fit import LEVEL, fit_points
from calibrate.inference.estimates import Estimate
from calibrate.models.names import model_named
from calibrate.points import Points

LEAST_POINTS = 3


def scalability(points: Points, level: float = LEVEL) -> Mapping[str, Estimate]:
    """``contention`` and ``coherency`` with intervals; empty where the load is no number of clients, or too few points.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from calibrate.points import points_of
    >>> from measure import Sweep
    >>> n = np.array([1.0, 2, 4, 8, 16, 32, 64])
    >>> x = 100 * n / (1 + 0.05 * (n - 1) + 0.001 * n * (n - 1))
    >>> table = pd.DataFrame({"series": "orders", "load": n, "throughput_per_s": x, "latency_s": n / x})
    >>> found = scalability(points_of(Sweep(table, load_unit="clients")))
    >>> {name: round(figure.estimate, 3) for name, figure in found.items()}
    {'contention': 0.05, 'coherency': 0.001}
    """
    if not points.load_type.is_counted or len(points) < LEAST_POINTS:
        return {}
    figures = fit_points(points, model_named("Universal Scalability Law"), level=level).parameters
    return {name: figures[name] for name in ("contention", "coherency")}
