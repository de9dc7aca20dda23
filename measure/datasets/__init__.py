"""Published measurements that come with the package, so that everything can be tried without hardware.

``dataset_names()`` lists them, ``about(name)`` says what each is and what is wrong with it, ``load_dataset(name)``
gives the Sweep and ``dataset_table(name)`` the table as printed.
"""

from __future__ import annotations

import io
from dataclasses import replace
from importlib.resources import files

import pandas as pd

from measure.datasets.catalogue import CATALOGUE, DatasetInfo
from measure.errors import DataError
from measure.formats.tables.table import csv_sweep
from measure.sweep import Provenance, Sweep

__all__ = ["DatasetInfo", "about", "dataset_names", "dataset_table", "load_dataset"]

_BY_NAME = {info.name: info for info in CATALOGUE}


def dataset_names(*, curves_only: bool = False) -> tuple[str, ...]:
    """The names in the catalogue's order; with ``curves_only`` those that ``load_dataset`` gives as a Sweep.

    >>> dataset_names(curves_only=True)[:2]
    ('000-ssd', '000-memory')
    """
    return tuple(info.name for info in CATALOGUE if info.curve or not curves_only)


def about(name: str) -> DatasetInfo:
    """What is known of a dataset. DataError listing the names for an unknown one."""
    info = _BY_NAME.get(name)
    if info is None:
        raise DataError(f"there is no dataset {name!r}; there are {', '.join(_BY_NAME)}")
    return info


def load_dataset(name: str, corrected: bool = False) -> Sweep:
    """A dataset as a Sweep in SI units, every curve of it, with its numbers as printed.

    ``corrected`` applies what the audit finds and says so in a Finding, see :mod:`measure.auditing.correcting`.
    Raises DataError for an unknown name, and for a table that is no curve, naming what there is instead.

    >>> load_dataset("004-ssd-depth")
    Sweep 004-ssd-depth: 5 points of 1 curve by fio on Windows, direct not set: 16 KiB
    outstanding requests N: 1 to 1024 requests
    """
    info = about(name)
    if not info.curve:
        raise DataError(
            f"dataset {name!r} cannot be compared with a curve: {info.why_no_curve}; "
            f"dataset_table({name!r}) gives its table"
        )
    sweep = csv_sweep(_text(name), info.columns, info.units, name=f"{name}.csv")
    details = {**sweep.provenance.details, "title": info.title, "varied": info.varied, "anomaly": info.anomaly}
    provenance = Provenance(
        tool=info.tool, cpu=info.host_cpu, device=info.device, source=f"{info.source}, table {name}", details=details
    )
    # The columns that a printed table has beyond its curve are known to the catalogue and need no remark.
    noted = tuple(f for f in sweep.findings if f.check != "columns")
    sweep = replace(sweep, provenance=provenance, findings=noted, name=name)
    if not corrected:
        return sweep
    from measure.auditing.correcting import corrected as correct

    return correct(sweep)


def dataset_table(name: str) -> pd.DataFrame:
    """A dataset's table exactly as printed, units and labels included. DataError for an unknown name."""
    about(name)
    return pd.read_csv(io.StringIO(_text(name)), comment="#")


def _text(name: str) -> str:
    return (files(__name__) / f"{name}.csv").read_text("utf-8")
