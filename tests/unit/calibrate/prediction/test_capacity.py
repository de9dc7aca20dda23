"""How many of a service a rate takes."""

import pytest

from calibrate import fit, from_datasheet
from calibrate.prediction.what_if import capacity_for
from measure import load_dataset
from measure.errors import DataError

SERVICE = from_datasheet(idle_latency=2e-3, peak_iops=1e3)


def test_the_rate_is_shared_by_as_many_as_serve_it() -> None:
    peak = SERVICE.parameters["Xmax"].estimate
    found = capacity_for(SERVICE, 8.5 * peak)
    assert (found.needed, found.needed_low, found.needed_high) == (9, 8, 11)
    assert (found.roomy, found.roomy_low, found.roomy_high) == (11, 10, 13)
    assert "need 9 (8 to 11) of today's kind, assumed; 11 (10 to 13) to stay below 80 % busy" in str(found)


def test_one_is_enough_below_its_peak() -> None:
    found = capacity_for(SERVICE, 0.5 * SERVICE.parameters["Xmax"].estimate)
    assert (found.needed, found.roomy) == (1, 1)
    assert "50 % of the peak" in str(found)


def test_a_memory_has_no_number_of_copies() -> None:
    with pytest.raises(DataError, match="no peak throughput"):
        capacity_for(fit(load_dataset("001-memory"), series="64 B read"), 100.0)
