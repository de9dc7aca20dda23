"""Points of one device under several kinds of load calibrate one curve, and one kind of load is held out by another."""

from pathlib import Path

import numpy as np
import pytest
from made_up import open_sweep, points_at

from calibrate import Fit, compare, fit
from measure import DataError, Sweep, load
from measure.loads import ArrivalRate, Clients, Depth, InjectedDelay
from qsim import MMc, MMcN, solve

SERVICE, SERVERS = 0.01, 4
PEAK = SERVERS / SERVICE


def in_flight(*depths: int) -> Sweep:
    return Sweep(points_at(depths, np.minimum(depths, SERVERS) / SERVICE), load_type=Depth())


def strangers(*shares: float) -> Sweep:
    rates = [share * PEAK for share in shares]
    return open_sweep(rates, response_at(rates))


def response_at(rates: list[float]) -> list[float]:
    return [float(solve(MMc(rate, 1 / SERVICE, SERVERS)).W) for rate in rates]


@pytest.fixture(scope="module")
def pooled() -> Fit:
    return fit([in_flight(1, 8), strangers(0.3, 0.8)])


def test_depths_and_rates_of_one_device_predict_what_neither_saw_within_4_percent(pooled: Fit) -> None:
    assert pooled.predict([2, 16, 32]).throughput_per_s == pytest.approx([200, 400, 400], rel=0.01)
    rates = [share * PEAK for share in (0.1, 0.5, 0.7, 0.85)]
    assert pooled.predict(ArrivalRate(rates)).response_time_s == pytest.approx(response_at(rates), rel=0.04)
    users = [40, 300]
    exact = [solve(MMcN(population=n, think_time=1, service_time=SERVICE, servers=SERVERS)).W for n in users]
    assert pooled.predict(Clients(users, think=1.0)).response_time_s == pytest.approx(exact, rel=0.04)


def test_its_first_line_names_the_points_of_each_kind(pooled: Fit) -> None:
    assert repr(pooled).startswith(
        "made: a smooth curve through all 4 points, depths 1 and 8 and rates 120 /s and 320 /s"
    )


def test_a_fit_file_keeps_them_apart(pooled: Fit) -> None:
    again = Fit.from_dict(pooled.to_dict())
    assert again.basis == pooled.basis
    assert again.predict(ArrivalRate([200.0])).to_dicts() == pooled.predict(ArrivalRate([200.0])).to_dicts()
    assert compare(strangers(0.3, 0.5, 0.8), fitted=again).held_out.tolist() == [False, True, False]


def test_rates_are_held_out_of_a_fit_to_depths_and_depths_of_one_to_rates() -> None:
    shares = (0.2, 0.5, 0.7)
    compared = compare(strangers(*shares), fitted=fit(in_flight(1, 4, 8, 32)))
    assert compared.held_out.all()
    assert (np.abs(compared.residual_response_pct) < 4).all()
    assert "predicted from depths 1, 4, 8 and 32, with another kind of load" in repr(compared).splitlines()[0]
    back = compare(in_flight(1, 4, 8, 32), fitted=fit([in_flight(1), strangers(0.2, 0.5, 0.8, 0.9)]))
    assert (np.abs(back.residual_throughput_pct) < 10).all()


def test_some_of_the_points_of_each_kind_are_chosen() -> None:
    some = fit([in_flight(1, 8, 32), strangers(0.3, 0.8)], [1, 8, 0.3 * PEAK])
    assert some.listed == "depths 1 and 8 and arrival rate 120 /s"
    with pytest.raises(DataError, match="has no point at load 5"):
        fit([in_flight(1, 8), strangers(0.3, 0.8)], [1, 5])


def test_a_model_of_one_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="takes one kind of load, and these points are of 2"):
        fit([in_flight(1, 8), strangers(0.3, 0.8)], model="p-norm")


def test_what_is_not_one_device_under_several_kinds_of_load_is_refused() -> None:
    with pytest.raises(DataError, match="load one of them"):
        fit([in_flight(1, 8), in_flight(2, 4)])
    with pytest.raises(DataError, match="load one of them"):
        fit([in_flight(1, 8), Sweep(points_at([1, 8], [10, 20]), load_type=InjectedDelay())])
    two = Sweep(points_at([1, 1], [100, 90], series=["reads", "writes"]))
    with pytest.raises(DataError, match="curves of one device need one name"):
        fit([two, strangers(0.3, 0.8)])


