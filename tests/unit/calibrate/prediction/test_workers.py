"""How many workers serve a rate, against servers whose workers are known."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from calibrate import fit, from_datasheet
from calibrate.prediction.workers import workers_for
from measure import load, load_dataset
from measure.errors import DataError
from measure.sweep import Sweep
from qsim import Closed, Exponential, Station, closed_curve

RUNS = Path(__file__).parents[4] / "tests" / "data" / "servers"


def served(workers: int, service_s: float) -> Sweep:
    """A database of so many workers before 1 to 64 clients."""
    clients = [1, 2, 4, 6, 8, 16, 64]
    curve = closed_curve(Closed(1, [Station(Exponential(mean=service_s), workers)]), clients)
    return Sweep(
        pd.DataFrame(
            {
                "series": "queries",
                "load": clients,
                "throughput_per_s": curve.throughput,
                "latency_s": [n / x for n, x in zip(clients, curve.throughput, strict=True)],
            }
        ),
        load_unit="clients",
    )


def test_a_known_c_tells_how_many_are_busy() -> None:
    found = workers_for(fit(served(1, 4e-3)), 1000.0)
    assert not found.is_bound
    assert found.low is not None
    assert found.low * 0.97 <= 4 <= found.high * 1.03
    assert found.now == 1
    assert 5 <= found.wanted <= 6
    assert "workers busy" in str(found)


def test_an_unknown_c_gives_a_bound_that_holds() -> None:
    """The known server has 8 workers of 5 ms: 5,000 requests a second keep 25 of them busy."""
    found = workers_for(fit(load(RUNS / "hey")), 5000.0)
    assert found.is_bound
    assert found.low is None
    assert 25 <= found.high <= 60
    assert found.times_the_peak == pytest.approx(25 / 8, rel=0.5)
    assert "times the workers there are do it, too" in str(found)
    few = workers_for(fit(load(RUNS / "hey")), 100.0)
    assert f"do it at {100 * few.times_the_peak:.2g} % of their peak" in str(few)


def test_a_rate_below_the_peak_needs_no_more() -> None:
    assert "within the peak of the 1 worker there is" in str(workers_for(fit(served(1, 4e-3)), 100.0))


def test_a_fit_over_another_load_says_what_it_needs() -> None:
    memory = load_dataset("001-memory")
    with pytest.raises(DataError, match="does not tell how many workers a rate takes"):
        workers_for(fit(memory.select(memory.series[0])), 100.0)


def test_the_answer_is_json_ready() -> None:
    told = workers_for(from_datasheet(idle_latency=2e-3, peak_iops=1e3), 3000).to_dict()
    assert (told["is_bound"], told["low"]) == (True, None)
    assert told["wanted"] * 0.8 >= told["high"] >= 6.0  # 3000 requests a second of 2 ms
