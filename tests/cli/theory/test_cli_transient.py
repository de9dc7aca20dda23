"""``qsim transient``: tables, steps of the rate, simulation, files, and what is refused."""

from __future__ import annotations

import pytest

from qsim import MMc, transient


def test_the_answer_first_then_a_table(qsim) -> None:
    run = qsim("transient", "mm1", "--arrival-rate", "0.8", "--service-rate", "1", "--at", "1,10,100")
    assert run.code == 0
    assert run.out.splitlines()[1].startswith("L is highest at t = 100: 3.792 present")
    assert run.out.splitlines()[-1].split() == ["100", "3.79187", "2.99585"]


def test_steps_of_the_rate_and_json(qsim) -> None:
    document = qsim(
        "transient",
        "mmc",
        "--service-rate",
        "12",
        "--servers",
        "2",
        "--rates",
        "0=5,9=40,10=5",
        "--at",
        "9,10",
        "--simulate",
        "50",
        "--json",
    ).json
    rows = [r for r in document["rows"] if (r["curve"], r["quantity"]) == ("formula", "L")]
    exact = transient(MMc(5, 12, 2), [9, 10], arrival_rate={0: 5, 9: 40, 10: 5})
    assert [r["value"] for r in rows] == pytest.approx(exact.L.tolist())
    simulated = [r for r in document["rows"] if (r["curve"], r["quantity"]) == ("simulated", "L")]
    assert all(r["low"] <= r["value"] <= r["high"] for r in simulated)


def test_a_page_is_written(qsim) -> None:
    run = qsim(
        "transient",
        "mmcn",
        "--population",
        "4",
        "--service-time",
        "1ms",
        "--think-time",
        "2ms",
        "--until",
        "20ms",
        "--out",
        "page.html",
    )
    assert run.code == 0
    assert "written: page.html" in run.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--service-rate", "1", "--rates", "0=-5", "--at", "1"], "zero or positive"),
        (["--service-rate", "1", "--rates", "2=5", "--at", "1"], "begin it with 0=RATE"),
        (["--service-rate", "1", "--rates", "5", "--at", "1"], "expected TIME=RATE"),
        (["--service-rate", "1", "--rates", "0=5,0=6", "--at", "1"], "given twice"),
        (["--service-rate", "1", "--rates", "0=5", "--arrival-rate", "5", "--at", "1"], "say the same thing"),
        (["--service-rate", "1", "--arrival-rate", "5"], "either --at"),
        (["--service-rate", "1", "--arrival-rate", "5", "--at", "3,2"], "must rise"),
        (["--service-rate", "1", "--arrival-rate", "5", "--until", "-3"], "--until must be above 0, not -3"),
    ],
)
def test_what_makes_no_sense_is_one_line(qsim, options: list[str], said: str) -> None:
    run = qsim("transient", "mm1", *options)
    assert run.code == 2
    assert said in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_model_without_a_formula_is_simulated(qsim) -> None:
    given = ["transient", "mg1", "--service", "erlang:k=2,mean=1", "--arrival-rate", "0.5", "--at", "5"]
    assert "add --simulate 1000" in qsim(*given).err
    assert "simulated, 20 replications" in qsim(*given, "--simulate", "20").out