TABLE = """kind,load,requests_per_s,latency_ms
closed,1,100,10
closed,8,400,20
poisson,120,120,10.07
poisson,320,320,17.46
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mixed.csv"
    path.write_text(text)
    return path


def test_a_column_says_the_kind_of_each_row(tmp_path: Path) -> None:
    sweep = load(written(tmp_path, TABLE))
    assert sweep.load_type == Depth()
    (other,) = sweep.also
    assert other.load_type == ArrivalRate()
    assert other.points["load"].tolist() == [120, 320]
    made = fit(sweep)
    assert made.parameters["Xmax"].estimate == pytest.approx(PEAK, rel=0.02)
    assert "Poisson arrivals: told" in repr(made)
    paced = load(written(tmp_path, TABLE.replace("poisson", "paced")))
    assert paced.also[0].load_type == ArrivalRate(gaps="paced")
    told = load(written(tmp_path, TABLE.replace("kind", "mode")), {"kind": "mode", "gaps": "paced"})
    assert told.also[0].load_type == ArrivalRate(gaps="paced")


def test_two_columns_of_which_each_row_fills_one_say_it_too(tmp_path: Path) -> None:
    text = "depth,arrival_rate,iops,latency_ms\n1,,100,10\n8,,400,20\n,120,120,10.07\n,320,320,17.46\n"
    assert fit(load(written(tmp_path, text))).listed == "depths 1 and 8 and rates 120 /s and 320 /s"


def test_users_who_think_stand_beside_those_who_do_not(tmp_path: Path) -> None:
    exact = [solve(MMcN(population=n, think_time=1, service_time=SERVICE, servers=SERVERS)) for n in (40, 200, 400)]
    rows = [f"thinking,{n},{e.throughput},{1e3 * e.W}" for n, e in zip((40, 200, 400), exact, strict=True)]
    text = "\n".join(["kind,users,requests_per_s,latency_ms", "closed,1,100,10", "closed,8,400,20", *rows, ""])
    for columns in (None, {"think": "1s"}):
        sweep = load(written(tmp_path, text), columns)
        assert sweep.load_type == Clients(noun="users")
        assert sweep.also[0].load_type.thinking_s == pytest.approx(1, rel=0.01)
        assert fit(sweep).parameters["Xmax"].estimate == pytest.approx(PEAK, rel=0.03)


def of_think_times(tmp_path: Path, header: str = "clients,think_ms,rps,avg_ms") -> Path:
    """Clients who think for 0, 100 and 1000 ms at four servers of 10 ms, by exact analysis."""
    rows = [f"{n},0,{min(n, SERVERS) / SERVICE},{1e3 * max(1, n / SERVERS) * SERVICE}" for n in (1, 2, 4, 8)]
    for think_ms, clients in ((100, (5, 20, 40, 60)), (1000, (10, 100, 300, 420, 500))):
        for n in clients:
            exact = solve(MMcN(population=n, think_time=think_ms / 1e3, service_time=SERVICE, servers=SERVERS))
            rows.append(f"{n},{think_ms},{exact.throughput},{1e3 * exact.W}")
    return written(tmp_path, "\n".join([header, *rows, ""]))


def test_every_think_time_of_a_column_is_a_kind_of_load_and_all_calibrate_one_device(tmp_path: Path) -> None:
    sweep = load(of_think_times(tmp_path))
    assert [s.load_type.thinking_s for s in (sweep, *sweep.also)] == [0, 0.1, 1]
    made = fit(sweep)
    assert "20, 40 and 60 clients who think for 100 ms and 10, 100" in made.listed
    assert made.figures["R1"].estimate == pytest.approx(SERVICE, rel=0.02)
    assert made.figures["Xmax"].estimate == pytest.approx(PEAK, rel=0.02)
    users = [40, 120, 200]
    exact = [solve(MMcN(population=n, think_time=0.3, service_time=SERVICE, servers=SERVERS)).W for n in users]
    assert made.predict(Clients(users, think=0.3)).response_time_s == pytest.approx(exact, rel=0.04)
    compared = compare(sweep.also[1], fitted=fit(sweep, [1, 8, 20, 60]))
    assert (np.abs(compared.residual_response_pct) < 10).all()


def test_the_requests_present_under_every_kind_of_load_are_covered(tmp_path: Path) -> None:
    made = Fit.from_dict(fit(load(of_think_times(tmp_path))).to_dict())
    assert made.deepest == pytest.approx(100, rel=0.01)  # X R of 500 clients who think for a second
    rates = [300.0, 380.0]
    assert made.predict(ArrivalRate(rates)).response_time_s == pytest.approx(response_at(rates), rel=0.05)
    assert not made.predict([16]).notes


@pytest.mark.parametrize(
    ("header", "columns", "units"),
    [
        ("clients,think,rps,avg_ms", {"think": "think"}, {"think": "ms"}),
        ("clients,pause_ms,rps,avg_ms", {"think": "pause_ms"}, None),
        ("clients,Think time (ms),rps,avg_ms", None, None),
    ],
)
def test_a_column_of_think_times_may_be_said(tmp_path: Path, header: str, columns, units) -> None:
    sweep = load(of_think_times(tmp_path, header), columns, units)
    assert [s.load_type.thinking_s for s in (sweep, *sweep.also)] == [0, 0.1, 1]


@pytest.mark.parametrize(
    ("header", "cell", "said"),
    [
        ("think_ms", "-5", "line 4: the think time, in column 'think_ms', is below zero; write 0 where nobody thinks"),
        ("think_ms", "", "line 4: the think time, in column 'think_ms', is empty"),
        ("think_ms", "long", "'long' in line 4, column 'think_ms' is not a number"),
        ("think_ms", "1 s", "'1 s' in line 4, column 'think_ms' is not a number"),
        ("think_ms", "5000", "nobody thinks for 5.00 s here: N / X, the time of a whole cycle, is 1.01 s at 100"),
        ("think", "1000", "the unit of column 'think' .think. is not in its name; say it, for example think=think:ms"),
        ("think", "1000ms", "'100' in line 3, column 'think' has no unit, and others have ms"),
    ],
)
def test_a_think_time_that_is_none_is_refused(tmp_path: Path, header: str, cell: str, said: str) -> None:
    rows = f"1,0,100,10\n20,100,181.197,10.3771\n100,{cell},99.004,10.06\n"
    with pytest.raises(DataError, match=said):
        load(written(tmp_path, f"clients,{header},rps,avg_ms\n{rows}"))


def test_one_think_time_in_every_row_is_read_too_and_a_rounded_throughput_holds_it(tmp_path: Path) -> None:
    sweep = load(written(tmp_path, "clients,think_ms,rps,avg_ms\n1,1000,1.0,10\n100,1000,99,10.06\n"))
    assert (sweep.load_type, sweep.also) == (Clients(think=1.0), ())


def test_threads_beside_clients_are_not_multiplied_in_the_rows_of_a_kind(tmp_path: Path) -> None:
    rows = "closed,2,1,100,10\nclosed,2,8,400,20\nthinking,2,20,181.197,10.3771\nthinking,2,40,343.098,16.5848\n"
    sweep = load(written(tmp_path, f"kind,threads,clients,rps,avg_ms\n{rows}"))
    assert [s.points["load"].tolist() for s in (sweep, *sweep.also)] == [[1, 8], [20, 40]]


def test_a_word_that_is_no_kind_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: 'often' is no kind of load; write closed, thinking, poisson, paced"):
        load(written(tmp_path, TABLE.replace("closed,8", "often,8")), {"kind": "kind"})


def test_files_under_several_kinds_of_load_are_one_device(tmp_path: Path) -> None:
    closed, opened = tmp_path / "closed.csv", tmp_path / "open.csv"
    closed.write_text("depth,iops,latency_ms\n1,100,10\n8,400,20\n")
    opened.write_text("arrival_rate,iops,latency_ms\n120,120,10.07\n320,320,17.46\n")
    sweep = load([closed, opened])
    assert [s.load_type for s in (sweep, *sweep.also)] == [Depth(), ArrivalRate()]
    assert "also rates 120 /s and 320 /s" in repr(sweep)
