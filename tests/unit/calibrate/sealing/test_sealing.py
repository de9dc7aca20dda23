"""Sealed predictions: what the hash covers, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibrate import predict
from calibrate.fitting.calibrating import fit
from calibrate.fitting.fit_file import with_origin
from calibrate.sealing import canonical, doubt_of, read_seal, seal, sha256_of, unseen, used_rows
from measure.errors import DataError, MeasureError
from measure.sweep import Sweep

DEPTHS = (1, 2, 4, 8, 16, 32, 64)


def sweep_of(depths=DEPTHS, factor=1.0, started_at=None, raw=()):
    """X = [(N/R1)^-3 + Xmax^-3]^(-1/3), R1 = 100 us, Xmax = 100 k/s: N* = 10."""
    n = np.array(depths, dtype=float)
    x = factor * ((n / 1e-4) ** -3 + 1e5**-3) ** (-1 / 3)
    sources = [path.name for path in raw] or [None] * len(n)
    table = {"series": "reads", "load": n, "throughput_per_s": x, "latency_s": n / x, "source": sources}
    return Sweep(points=pd.DataFrame({**table, "started_at": started_at}), raw=tuple(raw), name="sweep")


@pytest.fixture(scope="module")
def fitted():
    return fit(sweep_of(), [1, 32])


def test_the_canonical_form_knows_no_order_and_no_blanks():
    assert canonical({"b": 1, "a": [1.5, "é"]}) == '{"a":[1.5,"é"],"b":1}'.encode()
    assert sha256_of({"a": 1, "b": 2}) == sha256_of({"b": 2, "sha256": "of no account", "a": 1})
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


def test_a_seal_gives_back_what_was_predicted(tmp_path, fitted):
    made = seal([fitted], [[1, 8, 64]], tmp_path / "before.json", made_at="2026-01-02T03:04:05+00:00")
    opened = read_seal(tmp_path / "before.json")
    assert opened.sha256 == made.sha256 == json.loads((tmp_path / "before.json").read_text())["sha256"]
    assert opened.made_at == "2026-01-02T03:04:05+00:00"
    again = predict(opened.fits[0], [1, 8, 64])
    assert again.to_dicts() == predict(fitted, [1, 8, 64]).to_dicts() == list(opened.points[0])


def test_what_is_sealed_is_never_replaced(tmp_path, fitted):
    (tmp_path / "before.json").write_text("mine")
    with pytest.raises(MeasureError, match="never replaced"):
        seal([fitted], [[1]], tmp_path / "before.json")
    assert (tmp_path / "before.json").read_text() == "mine"
    with pytest.raises(MeasureError, match="no directory"):
        seal([fitted], [[1]], tmp_path / "nowhere" / "before.json")


@pytest.mark.parametrize("part", ["made_at", "version", "fit", "points"])
def test_an_edited_seal_is_broken(tmp_path, fitted, part):
    path = tmp_path / "before.json"
    seal([fitted], [[1, 8]], path)
    document = json.loads(path.read_text())
    if part == "fit":
        document["predictions"][0]["fit"]["table"]["values"][0][0] *= 1.01
    elif part == "points":
        document["predictions"][0]["points"][0]["throughput_per_s"] += 1
    else:
        document[part] = "2020-01-01T00:00:00+00:00"
    path.write_text(json.dumps(document))
    sealed, found = document["sha256"], sha256_of(document)
    says = rf"broken.* SHA-256 {found[:16]}\.\.\., and the seal says {sealed[:16]}\.\.\.; the file was edited"
    with pytest.raises(DataError, match=says):
        read_seal(path)


def test_a_seal_whose_curve_this_version_does_not_draw_is_refused(tmp_path, fitted):
    path = tmp_path / "before.json"
    seal([fitted], [[1, 8]], path)
    document = json.loads(path.read_text())
    document["predictions"][0]["points"][1]["throughput_per_s"] *= 1.1
    document["sha256"] = sha256_of(document)
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="draws another curve"):
        read_seal(path)


def test_a_seal_without_its_parts_is_refused_though_its_hash_is_right(tmp_path):
    document = {"schema": "qsim-seal/1", "predictions": [{}], "made_at": "yesterday", "version": "1"}
    path = tmp_path / "before.json"
    path.write_text(json.dumps({**document, "sha256": sha256_of(document)}))
    with pytest.raises(DataError, match="lacks a part"):
        read_seal(path)


def test_points_that_were_calibrated_on_are_known(tmp_path, fitted):
    made = seal([fitted], [[1]], tmp_path / "before.json")
    assert list(sweep_of().points["load"][used_rows(made, sweep_of())]) == [1, 32]
    assert list(unseen(made, sweep_of()).points["load"]) == [2, 4, 8, 16, 64]
    other_day = sweep_of(factor=1.001)
    assert unseen(made, other_day) is other_day


def test_a_file_that_was_used_is_known_by_its_hash(tmp_path):
    files = [tmp_path / f"{n}.json" for n in DEPTHS]
    for file in files:
        file.write_text(f"raw output {file.name}")
    sweep = sweep_of(raw=files)
    origin = with_origin(fit(sweep, [1, 32]), sweep)
    assert set(origin.details["calibrated_on"]["files"]) == {"1.json", "32.json"}
    made = seal([origin], [[1]], tmp_path / "before.json")
    rescaled = replace(sweep_of(factor=1.01, raw=files), name="the same files read otherwise")
    assert list(rescaled.points["load"][used_rows(made, rescaled)]) == [1, 32]


def test_one_file_with_everything_is_all_known(tmp_path):
    table = tmp_path / "all.csv"
    table.write_text("every point")
    sweep = replace(sweep_of(), points=sweep_of().points.assign(source="all.csv"), raw=(table,))
    made = seal([with_origin(fit(sweep, [1, 32]), sweep)], [[1]], tmp_path / "before.json")
    with pytest.raises(DataError, match="at hand"):
        unseen(made, sweep)


@pytest.mark.parametrize(
    ("measured_at", "said"),
    [
        ("2026-05-01T00:00:00+00:00", "7 of 7 points were measured before"),
        ("2026-07-01T00:00:00", ""),
        (None, "the data do not say when"),
    ],
)
def test_times_are_held_against_the_seal(tmp_path, fitted, measured_at, said):
    made = seal([fitted], [[1]], tmp_path / "before.json", made_at="2026-06-01T00:00:00+00:00")
    doubt = doubt_of(made, sweep_of(started_at=measured_at))
    assert doubt.startswith(said)
    assert bool(doubt) == bool(said)
