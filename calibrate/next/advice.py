"""What to measure next of a curve: one answer for every command, whatever it calibrates on."""

from __future__ import annotations

from calibrate.fitting.curve_fit import fit_points, needed
from calibrate.models.names import model_for
from calibrate.next.load import NextLoad, next_load
from calibrate.points import Points


def advice(points: Points) -> NextLoad | None:
    """The load to measure next, by all of ``points``: never one of them. None where nothing would tell enough.

    >>> from calibrate.points import points_of
    >>> from measure import load_dataset
    >>> advice(points_of(load_dataset("003-ssd-read"), "32 KiB read")).where
    'depth 1'
    """
    usable = points if points.not_poisson is None else points.at(~points.not_poisson)
    if len(usable) < needed(points):
        return None
    return next_load(fit_points(usable, model_for(usable, None)), measured=points.load.tolist())
