"""What to measure next of a curve: one answer for every command, whatever it calibrates on."""

from __future__ import annotations

from calibrate.fitting.curve_fit import LEVEL, Fit, fit_points, needed
from calibrate.models.names import model_for
from calibrate.next.load import NextLoad, next_load
from calibrate.points import Points


def advice(points: Points, made: Fit | None = None) -> NextLoad | None:
    """The load to measure next, by all of ``points``: never one of them. None where nothing would tell enough.

    ``made`` is a fit that is at hand: it is taken where it is the usual one, of all the points.

    >>> from calibrate.points import points_of
    >>> from measure import load_dataset
    >>> advice(points_of(load_dataset("003-ssd-read"), "32 KiB read")).where
    'depth 1'
    """
    usable = points if points.not_poisson is None else points.at(~points.not_poisson)
    if len(usable) < needed(points):
        return None
    model = model_for(usable, None)
    usual = (model.name, len(usable), LEVEL, usable.known_peak_per_s)
    if made is None or usual != (made.model, len(made.used), made.level, made.known_peak_per_s):
        made = fit_points(usable, model)
    return next_load(made, measured=points.load.tolist())
