"""Which load made these points: N in flight, users who think, or arrivals; found from the points, or told."""

import json
from pathlib import Path

import numpy as np
import pytest

from measure import DataError, Sweep, audit, load
from measure.formats.servers import k6
from measure.loads import Clients, Depth
from qsim import MMcN, solve

KINDS = Path(__file__).parents[3] / "data" / "kinds"


def table(tmp_path: Path, users: list[int], rate: np.ndarray, latency_s: np.ndarray, head: str = "users") -> str:
    rows = [f"{n},{x:.6g},{1e3 * r:.6g}" for n, x, r in zip(users, rate, latency_s, strict=True)]
    path = tmp_path / "users.csv"
    path.write_text("\n".join([f"{head},requests_per_s,latency_ms", *rows]) + "\n")
    return str(path)


def of_users(tmp_path: Path, think_s: float, users: list[int], servers: int = 2, head: str = "users") -> str:
    """Users who think for ``think_s``, at ``servers`` of 20 ms, by exact analysis."""
    exact = [solve(MMcN(population=n, think_time=think_s, service_time=0.02, servers=servers)) for n in users]
    return table(tmp_path, users, np.array([e.throughput for e in exact]), np.array([e.W for e in exact]), head)


def kinds_of(sweep: Sweep) -> list[str]:
    return [f.message for f in sweep.findings if f.check == "load-kind"]


@pytest.mark.parametrize("think_s", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("head", ["users", "clients", "threads", "concurrency"])
def test_the_think_time_that_is_the_same_at_every_point_is_found(tmp_path: Path, think_s: float, head: str) -> None:
    sweep = load(of_users(tmp_path, think_s, [1, 20, 60, 200], head=head))
    assert isinstance(sweep.load_type, Clients)
    assert sweep.load_type.think == pytest.approx(think_s, rel=0.01)
    (said,) = kinds_of(sweep)
    assert "who think for" in said
    assert "found" in said


def test_published_and_made_tables_of_users_who_think_are_found() -> None:
    found = {name: load(KINDS / name).load_type.thinking_s for name in ("rebac1.csv", "think_rps.csv")}
    assert found == pytest.approx({"rebac1.csv": 0.172, "think_rps.csv": 1.0}, rel=0.005)
    assert load(KINDS / "think_stats_history.csv").load_type.thinking_s == pytest.approx(1.0, rel=0.01)
    assert load(KINDS / "k6-thinking").load_type.thinking_s == pytest.approx(1.0, rel=0.01)


def test_one_file_of_k6_tells_the_think_time_and_one_row_of_a_table_does_not(tmp_path: Path) -> None:
    assert load(KINDS / "k6-thinking" / "u10.json").load_type.thinking_s == pytest.approx(1.0, rel=0.01)
    one = load(of_users(tmp_path, 1.0, [20]))
    assert one.load_type.thinking_s == 0
    assert kinds_of(one) == ["X R / N is 0.02 at 20 users."]


def test_the_requests_of_k6_are_those_it_counted() -> None:
    assert k6(json.loads((KINDS / "k6-thinking" / "u10.json").read_text("utf-8")), "u10.json").requests == 593


def test_requests_in_flight_are_no_users_who_think(tmp_path: Path) -> None:
    users = [1, 8, 64]
    rate = np.minimum(np.array(users), 2) / 0.02
    sweep = load(table(tmp_path, users, rate, np.array(users) / rate))
    assert sweep.load_type == Clients(noun="users")
    assert kinds_of(sweep) == []


def test_a_depth_is_not_doubted(tmp_path: Path) -> None:
    sweep = load(of_users(tmp_path, 0.5, [1, 20, 60], head="iodepth"))
    assert sweep.load_type == Depth()


def test_what_is_neither_is_asked_for_in_one_line(tmp_path: Path) -> None:
    users = [10, 20, 40, 80]
    capped = table(tmp_path, users, np.full(4, 100.0), np.full(4, 0.1))  # ten at most in flight
    sweep = load(capped)
    assert sweep.load_type.thinking_s == 0
    (said,) = kinds_of(sweep)
    assert "is no fixed time" in said
    assert next(f.remedy for f in sweep.findings if f.check == "load-kind").startswith("say which it was: --columns")
    assert kinds_of(load(capped, {"think": "0"})) == []


def test_more_in_flight_than_users_is_said(tmp_path: Path) -> None:
    (said,) = kinds_of(load(table(tmp_path, [10, 20], np.array([100.0, 200]), np.array([0.3, 0.3]))))
    assert "R is above N / X at 10 users: 300 ms and 100 ms." in said


def test_a_told_think_time_is_checked_and_a_found_one_cannot_be() -> None:
    found, told = (load(KINDS / "think_rps.csv", columns) for columns in (None, {"think": "1s"}))
    laws = [next(f for f in audit(sweep) if f.check == "littles-law") for sweep in (found, told)]
    assert "cannot be checked: the think time Z was found by it" in laws[0].message
    assert "N = X (R + Z) holds at 5 points" in laws[1].message
    wrong = next(f for f in audit(load(KINDS / "think_rps.csv", {"think": "0.7s"})) if f.check == "littles-law")
    assert wrong.severity == "error"
    assert "X (R + Z) / N is 0.703" in wrong.message


def test_a_latency_that_was_computed_holds_no_told_think_time(tmp_path: Path) -> None:
    path = tmp_path / "no-latency.csv"
    path.write_text("users,requests_per_s\n10,9.88\n100,90.1\n")
    sweep = load(path, {"think": "1s"})
    assert sweep.points["latency_s"].to_numpy() == pytest.approx([10 / 9.88 - 1, 100 / 90.1 - 1])
    assert set(sweep.points["latency_origin"]) == {"computed: N / X - Z"}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"think": "10s"}, "nobody thinks for 10.0 s here: N / X, the time of a whole cycle, is 1.01 s at 10 users"),
        ({"think": "-1s"}, "below zero"),
        ({"think": "long"}, "is no time"),
        ({"gaps": "paced"}, "gaps=paced is of arrivals at a rate, and these are users"),
    ],
)
def test_what_cannot_be_told_of_the_load_is_refused_in_one_line(columns: dict[str, str], said: str) -> None:
    with pytest.raises(DataError, match=r".+") as refused:
        load(KINDS / "think_rps.csv", columns)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_rates_that_nobody_recorded_as_asked_do_not_prove_that_they_came() -> None:
    (said,) = [f.message for f in audit(load(KINDS / "wrk2" / "r1000.txt")) if f.check == "arrival-rate"]
    assert said == "the loads are the rates that came: whether more was asked for cannot be checked."


