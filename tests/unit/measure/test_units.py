"""Quantities as people type them, and as they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.units import (
    format_bandwidth,
    format_bytes,
    format_duration,
    format_percent,
    format_rate,
    parse_bytes,
    parse_count,
    parse_duration,
    parse_list,
    parse_rate,
    significant,
    with_interval,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("80us", 80e-6),
        ("80 µs", 80e-6),
        ("80 μs", 80e-6),
        ("1.5ms", 1.5e-3),
        ("10ns", 10e-9),
        ("2", 2.0),
        ("2s", 2.0),
        ("2min", 120.0),
        ("2m", 120.0),
        ("1h", 3600.0),
        (".5 s", 0.5),
        ("1e-3", 1e-3),
        ("2 MS", 2e-3),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4KiB", 4096),
        ("4k", 4096),
        ("4kB", 4000),
        ("1GiB", 2**30),
        ("0.5k", 512),
        ("1MB", 10**6),
        ("7", 7),
        ("2T", 2**41),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "rate"),
    [("20k/s", 20e3), ("600k", 600e3), ("2.7", 2.7), ("12/ms", 12e3), ("5k IOPS", 5e3), ("60/min", 1.0)],
)
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,4,8", [1, 2, 4, 8]),
        ("1..16,24", [1, 2, 4, 8, 16, 24]),
        ("1..6", [1, 2, 4, 6]),
        (" 3 , ", [3]),
        ("2..2", [2]),
    ],
)
def test_lists(text: str, values: list[float]) -> None:
    assert parse_list(text) == values


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_duration, "fast", "duration 'fast' is not a number with a unit; write it like 80us"),
        (parse_duration, "3 parsecs", "unit 'parsecs' is unknown; use ns, us"),
        (parse_duration, "1e999", "is not finite"),
        (parse_duration, "", "is not a number"),
        (parse_duration, "nan", "is not a number"),
        (parse_bytes, "1.0001k", "is not a whole number of bytes"),
        (parse_bytes, "4 pages", "unit 'pages' is unknown"),
        (parse_count, "6 dozen", "unit 'dozen' is unknown"),
        (parse_rate, "5/fortnight", "unit 'fortnight' is unknown"),
        (parse_count, "1,000", "'1,000' has a comma; write a point before decimals, nothing between thousands"),
        (parse_duration, "1,5ms", "'1,5ms' has a comma; write a point before decimals"),
        (parse_list, "1,000", "'1,000': a comma stands between values; write 1000"),
        (parse_list, "100,1,000users", "write 1000"),
        (parse_list, "0,05", "write 0.05"),
        (parse_list, "", "is empty"),
        (parse_list, "8..1", "goes from a positive number upwards"),
        (parse_list, "0..8", "goes from a positive number upwards"),
        (parse_list, "1,x", "'x' is not a number"),
    ],
)
def test_what_is_no_quantity_is_named(parse: Callable[[str], object], text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse(text)


@given(st.floats(1e-9, 1e4))
def test_a_shown_duration_reads_back_to_its_digits(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=6e-3)


def test_what_is_beyond_every_unit_is_shown_in_powers_of_ten() -> None:
    assert format_duration(999_000) == "999000 s"
    assert format_duration(1.668e294) == "1.67e+294 s"
    assert format_rate(2e300) == "2e+291 G/s"


@given(st.floats(1e-2, 1e11))
def test_a_shown_rate_reads_back_to_its_digits(rate: float) -> None:
    assert parse_rate(format_rate(rate).replace(" ", "")) == pytest.approx(rate, rel=6e-3)


@given(st.integers(1, 2**45))
def test_a_shown_size_is_near(size: int) -> None:
    number, unit = format_bytes(size).split()
    scale = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
    assert float(number) * scale == pytest.approx(size, rel=1e-3)


PARSERS = (parse_duration, parse_bytes, parse_count, parse_rate, parse_list)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text(max_size=20) | st.from_regex(r"\A\d{1,3}e?\d{0,3} ?[kmgtshu]?[a-z/]{0,3}\Z"))
def test_any_text_is_a_finite_number_or_a_value_error(parse: Callable[[str], float | list[float]], text: str) -> None:
    try:
        read = parse(text)
    except ValueError:
        return
    values = read if isinstance(read, list) else [read]
    assert all(math.isfinite(v) for v in values)


@pytest.mark.parametrize(
    ("parse", "text"), [(parse_duration, "1e308h"), (parse_bytes, "1e308T"), (parse_rate, "1e308k/ns")]
)
def test_what_overflows_is_refused(parse: Callable[[str], float], text: str) -> None:
    with pytest.raises(ValueError, match="too large"):
        parse(text)


def test_zero_and_bandwidth() -> None:
    assert format_duration(0.0) == "0 ns"
    assert format_bandwidth(28439.1e6) == "28.4 GB/s"


@pytest.mark.parametrize(
    ("percent", "text"),
    [
        (4.68, "4.7 %"),
        (0.012, "0.012 %"),
        (99.4, "99 %"),
        (217.3, "217 %"),
        (1234.5, "1234 %"),
        (99.7, "100 %"),
        (99.94, "100 %"),
        (-99.7, "-100 %"),
        (999_400.0, "999400 %"),
    ],
)
def test_percentages_are_never_in_powers_of_ten(percent, text):
    assert format_percent(percent) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (-0.0, "0"), (-1.0, "-1.0"), (-0.0462, "-0.046")])
def test_nothing_has_no_digits_and_what_is_negative_has_as_many_as_its_opposite(value: float, text: str) -> None:
    assert significant(value, 2) == text


@given(st.floats(1e-7, 1e7), st.floats(1e-3, 0.3), st.floats(1e-3, 0.3))
def test_rounding_moves_a_number_by_an_eighth_of_its_interval_or_it_has_three_digits(value, below, above):
    low, high = value * (1 - below), value * (1 + above)
    number, unit, *_ = with_interval(format_rate, value, low, high).split()
    printed = float(number) * {"/s": 1.0, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9}[unit]
    three = format_rate(value).split()[0]
    assert number == three or abs(printed - value) <= (high - low) / 8 * (1 + 1e-9)
