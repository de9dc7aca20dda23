"""``qsim plot``: any curve, of theory, of a fit or of a measurement, as a page, an image, or its data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table
from calibrate.cli.data import DataSource, known_dataset, known_series
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import AsJson, Columns, Series
from calibrate.cli.parsing import Quantity
from calibrate.cli.theory import queue_options as q
from calibrate.cli.theory.queue_models import MODELS, model_name
from measure.errors import MeasureError

if TYPE_CHECKING:
    from calibrate.report.lines import Line
    from calibrate.report.view import View


_TIMES, _RATES = ("service-time", "think-time"), ("arrival-rate", "service-rate")
_WHOLE = ("servers", "capacity", "population", "batch-size")
VARIED = (*_RATES, *_TIMES, *_WHOLE, "scv", "arrival-scv")
_POINTS = 200
_MOST_WHOLE = 300


@dataclass(frozen=True)
class Varied:
    """An option and the values that it takes, as ``arrival-rate=0.1..0.99``."""

    option: str
    values: tuple[Any, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values as numbers."""
        return tuple(v.value if isinstance(v, Quantity) else float(v) for v in self.values)


@parsing.parser
def varied(text: str) -> Varied:
    """``arrival-rate=0.1..0.99`` (evenly, from end to end), ``servers=1,2,4``."""
    option, equals, values = (part.strip() for part in text.partition("="))
    option = option.removeprefix("--").replace("_", "-")
    if option not in VARIED:
        raise ValueError(f"{parsing.not_one_of(option, VARIED)}; write it like arrival-rate=0.1..0.99")
    if not equals or not values:
        raise ValueError(f"{text!r} names no values; write it like {option}=1..8 or {option}=1,2,4")
    first, dots, last = values.partition("..")
    if not dots:
        return Varied(option, tuple(_one(option, v.strip()) for v in values.split(",") if v.strip()))
    low, high = _one(option, first), _one(option, last)
    return Varied(option, _between(option, low, high, text))


def _one(option: str, text: str) -> Any:
    read = parsing.rate if option in _RATES else parsing.time if option in _TIMES else None
    return (read or (parsing.whole if option in _WHOLE else parsing.number))(text)


def _between(option: str, low: Any, high: Any, text: str) -> tuple[Any, ...]:
    import numpy as np

    ends = Varied(option, (low, high)).numbers
    if not ends[0] < ends[1]:
        raise ValueError(f"{text!r} must go from a smaller value to a larger one")
    if option in _WHOLE:
        if ends[1] - ends[0] <= _MOST_WHOLE:
            return tuple(range(low, high + 1))
        return tuple(int(n) for n in np.unique(np.geomspace(max(ends[0], 1), ends[1], _POINTS).round()))
    values = np.linspace(ends[0], ends[1], _POINTS).tolist()
    if isinstance(low, Quantity):
        return tuple(Quantity(v, low.has_unit or high.has_unit) for v in values)
    return tuple(values)


HELP = """Plot any curve: a model over one of its options, the prediction of a fit, measured points; several together.

WHAT is a model with its options and --vary, or files of qsim fit and what qsim show reads. Quantities: W, Wq, X, L,
Lq, rho, pwait, pblock, p99 and other quantiles; fits and sweeps have W, X and L.

\b
Examples:
qsim plot mm1 --service-rate 1 --vary arrival-rate=0.1..0.99 --y W,Lq --out curve.html
qsim plot mg1 --service-time 80us --vary arrival-rate=500..12k/s --each scv=0,1,4 --y p99 --out tails.svg
qsim plot mmcn --service-time 80us --servers 32 --vary population=1..128 --x X --y W --out knee.png
qsim plot fit.json sweep/ --y X,W --log-x --out both.html --csv both.csv
"""

SUFFIXES = (".html", ".png", ".svg", ".pdf")
_LEAST_PIXELS, _MOST_PIXELS = 200, 8000


@dataclass(frozen=True)
class Pixels:
    """The size of an image."""

    width: int
    height: int