def test_only_curves_of_unknown_kind_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text(
        "series,users,requests_per_s,latency_ms\nsteady,1,50,20\nsteady,4,100,40\nodd,10,100,100\nodd,40,100,100\n"
    )
    asked = [f for f in load(path).findings if f.check == "load-kind"]
    assert [(f.series, f.severity) for f in asked] == [("odd", "error")]


def test_one_broken_point_is_no_other_kind_of_load(tmp_path: Path) -> None:
    users = [1, 4, 8, 16]
    latency = np.array([0.02, 0.04, 0.8, 0.16])
    (found,) = [
        f
        for f in load(table(tmp_path, users, np.array([50.0, 100, 100, 100]), latency)).findings
        if f.check == "load-kind"
    ]
    assert found.severity == "warning"


def test_a_latency_in_another_unit_is_no_other_kind_of_load(tmp_path: Path) -> None:
    users = [1, 4, 16]
    assert kinds_of(load(table(tmp_path, users, np.array([50.0, 100, 100]), 1e3 * np.array([0.02, 0.04, 0.16])))) == []


def test_rates_among_users_are_said_to_be_mixed(tmp_path: Path) -> None:
    latency = np.array([0.01, 0.02, 0.0105, 0.013])
    (said,) = kinds_of(load(table(tmp_path, [1, 8, 120, 320], np.array([100.0, 400, 120, 320]), latency)))
    assert said == "the load is the throughput at 120, 320, and in flight at the other points."


def test_a_generator_that_never_pauses_is_not_asked_about() -> None:
    kinds = [
        f.severity
        for name in ("ab", "wrk", "hey")
        for f in load(KINDS.parent / "servers" / name).findings
        if f.check == "load-kind"
    ]
    assert "error" not in kinds


def k6_run(folder: Path, active: dict[str, int], dropped: int = 0) -> Path:
    """A run of k6 whose 40 users are seldom busy."""
    metrics = {
        "http_req_duration": {"avg": 100.0},
        "http_reqs": {"count": 600, "rate": 50.0},
        "iteration_duration": {"avg": 100.0},
        "iterations": {"count": 600, "rate": 50.0},
        "vus": active,
        "vus_max": {"value": 40, "min": 40, "max": 40},
        **({"dropped_iterations": {"count": dropped, "rate": 1.0}} if dropped else {}),
    }
    path = folder / f"{active['max']}-{dropped}.json"
    path.write_text(json.dumps({"metrics": metrics}))
    return path


def test_users_of_k6_who_ramp_are_no_rate(tmp_path: Path) -> None:
    ramp = k6_run(tmp_path, {"value": 1, "min": 1, "max": 40})
    assert "the users varied from 1 to 40 within the run" in kinds_of(load(ramp))[0]
    assert kinds_of(load(ramp, {"gaps": "paced"})) == []
    assert kinds_of(load(k6_run(tmp_path, {"value": 1, "min": 1, "max": 40}, dropped=3))) == []
    assert kinds_of(load(k6_run(tmp_path, {"value": 2, "min": 2, "max": 6}))) == []
