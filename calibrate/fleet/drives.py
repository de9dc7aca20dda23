"""Every sweep in some folders, fitted, as one table: medians of each model, odd drives, unreadable files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from calibrate.fitting.calibrating import fit
from calibrate.fitting.fit import Fit
from calibrate.fleet.odd import FALSE_ALARMS, LEAST, LIKE, Power, with_oddness
from calibrate.fleet.workers import spread
from calibrate.inference.parameters import how_sure
from calibrate.points import points_of
from measure.errors import DataError
from measure.formats.by_format import NoMeasurementError
from measure.loading import load, read_measurement
from measure.sweep import Sweep
from measure.text_files import shown_name
from measure.units import counted, format_duration, format_percent, format_rate, plain_number
from qsim.result import Result, labelled, table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FittedCurve = tuple[dict[str, Any], Mapping[float, float]]
"""The row of a curve, and its throughputs by load."""

FIGURES = tuple(
    f"{figure}{end}{unit}"
    for figure, unit in (("idle_latency", "_s"), ("peak", "_per_s"), ("knee", ""))
    for end in ("", "_low", "_high")
)


@dataclass(frozen=True, repr=False)
class Fleet(Result):
    """``drives``: a row a curve, with its ``kind`` and how it is ``odd``; ``broken``: file -> reason.

    ``left_out`` names files that are no measurement, by the rule that :func:`measure.load` has for a folder.
    ``curves`` holds the throughput of each row of ``drives`` at each load (NaN: not measured), ``powers`` the loss
    that would have been found in each group of like drives. ``redone`` names what was fitted again as its worker ended.
    """

    drives: pd.DataFrame
    curves: pd.DataFrame
    powers: Sequence[Power]
    broken: Mapping[str, str]
    left_out: Sequence[str] = ()
    redone: Sequence[str] = ()

    def to_frame(self) -> pd.DataFrame:
        """The table of drives."""
        return self.drives

    @property
    def odd(self) -> pd.DataFrame:
        """The rows of odd drives."""
        return self.drives[self.drives["odd"] != ""]

    def plot(self) -> Figure:
        """Throughput over the load against that of like drives, odd ones marked."""
        from calibrate.report.plots import fleet_figure

        return fleet_figure(self)

    def __repr__(self) -> str:
        return "\n".join(fleet_answer(self))


def fit_fleet(
    paths: Iterable[str | Path], executor: Executor | None = None, *, progress: Callable[[float], object] | None = None
) -> Fleet:
    """Fit every drive: each file, and each folder, in one of the folders ``paths`` is a measurement of one.

    The workers of ``executor`` share the work, with the same result: any ``concurrent.futures.Executor``, as a pool of
    processes or Dask's ``Client(address).get_executor()``. Its workers read the measurements, so they must see the
    files; a folder that is not here may be theirs alone. Where a worker ends, another one does its drives, or this
    process. Raises DataError where nothing could be read.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as rack, ThreadPoolExecutor(2) as executor:
    ...     for name in ("a", "b"):
    ...         _ = Path(rack, f"{name}.csv").write_text("depth,iops,lat_us\\n1,1e4,100\\n8,7e4,114\\n16,8e4,200\\n")
    ...     fit_fleet([rack], executor).drives["drive"].tolist()
    ['a.csv', 'b.csv']
    """
    paths = [*paths]
    if not all(map(str, paths)):
        raise DataError("the name of a folder is empty; name folders of sweeps")
    again: dict[Path, None] = {}
    work = [path for folder in paths for path in _listed(Path(folder), executor)]
    fitted = _fitted if executor is None else partial(_fitted_by_worker, Path.cwd())
    done = spread(fitted, work, executor, progress=progress, ended=lambda lost: again.update(dict.fromkeys(lost)))
    found = [curve for curves, _ in done for curve in curves]
    broken = {shown_name(path): why for path, (_, why) in zip(work, done, strict=True) if why}
    if not found:
        first = next(iter(broken.items()), None)
        raise DataError(f"{first[0]}: {first[1]}" if first else "no measurement in the folders; name folders of sweeps")
    table = pd.DataFrame([row for row, _ in found]).astype(dict.fromkeys(FIGURES, float))
    curves = pd.DataFrame([throughputs for _, throughputs in found]).sort_index(axis=1)
    judged, powers = with_oddness(table, curves)
    none = [path for path, (curves_found, why) in zip(work, done, strict=True) if not curves_found and not why]
    left_out = [f"{shown_name(path.name)} (no measurement)" for path in none]
    return Fleet(judged, curves, powers, broken, left_out, [shown_name(path) for path in again])


def _listed(folder: Path, executor: Executor | None) -> list[Path]:
    """What is in a folder here, or, where it is not here, in that of the workers."""
    if executor is None or folder.exists():
        return _entries(folder)
    return spread(_entries, [folder.absolute()], executor)[0]


def _entries(folder: Path) -> list[Path]:
    """The measurements in a folder; a file, or a sweep directory, is one itself."""
    if not folder.exists():
        raise DataError(f"{folder} does not exist; check the name")
    if folder.is_file() or (folder / "sweep.json").exists():
        return [folder]
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _fitted_by_worker(home: Path, path: Path) -> tuple[list[FittedCurve], str]:
    """As ``_fitted``, of a path in the folder ``home``, where a worker may not be; it is named as if it were."""
    place = home / path
    if not os.path.exists(place):
        return [], f"not seen by a worker on {socket.gethostname()}; put it where every worker sees it as {place}"
    found, why = _fitted(place)
    named = [({**row, "source": shown_name(path)}, throughputs) for row, throughputs in found]
    return named, why.replace(shown_name(place), shown_name(path))


def _fitted(path: Path) -> tuple[list[FittedCurve], str]:
    """Every curve of a measurement that can be fitted, and why others cannot or files in it are not read."""
    try:
        if path.is_file():
            read_measurement(path, path.name)
        sweep = load(path)
    except NoMeasurementError:
        return [], ""
    except (DataError, OSError) as error:
        return [], str(error)
    found: list[FittedCurve] = []
    broken = [f.message for f in sweep.findings if f.check == "unreadable-file"]
    for name in sweep.series:
        try:
            points = points_of(sweep, name)
            row = {"drive": shown_name(path.name), "series": name, **make_of(sweep), **_row(fit(sweep, series=name))}
        except DataError as error:
            broken.append(str(error))
        else:
            row["throughput_measured"] = bool(points.measured("throughput_per_s").all())
            throughputs = dict(zip(points.load.tolist(), points.throughput_per_s.tolist(), strict=True))
            found.append(({**row, "source": shown_name(path)}, throughputs))
    return found, "; ".join(broken)


def make_of(sweep: Sweep) -> dict[str, str]:
    """The ``model`` and the ``firmware`` of the drive, where the measurement recorded them.

    The address of an NBD export is no model: exports are of one, unless the measurement recorded another.
    """
    details = sweep.provenance.details
    storage = details.get("storage") or {}
    names = (details.get("model"), storage.get("model"), storage.get("device"), sweep.provenance.device)
    model = str(next(filter(None, names), ""))
    return {
        "model": "NBD" if model.startswith(("nbd://", "nbd+unix://")) else model,
        "firmware": str(details.get("firmware") or ""),
    }


def _row(made: Fit) -> dict[str, Any]:
    idle, peak = (made.curve_parameters.get(name) for name in ("R1", "Xmax"))
    if idle is None or peak is None:
        raise DataError(f"{made.series} is no curve over requests outstanding, which a fleet is compared by")
    figures = (e for one in (idle, peak) for e in (one.estimate, one.low, one.high))
    knee = (made.knee.load, made.knee.low, made.knee.high)
    sure = all(how_sure(e.identified, e.low, e.high) == "sure" for e in (idle, peak))
    return {"points": len(made.used), **dict(zip(FIGURES, (*figures, *knee), strict=True)), "sure": sure}


MODEL_COLUMNS = ("MODEL", "FIRMWARE", "CURVE", "CURVES", "KNEE", "PEAK", "IDLE LATENCY")
PRODUCT = 0.01  # the relative precision to which a knee is the product of idle latency and peak

MOST_ROWS = 10
NOTHING_LEFT = 99.0  # a loss of so many percent, beyond which none is named: a drive has hardly any throughput left


def fleet_answer(fleet: Fleet) -> list[str]:
    """Four lines, a table of models, the odd drives."""
    drives, odd = fleet.drives, fleet.odd
    lines = [
        f"{counted(drives['drive'].nunique(), 'drive')}, {counted(len(drives), 'curve')}",
        labelled("MIDDLE", _middle(drives)),
        labelled("ODD", f"{counted(len(odd), 'curve')}; by chance 1 of {1 / FALSE_ALARMS:g} fleets has one"),
        labelled("SEEN", _seen(fleet.powers)),
        *([labelled("NOTE", computed)] if (computed := _computed(drives)) else []),
        "",
        _cut(MODEL_COLUMNS, model_rows(drives), 3),
    ]
    if len(odd):
        lines += ["", odd_table(odd)]
    if fleet.broken:
        name, why = next(iter(fleet.broken.items()))
        count = counted(len(fleet.broken), "measurement")
        lines += ["", labelled("BROKEN", f"{count} left out or incomplete, the first {name}: {why}")]
    return lines


def _seen(powers: Sequence[Power]) -> str:
    """The loss that would have been found; of several groups, in the least sensitive one."""
    judged = [p for p in powers if p.one_load_pct is not None and p.all_loads_pct is not None]
    few = sum(p.drives for p in powers if p.one_load_pct is None)
    left = f"; {counted(few, 'curve')} in groups below {LEAST} not judged" if few else ""
    if not judged:
        return f"nothing: no group of like drives has {LEAST} curves over the same loads"
    worst = max(judged, key=lambda p: p.one_load_pct or 0.0)
    one, every = worst.one_load_pct or 0.0, worst.all_loads_pct or 0.0
    if every >= NOTHING_LEFT:
        return f"nothing for sure: like drives differ so much here that none is odd by being slower{left}"
    lost = f"{format_percent(every)} slower at all loads"
    if one < NOTHING_LEFT:
        lost = f"{format_percent(one)} slower at any one load, or {format_percent(every)} at all,"
    return f"a drive {lost} would have been found nine times in ten{left}"


def _computed(drives: pd.DataFrame) -> str:
    """What curves whose throughput was computed are compared by; "" where all were measured."""
    count = int((~drives["throughput_measured"]).sum())
    if not count:
        return ""
    if count == len(drives):
        return "the throughput of every curve was computed as N / R: latencies alone are compared"
    some = f"{count} of {counted(len(drives), 'curve')}"
    return f"the throughput of {some} was computed as N / R: of these, latencies alone are compared"


def _middle(drives: pd.DataFrame) -> str:
    if (kinds := drives.groupby(LIKE, sort=False).ngroups) > 1:
        return f"of each of {kinds} kinds, below: unlike drives have none in common"
    knee, peak, idle = _medians(drives)
    return f"knee {knee}, peak {peak}, idle latency {idle} (medians)"


def _medians(drives: pd.DataFrame) -> tuple[str, str, str]:
    """Knee, peak and idle latency of a middle drive: its N* is the product of the other two, as each drive's is."""
    knee, peak, idle = (drives[name].median() for name in ("knee", "peak_per_s", "idle_latency_s"))
    products = (drives["idle_latency_s"] * drives["peak_per_s"]).clip(lower=1.0)
    if ((drives["knee"] / products - 1).abs() < PRODUCT).all():
        knee = max(peak * idle, 1.0)
    return plain_number(knee, 2), format_rate(peak), format_duration(idle)


def model_rows(drives: pd.DataFrame) -> list[tuple[str, ...]]:
    """A row for each model, firmware and curve: how many, and the medians."""
    several = drives["kind"].nunique() > 1
    return [
        (
            *(str(group[name].iloc[0]) or "-" for name in ("model", "firmware")),
            str(group["series"].iloc[0]) + (f", kind {group['kind'].iloc[0]}" if several else ""),
            str(len(group)),
            *_medians(group),
        )
        for _, group in drives.groupby(LIKE, sort=False)
    ]


def odd_table(odd: pd.DataFrame) -> str:
    """A row for each odd curve."""
    rows = [(str(r.drive), str(r.series), str(r.odd)) for r in odd.itertuples()]
    return _cut(("ODD DRIVE", "CURVE", "AGAINST THE MEDIAN OF ITS LIKE"), rows, 3)


def _cut(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int) -> str:
    text = table(header, rows[:MOST_ROWS], left=left)
    return text if len(rows) <= MOST_ROWS else f"{text}\n... and {len(rows) - MOST_ROWS} more (--out FILE has all)"
