"""What-ifs: the changed curve is that of a device which was built so, and what cannot be known is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.fitting.curve_fit import fit, from_datasheet
from calibrate.fitting.fitted import Fit
from calibrate.fitting.origin import with_origin
from calibrate.fitting.predicted_curve import predict
from calibrate.prediction.what_if import WhatIf, what_if
from measure.errors import DataError
from measure.sweep import Sweep
from qsim.errors import InvalidParameterError

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])


def device(response_s, peak, series="reads", block=4096.0, reads=1.0):
    x = ((DEPTHS / response_s) ** -3 + peak**-3) ** (-1 / 3)
    table = {"series": series, "load": DEPTHS, "throughput_per_s": x, "latency_s": DEPTHS / x, "read_fraction": reads}
    return Sweep(points=pd.DataFrame({**table, "block_bytes": block}), name="device")


def fitted(*args, **kwargs):
    sweep = device(*args, **kwargs)
    return with_origin(fit(sweep, [1, 8, 16, 64]), sweep)


@pytest.fixture(scope="module")
def drive():
    return fitted(100e-6, 1e5)


def holds(scenario, response_s, peak, loads=(4, 16, 64)):
    """The scenario's curve is that of the device, and its band holds it."""
    curve = predict(scenario.fit, loads)
    true = ((np.array(loads) / response_s) ** -3 + peak**-3) ** (-1 / 3)
    np.testing.assert_allclose(curve.throughput_per_s, true, rtol=0.05)
    assert (curve.throughput_low_per_s < true).all()
    assert (true < curve.throughput_high_per_s).all()
    np.testing.assert_allclose(curve.throughput_per_s * curve.response_time_s, loads, rtol=1e-9)


def test_one_more_drive_doubles_the_peak_and_gives_a_lone_request_nothing(drive):
    scenario = what_if(drive, WhatIf(drives=(1, 2)))
    assert scenario.fit.knee.load == pytest.approx(2 * drive.knee.load, rel=0.02)  # one is the model's, one measured
    assert scenario.fit.parameters["Xmax"].estimate == pytest.approx(2 * drive.parameters["Xmax"].estimate, rel=0.01)
    assert scenario.fit.parameters["R1"].estimate == pytest.approx(drive.parameters["R1"].estimate, rel=0.01)
    then, now = predict(scenario.fit, [1, 1024]), predict(drive, [1, 512])
    assert then.throughput_per_s[0] == pytest.approx(now.throughput_per_s[0], rel=5e-3)
    assert then.throughput_per_s[1] == pytest.approx(2 * now.throughput_per_s[1], rel=0.01)
    third = what_if(drive, WhatIf(drives=(2, 3)))
    assert third.fit.parameters["Xmax"].estimate == pytest.approx(1.5 * drive.parameters["Xmax"].estimate, rel=0.01)
    assert "spreads evenly" in scenario.assumptions[0]
    assert scenario.assumptions[0] in scenario.fit.notes


def test_no_note_keeps_the_numbers_of_the_device_as_it_was():
    open_peak = fit(device(100e-6, 1e5), [1, 8])
    note = open_peak.parameters["Xmax"].note
    assert note.startswith("anything from ")
    changed = what_if(open_peak, WhatIf(drives=(1, 2))).fit.parameters
    assert note not in {e.note for e in changed.values()}
    assert not changed["Xmax"].identified


def test_half_the_service_time_with_and_without_the_hosts_part(drive):
    holds(what_if(drive, WhatIf(service=0.5)), 50e-6, 2e5)
    holds(what_if(drive, WhatIf(service=0.5, host_s=20e-6)), 60e-6, 2e5)


def test_changes_go_together(drive):
    scenario = what_if(drive, WhatIf(drives=(1, 2), service=0.5))
    assert scenario.fit.parameters["Xmax"].estimate == pytest.approx(4 * drive.parameters["Xmax"].estimate, rel=0.01)
    assert scenario.fit.parameters["R1"].estimate == pytest.approx(drive.parameters["R1"].estimate / 2, rel=0.01)
    assert len(scenario.changes) == 2


def test_two_sizes_tell_what_a_third_costs(drive):
    big = fitted(220e-6, 1 / (1 / 1e5 + 30e-6), series="big", block=65536.0)
    share = (16384 - 4096) / (65536 - 4096)
    true = 100e-6 + share * 120e-6, 1 / (1 / 1e5 + share * 30e-6)
    holds(what_if(drive, WhatIf(block_bytes=16384), [drive, big]), *true)


def test_a_link_bounds_the_peak(drive):
    scenario = what_if(drive, WhatIf(block_bytes=65536, bandwidth_bytes_per_s=1e9))
    holds(scenario, 100e-6 + (65536 - 4096) / 1e9, 1e9 / 65536)
    wide = what_if(drive, WhatIf(block_bytes=65536, bandwidth_bytes_per_s=1e12))
    holds(wide, 100e-6, 1e5)


def test_without_the_write_cache_the_medium_answers():
    writes = fitted(100e-6, 1e4, reads=0.0)
    holds(what_if(writes, WhatIf(write_cache_off=True, medium_s=2e-3)), 2e-3, 1e4)


def test_drives_that_would_have_less_than_a_request_each_are_refused(drive):
    fewer = predict(what_if(drive, WhatIf(drives=(9, 1))).fit, [1, 2, 64])  # N* = 10 of nine drives
    assert (np.diff(fewer.throughput_per_s) > -0.02 * fewer.throughput_per_s[0]).all()
    np.testing.assert_allclose(fewer.throughput_per_s * fewer.response_time_s, [1, 2, 64], rtol=1e-9)
    with pytest.raises(DataError, match="cannot be 100 drives"):
        what_if(drive, WhatIf(drives=(100, 1)))


def test_what_is_refused_has_the_word_that_was_typed(drive: Fit) -> None:
    with pytest.raises(InvalidParameterError, match="replicas must be positive whole numbers, not 0 and 2"):
        what_if(drive, WhatIf(drives=(0, 2), called="replica"))


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (WhatIf(block_bytes=16384), "bandwidth"),
        (WhatIf(write_cache_off=True, medium_s=1e-3), "reads"),
        (WhatIf(service=0.5, host_s=1e-3), "host"),
        (WhatIf(block_bytes=4096), "another size"),
    ],
)
def test_what_is_missing_is_said(drive, change, missing):
    with pytest.raises(DataError, match=missing):
        what_if(drive, change)


def test_a_sheet_knows_no_block():
    with pytest.raises(DataError, match="block=4KiB:16KiB"):
        what_if(from_datasheet(80e-6, 6e5), WhatIf(block_bytes=16384))


def test_a_medium_faster_than_its_cache_is_a_wrong_unit():
    with pytest.raises(DataError, match="unit"):
        what_if(fitted(100e-6, 1e4, reads=0.0), WhatIf(write_cache_off=True, medium_s=1e-6))


def test_models_without_asymptotes_are_refused():
    made = fit(device(100e-6, 1e5), [1, 8, 64], model="delay + M/M/4")
    with pytest.raises(DataError, match="no what-if"):
        what_if(made, WhatIf(service=0.5))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"service": 0.0},
        {"service": float("nan")},
        {"drives": (0.0, 1.0)},
        {"drives": (1.5, 2)},
        {"write_cache_off": True},
        {"service": 1.0, "host_s": -1.0},
        {"block_bytes": float("inf")},
    ],
)
def test_changes_that_are_none_are_refused(values):
    with pytest.raises(ValueError, match=r"positive|zero or more|nothing is changed|medium"):
        WhatIf(**values)
