"""The stations behind a fitted curve, as a queue, where the measurements determine them.

Means determine c servers of mean service S and a delay Z. Of Z the host and the link are stations of their own where
they were measured: the host by fio's processor time of a request and its number of jobs, the link by the bandwidth that
two block sizes both reach. What was not measured stays within Z, and the device says which measurement would tell it.
"""

from __future__ import annotations

import numpy as np

from calibrate.depth_one import SHORTEST, LoneRequests
from calibrate.fitting.calibration import Calibration
from calibrate.fitting.predicted_curve import predict
from calibrate.fitting.station import DeviceStation
from calibrate.models.servers_and_delay import servers_and_think
from calibrate.models.stations import ServersAndDelay
from calibrate.points import Points
from measure.errors import DataError
from measure.units import format_rate
from qsim import Delay, Deterministic, Distribution, Exponential, Gamma, Network, Station
from qsim.distributions.as_dict import law_from_dict

SHEET_NOISE = 0.1
"""The relative error of points that a data sheet's curve stands for."""

LIMIT = 1.1
"""A host or a link that serves less than this times what the device does is the bottleneck."""

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
    way, unknown = (
        _way(points, servers / service, fit.series or "the fit") if not fit.load_type.is_counted else ({}, "")
    )
    rest = delay - sum(station.demand for station in way.values())
    device = DeviceStation(
        law,
        servers=round(servers),
        queues="random" if own and servers > 1 else "shared",
        fit=fit,
        law=f"scv {law.scv:.2g}{unknown}",
    )
    return Network({**({"delay": Delay(rest)} if rest > SHORT * service else {}), **way, "device": device}, n)


def _way(points: Points, peak: float, name: str) -> tuple[dict[str, Station], str]:
    """Host and link as far as they were measured, and what would tell the others; ``peak`` is the device's.

    Raises DataError where one of them is the bottleneck, so that the curve is its own and not the device's.
    """
    found, unknown = dict[str, Station](), list[str]()
    if points.host_cpu_s is not None and points.jobs is not None and np.ptp(points.jobs) == 0:
        found["host"] = Station(Exponential(float(np.median(points.host_cpu_s))), servers=round(float(points.jobs[0])))
    else:
        unknown.append("the host by fio's processor time (qsim measure fio)")
    if points.link_bytes_per_s is not None and points.block_bytes is not None:
        transfer = Deterministic(points.block_bytes / points.link_bytes_per_s)
        found["link"] = Station(transfer, discipline="PS")
    else:
        unknown.append("the link by two large blocks (--block 256KiB,1MiB)")
    remedy = {"host": "measure with more --jobs", "link": "measure a smaller block"}
    for what, station in found.items():
        if (most := station.peak / station.demand) < LIMIT * peak:
            raise DataError(
                f"{name} does not determine its stations: the {what} serves {format_rate(most)} at most, so that "
                f"this curve says nothing of the servers behind it; {remedy[what]}"
            )
    return found, f"; what it leaves in the delay would be measured: {' and '.join(unknown)}" if unknown else ""


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