@parsing.parser
def _pixels(text: str) -> Pixels:
    width, by, height = text.lower().partition("x")
    if not by or not (width.isdigit() and height.isdigit()):
        raise ValueError(f"invalid image size {text!r}: expected e.g. 1600x900")
    if not all(_LEAST_PIXELS <= int(n) <= _MOST_PIXELS for n in (width, height)):
        raise ValueError(f"invalid image size {text!r}: expected {_LEAST_PIXELS} to {_MOST_PIXELS} pixels each way")
    return Pixels(int(width), int(height))


def plot(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT", show_default=False, help="A model, files of qsim fit, or what a tool wrote."),
    ] = None,
    y: parsing.Words = option(
        "Q,...", parsing.words, "What is drawn: W, Lq, X, p99...", default=parsing.Words(("W",)), shown=True
    ),
    vary: Varied | None = option(
        "OPTION=VALUES", varied, "What goes along the axis, as arrival-rate=0.1..0.99 or servers=1,2,4."
    ),
    each: Varied | None = option("OPTION=VALUES", varied, "A curve for each of these, as scv=0,1,4."),
    x: str | None = option("Q", None, "A quantity along the axis, as rho or X."),
    options: q.QueueOptions,
    dataset: list[str] | None = option("NAME", None, "A published table; can be given again."),
    columns: Columns = None,
    series: Series = None,
    simulate: float | None = option("N", parsing.number, "Also simulate N customers at some of the values."),
    seed: int = option("N", parsing.whole, "Seed of what is drawn.", default=1, shown=True),
    log_x: bool = flag("--log-x", "A logarithmic x axis."),
    log_y: bool = flag("--log-y", "Logarithmic y axes."),
    size: Pixels | None = option(
        "WxH", _pixels, "The pixels of an image, as 1600x900.", shown="1000 wide; a PNG twice as sharp"
    ),
    title: str = option("TEXT", None, "The title above the plot.", default=""),
    out: Path | None = option(
        "FILE", parsing.path, "The plot: .html, .png, .svg or .pdf (images need pip install 'qsim-queue\\[plots]')."
    ),
    csv: Path | None = option("FILE", parsing.path, "The data as CSV (a new file)."),
    as_json: AsJson = False,
) -> None:
    """Collect the lines, draw them, write them."""
    values = options.values()
    models = [word for word in what or () if _is_model(word)]
    files = [word for word in what or () if not _is_model(word)]
    _check(models, files, dataset or (), values, vary, each)
    if simulate is not None and not models:
        raise wrong_usage("--simulate is about a model, and none is named")
    check_out(out, csv, size)

    from calibrate.cli.theory import plot_lines as made
    from calibrate.report.lines import view_of

    shown, along = [made.quantity(s) for s in y], None if x is None else made.quantity(x)
    lines: list[Line] = []
    in_seconds = bool(files or dataset)
    axes: dict[str, str] = {}
    if models and vary is not None:
        given = q.Given(
            model_name(models[0]),
            {**values, **({each.option: each.values[0]} if each else {}), vary.option: vary.values[0]},
        )
        in_seconds |= given.with_units
        lines += made.theory(q.Given(given.model, {**values}), vary, each, shown, along)
        if simulate is not None:
            lines += _simulated(q.Given(given.model, {**values}), vary, each, shown, along, simulate, seed)
        name = MODELS[given.model].kendall
        lines = [made.named(line, name) for line in lines] if files or dataset else lines
        fixed = q.Given(given.model, values).described()
        name = f"{name}, {fixed}" if fixed else name
        axes[_LOADS.get(vary.option, vary.option)] = vary.option
        title = title or name
    if files or dataset:
        made.measured_only(shown, along)
        found, loads = _of_files(files, dataset or (), columns, series, shown, along)
        lines += found
        axes |= loads
        title = title or " ".join([*files, *(dataset or ())])
    if len(axes) > 1 and along is None:
        raise wrong_usage(f"{' and '.join(axes.values())} do not share an axis; plot them apart, or against --x X")
    x_name = along or next(iter(axes.values()))
    column = x_name.replace("-", "_").replace(" ", "_")
    name = "plot" if out is None else out.stem
    view = view_of(
        made.finite(lines),
        column,
        _x_title(x_name, in_seconds=in_seconds),
        title,
        name,
        in_seconds=in_seconds,
        log_x=log_x,
        log_y=log_y,
    )
    if simulate is not None:
        view = replace(view, caption=view.caption.replace("over repeats", "over repeats or batches of customers"))
    if size is not None and view.figure is not None:
        view.figure.update_layout(width=size.width, height=size.height)
    write_view(view, out, csv, column, as_json=as_json)


