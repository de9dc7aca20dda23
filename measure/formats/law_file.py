"""A law of service times in a file: qsim's own, fio's latency histogram, or a table of times and counts.

qsim's holds family and parameters, to the last digit, and what the law was fitted to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measure.errors import DataError, MeasureError
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.latency_bins import histogram
from measure.formats.tables.cells import number, read_table
from measure.formats.tables.column_names import ColumnRole
from measure.machine.durable import write_durably
from measure.text_files import read_document, read_text
from qsim import Distribution, Empirical
from qsim.distributions.as_dict import law_from_dict, law_to_dict

SCHEMA = "qsim-law/1"
_REMEDY = "write one with: qsim fit-service DATA --out law.json"
HEADER = ("latency_s", "count")


def write_law(law: Distribution, path: Path, about: Mapping[str, Any]) -> None:
    """Write ``law`` (times in seconds) to ``path``, whole or not at all; ``about`` says where it is from.

    Raises MeasureError where the file cannot be written.
    """
    document = {"schema": SCHEMA, "unit": "s", "law": law_to_dict(law), "about": dict(about)}
    try:
        write_durably(path, json.dumps(document, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error


def read_law(path: Path) -> Distribution:
    """The law in ``path``, in seconds, equal to the one that was written.

    Raises DataError naming the file, what is wrong and the remedy.
    """
    document = read_document(path, (SCHEMA,), "a law of qsim", _REMEDY)
    try:
        return law_from_dict(document["law"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path} holds a law that cannot be ({error}); {_REMEDY}") from error


def read_histogram(path: Path) -> Empirical:
    """The law in ``path``: fio's json+ output with one job, or CSV with the columns ``latency_s,count``.

    fio's bins are spread evenly between their edges; the rows of a table are exact times. Raises DataError in one
    sentence that names the file, what is wrong and the remedy.
    """
    text = read_text(path)
    return _of_fio(text, path.name) if '"fio version"' in text else _of_table(text, path.name)


def _of_fio(text: str, name: str) -> Empirical:
    records = parse_fio(text, name)
    if len(records) != 1:
        raise DataError(f"{name} holds {len(records)} jobs; give the output of a run with one job")
    bins = histogram(records[0])
    return Empirical(
        tuple(bins.lower_s.tolist()), tuple(bins.counts.tolist()), tuple((bins.upper_s - bins.lower_s).tolist())
    )


def _of_table(text: str, name: str) -> Empirical:
    table = read_table(text, name)
    if table.header != HEADER:
        raise DataError(
            f"{name} is neither fio's json+ output nor a table with the header {','.join(HEADER)}; write one row a "
            "time, in seconds, with its count"
        )
    times, counts = [], []
    for line, cells in table.rows:
        time, count = (number(cells[column], ColumnRole("", column), line, name) for column in HEADER)
        if time is None or count is None or time < 0 or count < 0:
            raise DataError(f"{name}, line {line}: a time and a count are zero or more; correct the line")
        times.append(time)
        counts.append(count)
    if not sum(t * c for t, c in zip(times, counts, strict=True)) > 0:
        raise DataError(f"{name} counts no time above zero; give rows with a time and a count")
    return Empirical(tuple(times), tuple(counts))
