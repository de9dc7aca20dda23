"""The stations behind a fitted curve, as a queue, where the points determine them."""

from __future__ import annotations

import numpy as np

from calibrate.depth_one import SHORTEST, LoneRequests
from calibrate.fitting.calibration import Calibration
from calibrate.fitting.predicted_curve import predict
from calibrate.models.servers_and_delay import servers_and_think
from calibrate.models.stations import ServersAndDelay
from calibrate.points import Points
from measure.errors import DataError
from qsim import Delay, Deterministic, Distribution, Exponential, Gamma, Network, Station
from qsim.distributions.as_dict import law_from_dict

SHEET_NOISE = 0.1
"""The relative error of points that a data sheet's curve stands for."""

SHORT = 1e-3
"""A delay below this share of the service is left out."""

CONSTANT = 1e-3
"""Service of a smaller squared coefficient of variation is constant."""


def structure_queue(fit: Calibration, n: int) -> Network:
    """``n`` requests on the delay and the servers behind the curve; DataError where the points do not tell them."""
    points = points_again(fit)
    known = servers_and_think(points, fit.level)
    if not all(e.identified and e.estimate is not None for e in known.values()):
        why = next(e.note for e in known.values() if e.note)
        raise DataError(f"{fit.series or 'the fit'} does not determine its stations: {why}")
    servers, service, delay = (float(known[name].estimate or 0.0) for name in ("c", "S", "Z"))
    table = ServersAndDelay(round(servers)).weights(points)
    own = float(table.weight @ table.values[:, 3]) > 0.5
    scv = float(table.weight @ table.values[:, 4])
    law: Distribution = Gamma(service, scv) if scv > CONSTANT else Deterministic(service)
    if points.alone is None:
        law = Exponential(service)
    device = Station(law, servers=round(servers), queues="random" if own and servers > 1 else "shared")
    return Network({**({"delay": Delay(delay)} if delay > SHORT * service else {}), "device": device}, n)


def points_again(fit: Calibration) -> Points:
    """The points of a fit: those that its file kept, or some on the curve of a data sheet.

    Raises DataError for a fit of no closed sweep.
    """
    if not fit.load_type.is_closed:
        raise DataError(
            f"{fit.series or 'the fit'} varies the {fit.load_type.name}, and stations are told apart by a sweep over "
            "depths, clients or threads"
        )
    if fit.points is not None:
        return fit.points
    noise = np.array(fit.used_noise)
    load, rate = np.array(fit.used), np.array(fit.used_throughput_per_s)
    if not fit.used:
        knee = float(fit.curve_model.knee(fit.table.most_probable[None, :]).load[0])
        load = np.unique([1.0, max(round(knee), 2.0), max(round(8 * knee), 16.0)])
        rate, noise = predict(fit, load).throughput_per_s, np.full(len(load), SHEET_NOISE)
    law = None if fit.law is None else law_from_dict(fit.law)
    return Points(
        series=fit.series,
        load_kind=fit.load_kind,
        load_unit=fit.load_unit,
        load=load,
        throughput_per_s=rate,
        response_time_s=load / rate,
        repeats=np.ones(len(load)),
        throughput_spread=noise,
        response_spread=noise,
        source=fit.source,
        alone=None if law is None else LoneRequests(law.scv, law.quantile(SHORTEST)),
    )