def _simulated(
    given: q.Given, over: Varied, each: Varied | None, y: Sequence[str], x: str | None, customers: float, seed: int
) -> list[Line]:
    from calibrate.cli.progress import simulating
    from calibrate.cli.theory import plot_lines as made

    if not 1 <= customers < _MOST_CUSTOMERS:
        raise wrong_usage(f"--simulate: invalid number of customers {customers:g}: expected at least 1, e.g. 1e5")
    with simulating() as bar:
        return made.simulated(given, over, each, y, x, int(customers), seed, bar.share)


_MOST_CUSTOMERS = 1e9
_LOADS = {"population": "queue_depth", "arrival-rate": "arrival_rate"}
"""Options that are loads of a measurement, too."""


def _is_model(word: str) -> bool:
    try:
        return not Path(word).exists() and bool(model_name(word))
    except typer.BadParameter:
        return False


def _check(
    models: Sequence[str],
    files: Sequence[str],
    datasets: Sequence[str],
    values: dict[str, Any],
    vary: Varied | None,
    each: Varied | None,
) -> None:
    if len(models) > 1:
        raise wrong_usage(f"{' and '.join(models)} are two models; plot one, with --each for several curves of it")
    if not models and not files and not datasets:
        raise wrong_usage("nothing to plot; name a model (mm1), a file of qsim fit, a sweep, or --dataset NAME")
    if models and vary is None:
        raise wrong_usage("--vary is missing: it says what goes along the axis, as --vary arrival-rate=0.1..0.99")
    options = {"vary": vary, "each": each, **values}
    if not models and (given := [f"--{name}" for name, value in options.items() if value is not None]):
        missing = [f for f in files if not Path(f).exists()]
        unknown = f"; {missing[0]} is neither a model nor a file" if missing else ""
        raise wrong_usage(f"{given[0]} is about a model, and none is named{unknown}")
    if vary is not None:
        clash = [o for o in (vary.option, *([each.option] if each else ())) if values.get(o) is not None]
        if clash or (each is not None and each.option == vary.option):
            raise wrong_usage(f"--{(clash or [vary.option])[0]} is given twice: it is varied already")
    for name in datasets:
        known_dataset(name)


def check_out(out: Path | None, csv: Path | None, size: Pixels | None) -> None:
    """CommandError or MeasureError where what was asked for cannot be written; nothing is changed."""
    if size is not None and (out is None or out.suffix.lower() not in SUFFIXES[1:]):
        raise wrong_usage(f"--size is that of an image; name one with --out, ending in {', '.join(SUFFIXES[1:])}")
    if csv is not None and csv.exists():
        raise MeasureError(f"{csv} exists and is not replaced; choose another name for --csv")
    if out is None:
        return
    if out.suffix.lower() not in SUFFIXES:
        raise wrong_usage(f"--out: {out} ends in none of {', '.join(SUFFIXES)}; the data go to --csv")
    if out.suffix.lower() == ".html":
        from calibrate.cli.outputs import check_report_path

        check_report_path(out)
        return
    from calibrate.report.images import check_images

    if out.exists():
        raise MeasureError(f"{out} exists and is not replaced; choose another name for --out")
    check_images()


