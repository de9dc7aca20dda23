"""Fits to service times hang on no last bit: not of the times, and not of the processor that computes them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from calibrate.cli.calibration.fit_service import service_document
from calibrate.service import Times, fit_service, of_percentiles, of_samples

Perturb = Callable[[Any], Any]
WITHIN = 1e-6

BURR = {0.5: 80e-6, 0.95: 110e-6, 0.99: 146e-6, 0.999: 2e-3}
SIX = {0.1: 40e-6, 0.5: 80e-6, 0.9: 120e-6, 0.95: 140e-6, 0.99: 200e-6, 0.999: 320e-6}
_RNG = np.random.default_rng(3)
TWO_KINDS = np.concatenate([_RNG.lognormal(math.log(80e-6), 0.1, 800), _RNG.lognormal(math.log(400e-6), 0.3, 200)])
HEAVY = 90e-6 + 85e-6 * _RNG.pareto(1.3, 1000)


def histogram(of: Times, perturb: Perturb) -> Times:
    """The bins of ``of`` with every edge perturbed alike, so that neighbours still touch."""
    factor = perturb(1.0)
    return Times(of.lower_s * factor, of.upper_s * factor, of.counts)


CASES: Mapping[str, Callable[[Perturb], Times]] = {
    "four percentiles": lambda perturb: of_percentiles({q: perturb(t) for q, t in BURR.items()}),
    "six percentiles": lambda perturb: of_percentiles({q: perturb(t) for q, t in SIX.items()}, 1000),
    "two percentiles": lambda perturb: of_percentiles({0.5: perturb(80e-6), 0.99: perturb(300e-6)}),
    "latencies of two kinds": lambda perturb: of_samples(perturb(TWO_KINDS)),
    "a histogram of two kinds": lambda perturb: histogram(of_samples(TWO_KINDS), perturb),
    "a histogram with a heavy tail": lambda perturb: histogram(of_samples(HEAVY), perturb),
}


def figures(document: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and word of a document by its place; a family's place is its name."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from figures(value, f"{place}/{key}")
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from figures(value, f"{place}/{value['name'] if isinstance(value, dict) and 'name' in value else i}")
    else:
        yield place, document


def fitted(name: str, perturb: Perturb) -> dict[str, Any]:
    """The figures of ``fit-service --json`` for a case."""
    return dict(figures(service_document(name, fit_service(CASES[name](perturb)))))


@cache
def exactly_fitted(name: str) -> Mapping[str, Any]:
    """The figures of a case as it is."""
    return fitted(name, lambda times: times)


def moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The figures that differ by more than a search that ends by its tolerance may."""
    assert before.keys() == after.keys()
    return {
        place: (was, after[place])
        for place, was in before.items()
        if after[place] != (pytest.approx(was, rel=WITHIN, abs=WITHIN * 1e-3) if isinstance(was, float) else was)
    }


def vector_features() -> list[str]:
    """The instructions beyond its baseline that numpy uses on this processor."""
    numpy_core = (getattr(np, "_core", None) or np.core)._multiarray_umath
    return [name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[name]]


def cases_by_length() -> list[Any]:
    """The cases, those of histograms, which take several seconds, marked slow."""
    return [pytest.param(name, marks=pytest.mark.slow) if "histogram" in name else name for name in CASES]


@pytest.mark.parametrize("name", cases_by_length())
def test_times_that_differ_in_their_last_digits_get_the_same_fit(name: str) -> None:
    rng = np.random.default_rng(1)
    exact = exactly_fitted(name)
    perturbed = fitted(name, lambda times: times * (1 + 1e-14 * rng.choice([-1, 1], np.shape(times))))
    assert moved(exact, perturbed) == {}


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_processor_without_vector_instructions_gives_the_same_fits(slow: bool) -> None:
    if not (beyond := vector_features()):
        pytest.skip("numpy uses nothing beyond its baseline on this processor")
    without = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(beyond)}
    names = [name for name in CASES if ("histogram" in name) == slow]
    done = subprocess.run([sys.executable, __file__, *names], env=without, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    features, *elsewhere = json.loads(done.stdout)
    assert features == []
    for name, found in zip(names, elsewhere, strict=True):
        assert moved(exactly_fitted(name), found) == {}, name


if __name__ == "__main__":
    sys.stdout.write(json.dumps([vector_features(), *map(exactly_fitted, sys.argv[1:])]))
