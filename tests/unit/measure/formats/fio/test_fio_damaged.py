"""Damaged fio outputs: whatever stands in a document, it is read or refused, and never crashes the reader."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import GOLDEN

from measure.errors import DataError
from measure.formats.fio.sweep import fio_sweep

scalar = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["4k", "randread", "8", "1e400", "0", "1", "psync", "libaio", "rw", 4096, 1000.0])
)
anything = st.recursive(
    scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
stats = st.dictionaries(
    st.sampled_from(["mean", "stddev", "N", "percentile", "bins"]),
    anything | st.dictionaries(st.sampled_from(["50.000000", "99.000000", "1000", "x"]), scalar),
    max_size=5,
)
flow = st.dictionaries(
    st.sampled_from(["iops", "bw", "bw_bytes", "runtime", "total_ios", "lat", "lat_ns", "clat", "clat_ns", "lat_us"]),
    stats | anything,
    max_size=8,
)
options = st.dictionaries(
    st.sampled_from(["rw", "bs", "iodepth", "numjobs", "ioengine", "rwmixread", "group_reporting", "verify", "rate"]),
    scalar,
)
job = st.dictionaries(
    st.sampled_from(["jobname", "groupid", "error", "total_err", "job options", "read", "write", "mixed"]),
    anything | flow | options,
    max_size=8,
)
document = st.fixed_dictionaries(
    {"fio version": scalar, "jobs": st.lists(job | anything, max_size=4)},
    optional={"timestamp_ms": scalar, "global options": options | st.lists(options) | scalar, "disk_util": anything},
)


def holds(text: str) -> None:
    """The text is a table of possible numbers, or refused in one sentence."""
    refused, points = "", None
    try:
        points = fio_sweep({"f": text}).points
    except DataError as error:
        refused = str(error)
    if points is not None:
        assert (points[["throughput_per_s", "latency_s", "load"]] > 0).all().all()
    else:
        assert refused


@settings(max_examples=300, deadline=None)
@given(document)
def test_any_document_is_read_or_refused(made: dict[str, Any]) -> None:
    holds(json.dumps(made))


@settings(max_examples=100, deadline=None)
@given(st.lists(document, min_size=2, max_size=3), st.text(max_size=20))
def test_any_sequence_of_documents_is_read_or_refused(made: list[dict[str, Any]], between: str) -> None:
    holds(between.join(json.dumps(d) for d in made))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    holds(text)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, item in inside for p in places(item, (*path, key)))]


def real() -> dict[str, Any]:
    """A document that fio wrote, with short histograms and more options."""
    made: dict[str, Any] = json.loads((GOLDEN / "fio" / "mixed.json").read_text("utf-8"))
    (job,) = made["jobs"]
    for direction in ("read", "write"):
        job[direction]["lat_ns"] |= {"bins": {"1000": 3, "2000": 4}, "percentile": {"99.000000": 2000}}
        unused = ("bw_m", "bw_d", "iops_", "slat")
        job[direction] = {k: v for k, v in job[direction].items() if not k.startswith(unused)}
    job["job options"] |= {"numjobs": "2", "verify": "0"}
    used = ("jobname", "groupid", "error", "total_err", "job options", "read", "write", "iodepth_level")
    made["jobs"] = [{k: v for k, v in job.items() if k in used}]
    return made


NASTY = (None, -1, 0, 1e308, 10**400, float("nan"), "x", "9" * 5000, 2**31, [1], {"a": 1})


@pytest.mark.parametrize("options", [True, False], ids=["with options", "without options"])
def test_a_real_output_with_any_one_place_replaced_is_read_or_refused(options: bool) -> None:
    base = real()
    if not options:
        del base["jobs"][0]["job options"], base["global options"]
    texts = {}
    for number, path in enumerate(places(base)[1:]):
        parent: Any = base
        for key in path[:-1]:
            parent = parent[key]
        whole = parent[path[-1]]
        for value in NASTY:
            parent[path[-1]] = value
            texts[f"{number}={value!r:.9}"] = json.dumps(base)
        parent[path[-1]] = whole
    points = fio_sweep(texts).points
    assert np.isfinite(points[["throughput_per_s", "latency_s", "load"]]).all().all()
    assert len(points) > 100