def _of_files(
    files: Sequence[str],
    datasets: Sequence[str],
    columns: str | None,
    series: str | None,
    y: Sequence[str],
    x: str | None,
) -> tuple[list[Line], dict[str, str]]:
    """The lines of every file and dataset, and the axes that they have: kind of load, its name."""
    from calibrate.cli.fit_files import holds, read_fits
    from calibrate.cli.theory import plot_lines as made

    lines: list[Line] = []
    axes: dict[str, str] = {}
    several = len(files) + len(datasets) > 1
    fitted = [word for word in files if Path(word).is_file() and holds(Path(word))]
    sources = [(word, DataSource([word], None, columns)) for word in files if word not in fitted]
    farthest: dict[str, float] = {}
    for name, source in [*sources, *((name, DataSource([], name)) for name in datasets)]:
        sweep = source.load()
        lines += made.of_sweep(sweep, y, x, known_series(sweep, series), name if several else "")
        axes[sweep.load_kind] = sweep.load_kind.replace("_", " ")
        farthest[sweep.load_kind] = max(float(sweep.points["load"].max()), farthest.get(sweep.load_kind, 0.0))
    for word in fitted:
        fits = [f for f in read_fits(Path(word)) if series in (None, f.series)]
        if not fits:
            raise wrong_usage(f"--series: {word} holds no fit of {series}")
        for fit in fits:
            name = ", ".join(part for part in (word if several else "", fit.series or fit.model) if part)
            lines += made.of_fit(fit, y, x, name, farthest.get(fit.load_kind, 0.0))
            axes[fit.load_kind] = fit.load_name
    return lines, axes


def _x_title(name: str, *, in_seconds: bool) -> str:
    from calibrate.report.lines import NAMES

    words = NAMES.get(name, name.replace("-", " ").replace("_", " "))
    unit = {
        "arrival-rate": "1/s",
        "service-rate": "1/s",
        "service-time": "s",
        "think-time": "s",
        "X": "1/s",
        "W": "s",
        "Wq": "s",
        "arrival rate": "1/s",
    }.get(name, "")
    return f"{words} ({unit})" if unit and in_seconds else words


def write_view(view: View, out: Path | None, csv: Path | None, x: str, *, as_json: bool) -> None:
    """Write the plot and the data to their files, or print them as a table or as JSON."""
    from calibrate.cli.outputs import write_new
    from calibrate.report.files import csv_text

    written = []
    if csv is not None:
        written.append(write_new(csv, csv_text(view), "--csv"))
    if out is not None:
        written.append(_drawn(view, out))
    if as_json:
        rows = [{str(k): v for k, v in row.items()} for row in view.table.to_dict("records")]
        print_json({"title": view.title, "x": x, "rows": rows, "written": written})
    elif written:
        say("\n".join(f"written: {path}" for path in written))
    else:
        say(_text(view, x))


def _drawn(view: View, out: Path) -> str:
    if out.suffix.lower() == ".html":
        from calibrate.report.page import write_sections
        from calibrate.report.view import Section

        return str(write_sections([Section(view.title, [view], name=view.name)], out, title=view.title))
    from calibrate.report.images import image_format, write_images
    from calibrate.report.view import Group

    image = image_format(out.suffix.lower().lstrip("."))
    (path,) = write_images([Group(view.name, [view])], out.parent, image)
    return str(path)


_MOST_ROWS = 24


def _text(view: View, x: str) -> str:
    """The lines as a table, a column each; where they have many points, some of them."""
    wide = view.table.assign(
        line=[
            ", ".join(p for p in names if p) for names in zip(view.table["quantity"], view.table["curve"], strict=True)
        ]
    )
    pivot = wide.pivot_table(index=x, columns="line", values="value", sort=False).sort_index()
    step = max(1, round(len(pivot) / _MOST_ROWS))
    rows = [
        (f"{at:.6g}", *("" if math.isnan(v) else f"{v:.6g}" for v in row))
        for at, row in zip(pivot.index[::step], pivot.to_numpy()[::step], strict=True)
    ]
    left_out = f"\n{len(rows)} of {len(pivot)} points; all of them: --csv FILE or --json" if step > 1 else ""
    return table((x, *map(str, pivot.columns)), rows, left=0) + left_out
