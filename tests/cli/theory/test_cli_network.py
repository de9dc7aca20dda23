"""``qsim network``: a network in a file, solved, simulated, derived and drawn, and every way to write it wrongly."""

from __future__ import annotations

import json

import pytest

DRIVE = """
customers = 8
[stations]
host = { delay = "20us" }
bus = { service = "2us" }
die = { service = "80us", servers = 4 }
[routing]
host = { bus = 1 }
bus = { die = 1 }
die = { host = 0.9, die = 0.1 }
"""


def written(tmp_path, text):
    path = tmp_path / "net.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_describes_a_network(qsim, tmp_path):
    solved = qsim("network", written(tmp_path, DRIVE), "--json")
    assert solved.code == 0, solved.err
    assert (solved.json["kind"], solved.json["time_unit"]) == ("exact", "s")
    assert [s["name"] for s in solved.json["stations"]] == ["bus", "die"]
    alone = qsim("solve", "mmcn", "--population", "8", "--think-time", "20us", "--service", "80us", "--servers", "4")
    one = DRIVE.replace('bus = { service = "2us" }\n', "").replace("host = { bus = 1 }\nbus =", "host =")
    one = one.replace("die = { host = 0.9, die = 0.1 }", "die = { host = 1 }")
    network, station = (found.out.splitlines()[1:6] for found in (qsim("network", written(tmp_path, one)), alone))
    network = [line.replace("the busiest station", "servers").removesuffix(" of servers") for line in network]
    assert network == station


TANDEM = """
customers = "300/s"
[stations]
first = { service = "2ms" }
second = { service = "1ms" }
"""


def test_a_tandem_is_two_queues_one_after_the_other(qsim, tmp_path):
    """M/M/1 twice: W = 1 / (500 - 300) and 1 / (1000 - 300)."""
    run = qsim("network", written(tmp_path, TANDEM))
    assert run.code == 0, run.err
    assert "W         6.429 ms" in run.out
    column = run.out.splitlines()[-3].index("  W ") + 3
    assert [line[:column].split()[-2:] for line in run.out.splitlines()[-2:]] == [["5.000", "ms"], ["1.429", "ms"]]
    overloaded = qsim("network", written(tmp_path, TANDEM.replace("300/s", "2000/s")))
    assert (overloaded.code, "overloaded" in overloaded.error) == (2, True)


def test_json_and_classes(qsim, tmp_path):
    path = tmp_path / "net.json"
    document = {
        "stations": {"host": {"delay": 4}, "die": {"service": {"read": 1, "write": 3}, "discipline": "PS"}},
        "customers": {"read": 1, "write": 1},
        "routing": {
            "read": {"host": {"die": 1}, "die": {"host": 1}},
            "write": {"host": {"die": 1}, "die": {"host": 1}},
        },
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    run = qsim("network", str(path), "--json")
    assert run.code == 0, run.err
    classes = run.json["stations"][0]["classes"]
    # G(1, 1) = 16 + 4 + 12 + 2·3 = 38, and X = G(0, 1)/G = 7/38, G(1, 0)/G = 5/38: each W is 1/X - 4.
    assert [c["W"] for c in classes] == pytest.approx([38 / 7 - 4, 38 / 5 - 4])
    for more, inside in ([], []), (["--details"], ["read", "write"]):
        lines = qsim("network", str(path), *more).out.splitlines()
        assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == inside
    simulated = qsim("network", str(path), "--simulate", "--customers", "20000", "--seed", "1", "--json").json
    for one, known in zip(simulated["stations"][0]["classes"], [c["W"] for c in classes], strict=True):
        low, high = one["intervals"]["W"]
        assert abs(one["W"] - known) < high - low


@pytest.mark.parametrize(
    ("text", "said", "code"),
    [
        (DRIVE.replace("servers = 4", "servers = 0"), "station die: servers must be a whole number", 1),
        (DRIVE.replace("servers", "server"), "station die has no 'server'; it may have", 1),
        (DRIVE.replace('"2us"', "-1"), "service of bus must be positive and finite, not -1", 1),
        (DRIVE.replace('"20us"', '"0us"'), "delay of host must be positive and finite, not 0us", 1),
        (DRIVE.replace('"2us"', '"gama:mean=2us,scv=2"'), "service of bus", 1),
        (DRIVE.replace("customers = 8", 'customers.reads = { hst = "1/s" }'), "must name stations, not 'hst'", 1),
        (DRIVE.replace('{ delay = "20us" }', "7"), "station host must be a table", 1),
        (DRIVE.replace('service = "2us"', ""), "station bus needs a service", 1),
        (DRIVE.replace('"2us"', '"\N{MINUS SIGN}1"'), "net.toml: service of bus '\N{MINUS SIGN}1' is not a number", 1),
        (DRIVE.replace('"2us"', "1" * 4000), "service of bus is too large", 1),
        (DRIVE.replace('"2us"', f'"{"x" * 10**6}"'), "' is not a number with a unit; write it like 80us", 1),
        ("stations = [", "neither TOML nor JSON", 1),
    ],
)
def test_a_wrong_file_is_told_in_one_line(qsim, tmp_path, text, said, code):
    run = qsim("network", written(tmp_path, text))
    assert run.code == code, run.err
    assert said in run.err
    assert len(run.err.strip().splitlines()) == 1
    assert len(run.err) < 5000


TWO_ENTRIES = """
arrivals = { s1 = "4/s", s2 = "5/s" }
[stations.s1]
service = "100ms"
[stations.s2]
service = "100ms"
[routing.s1]
s2 = 0.25
"""


def test_arrivals_enter_at_the_stations_that_the_file_names(qsim, tmp_path):
    document = qsim("network", written(tmp_path, TWO_ENTRIES), "--json").json
    assert document["throughput"] == pytest.approx(9)
    assert document["L"] == pytest.approx(0.4 / 0.6 + 0.6 / 0.4)  # s1 gets 4/s, s2 gets 5 + 4 / 4


def test_without_routing_arrivals_are_served_where_they_enter_and_leave(qsim, tmp_path):
    text = TWO_ENTRIES.partition("[routing")[0]
    document = qsim("network", written(tmp_path, text), "--json").json
    assert document["L"] == pytest.approx(0.4 / 0.6 + 0.5 / 0.5)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (
            'customers = { s1 = "4/s", s2 = "5/s" }',
            's1 is a station; for arrivals at s1 write: arrivals = { s1 = "4/s" }',
        ),
        ("customers = { s1 = 4 }", "customers.s1 is a class of customers, and s1 is a station"),
        ('arrivals = { sx = "4/s" }', "arrivals must name stations, not 'sx'; there are s1, s2"),
        ('customers = 3\narrivals = { s1 = "4/s" }', "routing of customers at s1 must add up to 1"),
    ],
)
def test_a_file_that_names_no_clear_entry_is_refused_in_one_line(qsim, tmp_path, first, said):
    run = qsim("network", written(tmp_path, first + TWO_ENTRIES.partition("}")[2]))
    assert run.code == 1
    assert said in run.err
    assert len(run.err.strip().splitlines()) == 1
