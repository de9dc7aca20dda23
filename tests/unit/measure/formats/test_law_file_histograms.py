"""A law of service times from a file: fio's histogram."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibrate.cli.theory.queue_models import law
from measure.errors import DataError
from measure.formats.law_file import read_histogram
from qsim import LogNormal


def fio_output(*bins: dict[str, int]) -> str:
    reads = [{"iops": 1000.0, "runtime": 1000, "lat_ns": {"mean": 1.5e6, "bins": b}} for b in bins]
    jobs = [{"jobname": f"j{i}", "job options": {"rw": "randread"}, "read": read} for i, read in enumerate(reads)]
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs})


def test_the_histogram_of_a_fio_run_is_a_law(tmp_path: Path) -> None:
    path = tmp_path / "fio.json"
    path.write_text(fio_output({"1003520": 30, "2007040": 10}))
    found = read_histogram(path)
    assert found.weights == (30, 10)
    assert found.mean == pytest.approx((30 * 1.0035e-3 + 10 * 2.007e-3) / 40, rel=1e-3)
    assert all(width > 0 for width in found.widths)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,n\n1,2\n", "is not fio's JSON"),
        (fio_output({"1000": 3}, {"1000": 3}), "2 jobs"),
        (fio_output({}), "holds no histogram"),
    ],
)
def test_what_holds_no_histogram_is_refused_with_its_reason(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(DataError, match=sentence):
        read_histogram(path)


def test_the_mean_may_go_without_its_name() -> None:
    assert law("lognormal:2ms:scv=2").distribution == law("lognormal:mean=2ms,scv=2").distribution
    assert law("lognormal:2ms:scv=2").distribution == LogNormal(2e-3, 2)
    assert law("erlang:3ms:k=2").distribution.mean == pytest.approx(3e-3)
