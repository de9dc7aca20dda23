"""``qsim network FILE --clients``: an application on calibrated devices, and every way to describe it wrongly."""

from __future__ import annotations

import json

import pytest

from calibrate import from_datasheet, system
from qsim import Delay, Exponential, Station

APP = """
[stations]
users = { delay = "20ms" }
cpu = { service = "1ms", servers = 4 }
disk = { DISK, visits = 3 }
"""
SHEET = 'idle_latency = "80us", peak = "600k/s"'


@pytest.fixture
def app(tmp_path):
    """Writes the file of the application with this disk."""

    def write(disk: str = SHEET, text: str = APP):
        path = tmp_path / "app.toml"
        path.write_text(text.replace("DISK", disk))
        return str(path)

    return write


def test_the_answer_comes_first(qsim, app):
    run = qsim("network", app(), "--clients", "1..500", "--slo", "10ms")
    assert run.code == 0, run.err
    objective, bottleneck, knee, doubled, *_ = run.out.splitlines()
    assert objective.startswith("OBJECTIVE")
    assert bottleneck.split()[:2] == ["BOTTLENECK", "cpu"]
    assert "at most 4.00 k/s" in bottleneck
    assert knee.startswith("KNEE        85 clients")
    assert "peak 8.00 k/s, +100 %" in doubled
    assert "100 %" in run.out.splitlines()[-1]
    loads = {line.split()[0] for line in run.out.splitlines()[6:] if line[:7].strip()}
    assert loads >= {"1", "2", "4", "8", "16", "32", "64", "128", "256", "500"}  # the table leaves out none of so few


def test_the_knee_is_its_row_of_the_table(qsim, tmp_path):
    """A knee of 52.2 clients is printed as 52: so are the throughput and the response there."""
    path = tmp_path / "think.toml"
    path.write_text(
        "customers = 40\n[stations]\nthink = { delay = 0.5 }\n"
        "cpu = { service = 0.004, servers = 2, visits = 3 }\ndisk = { service = 0.002, visits = 5 }\n"
    )
    run = qsim("network", str(path), "--clients", "1..200")
    (knee,) = [line for line in run.out.splitlines() if line.startswith("KNEE")]
    (row,) = [line for line in run.out.splitlines() if line.strip().startswith("N* 52")]
    assert knee.startswith("KNEE        52 clients: 90.0 /s at 77.5 ms")
    assert "90.0 /s" in row
    assert "77.5 ms" in row


def test_json_is_what_the_library_gives(qsim, app):
    run = qsim("network", app(), "--clients", "1,50,100", "--slo", "10ms", "--json")
    drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    stations = {"users": Delay(0.02), "cpu": Station(Exponential(1e-3), servers=4), "disk": drive.station(visits=3)}
    expected = system(stations, clients=[1, 50, 100])
    assert run.json["points"] == json.loads(json.dumps(expected.to_dict()["points"]))
    assert run.json["knee"]["estimate"] == pytest.approx(expected.knee.estimate)
    assert run.json["objective"]["estimate"] == expected.within(10e-3).estimate


def test_a_fit_and_what_a_tool_wrote_are_devices(qsim, app, sweep_csv, tmp_path):
    assert qsim("fit", str(sweep_csv), "--out", str(tmp_path / "fit.json")).code == 0
    answers = [
        qsim("network", app(disk), "--clients", "1..64", "--json").json
        for disk in ('device = "fit.json"', f'device = "{sweep_csv}"')
    ]
    for one, other in zip(*(a["points"] for a in answers), strict=True):
        assert one["throughput_per_s"] == pytest.approx(other["throughput_per_s"], rel=1e-6)
        assert one["throughput_per_s_low"] < one["throughput_per_s"] < one["throughput_per_s_high"]


def test_simulated_it_has_percentiles_and_a_report(qsim, app, tmp_path):
    page = tmp_path / "app.html"
    words = ("--clients", "1,100", "--simulate", "--slo", "p99=30ms", "--report", str(page))
    run = qsim("network", app(), *words)
    assert run.code == 0, run.err
    assert "P99" in run.out
    assert "p99 response within 30.0 ms" in run.out
    assert "Latency against throughput" in page.read_text()


@pytest.mark.parametrize(
    ("disk", "words", "said"),
    [
        (SHEET, (), "give --clients 1..500"),
        (SHEET, ("--clients", "0"), "--clients: invalid number of clients 0"),
        (SHEET, ("--clients", "8", "--slo", "p99=1ms"), "needs --simulate"),
        (SHEET, ("--slo", "1ms"), "--slo needs --clients"),
        ('device = "none.json"', ("--clients", "8"), "none.json is missing"),
        ('device = "old.json"', ("--clients", "8"), "is not a fit of qsim"),
        ("device = 3", ("--clients", "8"), "device must name a fit or a sweep"),
        ('idle_latency = "80us"', ("--clients", "8"), "needs peak too"),
        (SHEET + ", servers = 3", ("--clients", "8"), "has no 'servers'"),
        (SHEET + ', extrapolate = "yes"', ("--clients", "8"), "true or false"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(qsim, app, tmp_path, disk, words, said):
    (tmp_path / "old.json").write_text('{"schema": "qsim-fit/9"}')
    run = qsim("network", app(disk), *words)
    assert run.code in (1, 2)
    assert said in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_visits_and_the_number_of_clients_are_checked(qsim, app):
    for visits in ("0", "-2"):
        none = qsim("network", app(text=APP.replace("visits = 3", f"visits = {visits}")), "--clients", "8")
        assert none.code == 1
        assert "visits must be positive" in none.error
    idle = '[stations]\nusers = { delay = "20ms" }\n'
    assert "no bottleneck" in qsim("network", app(text=idle), "--clients", "8").error
    slow = APP.replace('"1ms"', '"1us"').replace('"20ms"', '"1us"')
    assert "extrapolate=True" in qsim("network", app(text=slow), "--clients", "5000").err
    allowed = slow.replace("visits = 3", "visits = 3, extrapolate = true")
    assert qsim("network", app(text=allowed), "--clients", "500").code == 0


ARRIVING = 'arrivals = "3000/s"\n' + APP.replace('users = { delay = "20ms" }\n', "")


def test_a_file_with_arrivals_gives_the_bands_at_their_rate(qsim, app):
    run = qsim("network", app(text=ARRIVING))
    assert run.code == 0, run.err
    assert run.out.startswith("BOTTLENECK  cpu in all draws: stable below 4.00 k/s")
    assert "1.75 ms (1.70 to 1.83) at 3.00 k/s" in run.out
    assert "exact, open network of product form" in run.out
    assert qsim("network", app(text=ARRIVING), "--json").json["application"]["points"][0]["arrivals_per_s"] == 3000
    refused = qsim("network", app(text=ARRIVING), "--clients", "1..8")
    assert (refused.code, "arrivals from outside" in refused.error) == (2, True)
    unstable = qsim("network", app(text=ARRIVING.replace("3000", "5000")))
    assert (unstable.code, "rates must be below 4.00 k/s, which cpu serves" in unstable.error) == (2, True)
