"""Many models at once: a list of them, or a grid of parameters, over processes or a cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qsim import _check
from qsim.analytic import solve
from qsim.engines.repeated.parallel import check_workers, spread
from qsim.engines.repeated.replications import Replication, checked_run, pooled, require_long, run_seeds
from qsim.engines.run import Engine
from qsim.errors import InvalidParameterError
from qsim.metrics import Metrics
from qsim.models import Model

if TYPE_CHECKING:
    import pandas as pd


def sweep_models(
    models: Iterable[Model],
    *,
    replications: int = 1,
    customers: float = 1_000_000,
    seed: int | None = None,
    common_numbers: bool = False,
    engine: Engine = "compiled",
    warmup: Literal["mser5"] | float = "mser5",
    confidence: float = 0.95,
    states: bool = False,
    allow_short: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> list[Metrics]:
    """Simulate each of ``models``; the answers come in their order.

    With ``replications`` above one, each model is simulated that often and the answers are those of
    ``replicate``.  Models get independent seeds drawn from ``seed``, or, with ``common_numbers``, all the same:
    then their curve is smoother than its intervals say.  ``workers`` processes share the work (-1: one per
    core), or the Dask cluster at the address ``cluster``; the numbers do not depend on it, and each answer's
    ``.seed`` makes the same run again.  The other arguments are those of ``simulate``, as are the errors: all models
    are checked before the first is run.

    >>> from qsim import MM1
    >>> answers = sweep_models([MM1(0.2, 1), MM1(0.8, 1)], customers=10_000, seed=1)
    >>> answers[0].W < answers[1].W
    True
    """
    given = _check.sequence("models", models)
    count = _check.count("replications", replications)
    check_workers(workers, cluster)
    if not given:
        raise InvalidParameterError("models", "must not be empty", "give at least one")
    entropy = checked_run(given[0], customers, seed, engine, warmup, confidence, states).seed
    seeds = [entropy] * len(given) if common_numbers else run_seeds(entropy, len(given))
    firsts = [
        checked_run(m, customers, s, engine, warmup, confidence, states) for m, s in zip(given, seeds, strict=True)
    ]
    work = [run for first in firsts for run in (first.replications(count) if count > 1 else [first])]
    runs = spread(Replication.metrics, work, workers=workers, cluster=cluster, progress=progress)
    if count == 1:
        answers = runs
    else:
        answers = [
            replace(pooled(runs[i * count : (i + 1) * count], first.confidence), seed=first.seed)
            for i, first in enumerate(firsts)
        ]
    return answers if allow_short else [require_long(metrics) for metrics in answers]


@dataclass(frozen=True)
class ModelGrid:
    """Models of a grid of parameters, and what came of each: ``metrics[i]`` belongs to ``points[i]``.

    >>> from qsim import MM1, grid
    >>> answers = grid(MM1, {"arrival_rate": [0.2, 0.5], "service_rate": 1}, customers=10_000, seed=1)
    >>> answers.to_frame()[["arrival_rate", "utilization"]].round(1).values.tolist()
    [[0.2, 0.2], [0.5, 0.5]]
    """

    points: tuple[Mapping[str, Any], ...]
    metrics: tuple[Metrics, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per point: its parameters, then each value with the ends of its interval (``W``, ``W_low``, ...)."""
        import pandas as pd

        return pd.DataFrame([{**point, **_row(m)} for point, m in zip(self.points, self.metrics, strict=True)])


def grid(
    build: Callable[..., Model],
    parameters: Mapping[str, Any],
    *,
    by: Literal["simulate", "solve"] = "simulate",
    **options: Any,
) -> ModelGrid:
    """Simulate, or with ``by="solve"`` solve, ``build(**point)`` for every combination of ``parameters``.

    A parameter given as a list, a range or an array varies, the last fastest; any other value stays fixed.  ``options``
    are those of :func:`sweep_models`; solving takes none::

        grid(MMc, {"arrival_rate": [1.8, 2.4, 2.7], "service_rate": 1.0, "servers": [3, 4]}, seed=1, workers=2)

    Raises ValueError for a parameter without values, and what ``build`` and ``sweep_models`` raise, before any run.

    >>> from qsim import MM1
    >>> answers = grid(MM1, {"arrival_rate": [0.2, 0.5], "service_rate": 1}, customers=10_000, seed=1)
    >>> [point["arrival_rate"] for point in answers.points]
    [0.2, 0.5]
    >>> [m.W for m in grid(MM1, {"arrival_rate": [0.2, 0.5], "service_rate": 1}, by="solve").metrics]
    [1.25, 2.0]
    """
    varying = {name: _values(name, value) for name, value in parameters.items()}
    points = tuple(dict(zip(varying, chosen, strict=True)) for chosen in itertools.product(*varying.values()))
    models = [build(**point) for point in points]
    _check.one_of("by", by, ("simulate", "solve"))
    if by == "simulate":
        return ModelGrid(points, tuple(sweep_models(models, **options)))
    if options:
        name = next(iter(options))
        raise InvalidParameterError(name, "is an option of by='simulate' only", "leave it out", options[name])
    return ModelGrid(points, tuple(solve(model) for model in models))


def _values(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | range | np.ndarray):
        return (value,)
    values = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if not values:
        raise ValueError(f"parameters[{name!r}] must not be empty: give at least one value")
    return values


def _row(metrics: Metrics) -> dict[str, Any]:
    row = {name: value for name, value in metrics.values().items() if name != "name"}
    return {**row, "customers": metrics.customers, "seed": metrics.seed, "warnings": "; ".join(metrics.warnings)}
