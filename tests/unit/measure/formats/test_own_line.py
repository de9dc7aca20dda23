"""The line in which a script prints its own result."""

from __future__ import annotations

import math

import pytest

from measure.errors import DataError
from measure.formats.command_output import own_line


@pytest.mark.parametrize(
    "text",
    [
        '{"throughput": 800, "latency_ms": 2.5}',
        'starting\n{"throughput": 1, "latency_ms": 9}\n{"throughput": 800, "latency_ms": 2.5}\ndone\n',
        '{\n "throughput": 800,\n "latency_ms": 2.5\n}\n',
        '{"throughput": 800, "latency_ms": 2.5, "host": {"name": "a"}, "ok": [1]}\r\n',
        "iops,lat_us\n100,9\n800,2500\n",
        "warming up\niops;lat_us\n800;2500\ndone\n",
        "requests_per_s\tlatency_ms\n800\t2.5\n",
    ],
)
def test_the_last_line_of_json_or_csv_is_read(text: str) -> None:
    line = own_line(text, "run")
    assert line is not None
    assert (line.throughput_per_s, line.latency_s, line.is_open) == (800.0, 2.5e-3, False)


def test_a_latency_without_a_unit_is_open_and_one_that_is_missing_is_none() -> None:
    without = own_line('{"throughput": 800, "latency": 2.5}', "run")
    assert without is not None
    assert (without.latency_s, without.is_open) == (2.5, True)
    line = own_line('{"throughput": 800}', "run")
    assert line is not None
    assert line.latency_s is None
    assert math.isnan(line.sd_s)


def test_percentiles_and_the_load_of_the_line_itself_are_read() -> None:
    line = own_line("clients,iops,lat_us,p99_us\n4,800,2500,9000\n", "run")
    assert line is not None
    assert (line.load, dict(line.percentiles)) == (4.0, {99.0: 9e-3})


@pytest.mark.parametrize(
    "text", ["", "done\n", "800\n", '{"latency": 0.1}', "iops,lat_us\n", "[1, 2]", '{"throughput": ']
)
def test_other_texts_hold_no_line(text: str) -> None:
    assert own_line(text, "run") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"throughput": 0, "latency": 0.1}', "its throughput is '0': no request was counted"),
        ('{"throughput": NaN}', "its throughput is 'nan'"),
        ('{"throughput": 5, "latency": -1}', "its latency is '-1'"),
        ('{"throughput": "many", "latency": 1}', "its throughput is 'many', which is not a number"),
        (
            "throughput;latency_ms\n800,5;2,5\n",
            "its latency_ms is '2,5'; numbers have a decimal point: begin the command with env LC_ALL=C",
        ),
        ("throughput,latency_ms\n800,5,2,5\n", "4 cells under a header of 2; if it writes 12,5 for 12.5"),
    ],
)
def test_what_is_no_result_is_refused_with_its_cause(text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        own_line(text, "run")
    assert said in str(error.value)
