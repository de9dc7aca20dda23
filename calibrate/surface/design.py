"""Which points to calibrate a surface on: its corners, and where the fit to them is least sure of the rest.

The corners are the ends of what varies, at most two block sizes x two shares of reads x two depths. The point asked for
next is the one whose measurement is expected to take most from the variance of the log throughputs at all places
(:mod:`calibrate.probe_depths`).
"""

from __future__ import annotations

import numpy as np

from calibrate.inference.parameters import Mask
from calibrate.past_the_peak import DECLINE_FROM
from calibrate.surface.fit import Surface
from calibrate.surface.places import Places


def corners(places: Places) -> Mask:
    """True (m,) for the corners; where one was not measured, the ends of each column at one place at least.

    They are taken with the number of jobs that most places have.
    """
    usual_jobs = np.isclose(places.jobs, _most_frequent(places))
    usual = places.at(usual_jobs)
    ends = {
        "block_bytes": usual.values("block_bytes")[[0, -1]],
        "read_fraction": usual.values("read_fraction")[[0, -1]],
        "outstanding": np.array(_depths(usual)),
    }
    at_end = {name: places.matching({name: values.tolist()}) for name, values in ends.items()}
    found = np.logical_and.reduce(list(at_end.values())) & usual_jobs
    for name, values in ends.items():
        for value in np.unique(values):
            here = places.matching({name: [float(value)]}) & usual_jobs
            if not (here & found).any() and here.any():
                others = np.sum([m for n, m in at_end.items() if n != name], axis=0)
                found[int(np.argmax(np.where(here, others, -1)))] = True
    return np.asarray(found)


def asked(surface: Surface, places: Places, used: Mask) -> int | None:
    """The index of the place to measure next; None where all of those that could be are used.

    Depths where throughput may decline are not asked for: they say little of the others.
    """
    fresh = ~used & (places.outstanding < DECLINE_FROM)
    if not fresh.any():
        return None
    covariance = surface.covariance(places)
    taken = (covariance**2 / np.diag(covariance)[:, None]).sum(axis=1)
    return int(np.argmax(np.where(fresh, taken, -np.inf)))


def _depths(places: Places) -> tuple[float, float]:
    """The shallowest depth, and the deepest below those where throughput may decline."""
    depths = places.values("outstanding")
    shallow = depths[depths < DECLINE_FROM]
    below = shallow if len(shallow) > 1 else depths
    return float(below[0]), float(below[-1])


def _most_frequent(places: Places) -> float:
    """The number of jobs that most places have."""
    values, counts = np.unique(places.jobs, return_counts=True)
    return float(values[np.argmax(counts)])
