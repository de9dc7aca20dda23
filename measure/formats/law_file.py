"""A law of service times in a file: qsim's own, or fio's latency histogram.

qsim's file holds family and parameters, to the last digit, and the data that the law was fitted to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measure.errors import DataError, MeasureError
from measure.formats.fio.json_output import parse_fio
from measure.machine.files import write_new
from measure.text_files import read_document, read_text
from qsim import Distribution, Empirical
from qsim.distributions import law_from_dict, law_to_dict

SCHEMA = "qsim-law/1"
_REMEDY = "write one with: qsim fit-service DATA --out law.json"


def write_law(law: Distribution, path: Path, about: Mapping[str, Any]) -> None:
    """Write ``law`` (times in seconds) to the new file ``path``; ``about`` says where it is from.

    Raises MeasureError where the file exists or cannot be written.
    """
    document = {"schema": SCHEMA, "unit": "s", "law": law_to_dict(law), "about": dict(about)}
    try:
        write_new(path, json.dumps(document, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error


def read_law(path: Path) -> Distribution:
    """The law in ``path``, times in seconds, equal to the one that was written.

    Raises DataError naming the file, what is wrong and the remedy.
    """
    document = read_document(path, (SCHEMA,), "a law of qsim", _REMEDY)
    try:
        return law_from_dict(document["law"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path} holds a law that cannot be ({error}); {_REMEDY}") from error


def read_histogram(path: Path) -> Empirical:
    """The law in ``path``, fio's json+ output with one job, in seconds: times are uniform within each bin.

    Raises DataError in one sentence that names the file, what is wrong and the remedy.
    """
    records = parse_fio(read_text(path), path.name)
    if len(records) != 1:
        raise DataError(f"{path.name} holds {len(records)} jobs; give the output of a run with one job")
    bins = records[0].latency.histogram
    if bins is None:
        raise DataError(
            f"{path.name} holds no histogram; measure with --output-format=json+ (and --lat_percentiles=1 for that of "
            "the total latency)"
        )
    return Empirical(
        tuple(bins.lower_s.tolist()), tuple(bins.counts.tolist()), tuple((bins.upper_s - bins.lower_s).tolist())
    )
