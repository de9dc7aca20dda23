"""A solved or simulated queue shows itself: short text, a table in a notebook, a data frame, a figure."""

from __future__ import annotations

from class_networks import Row, circling

from qsim import MM1, Exponential, MMc, Station, Tandem, simulate, solve

ONE = Exponential(1.0)


def test_repr_is_the_answer_in_two_lines() -> None:
    heading, values = repr(solve(MM1(arrival_rate=16, service_rate=20))).splitlines()
    assert heading.startswith("M/M/1: exact")
    assert values == "A customer stays W = 0.25 on average, 0.2 of it waiting; L = 4 present; the server 80 % busy"


def test_of_a_network_the_share_of_busy_time_is_that_of_its_busiest_station() -> None:
    model = Tandem(Exponential(0.5), [Station(Exponential(0.1)), Station(Exponential(0.3))])
    assert repr(solve(model)).endswith("; the busiest station 60 % busy")  # 2 x 0.3, and 2 x 0.1


def test_frame_has_the_values_and_their_intervals() -> None:
    metrics = simulate(MM1(arrival_rate=0.5, service_rate=1), customers=20_000, seed=1)
    row = metrics.to_frame().iloc[0]
    assert row["name"] == "M/M/1"
    assert row["W"] == metrics.W
    assert (row["W_low"], row["W_high"]) == metrics.interval("W")


def test_frame_names_the_classes_of_a_station_after_it() -> None:
    model = circling((2, 1), [Row((ONE, ONE), name="die"), Row((ONE, None), name="bus")])
    run = simulate(model, customers=20_000, seed=1)
    frame = run.to_frame().set_index("name")
    assert frame.index.tolist()[1:] == [
        "die",
        "die, class 1",
        "die, class 2",
        "bus",
        "bus, class 1",
        "class 1",
        "class 2",
    ]
    assert frame.loc["die, class 2", "W"] == run["die"]["class 2"].W


def test_figure_of_an_open_queue_holds_nearly_all_states() -> None:
    (bars,) = solve(MMc(arrival_rate=2.7, service_rate=1, servers=3)).plot().data
    assert 0.999 <= sum(bars.y) <= 1
    assert list(bars.x) == list(range(len(bars.x)))


def test_figure_without_states_is_the_utilization() -> None:
    metrics = simulate(MM1(arrival_rate=0.5, service_rate=1), customers=20_000, seed=1)
    (bars,) = metrics.plot().data
    assert list(bars.y) == [metrics.utilization]


def test_summary_shows_itself_as_lines_without_quotes() -> None:
    metrics = solve(MM1(arrival_rate=16, service_rate=20))
    assert repr(metrics.summary()) == repr(metrics)
    assert len(repr(metrics.summary()).splitlines()) == 2
