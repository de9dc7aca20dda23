"""The map of the code: its folders, what each is for, and the road of the data, written from the code itself."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("qsim", "measure", "calibrate")

ROAD = (
    ("measure.load", "what a tool wrote becomes a sweep"),
    ("measure.audit", "the sweep is checked, one law after the other"),
    ("calibrate.points_of", "one curve of it, repeats averaged, as arrays"),
    ("calibrate.fit", "a device model is calibrated on the points"),
    ("calibrate.predict", "the fit says what other loads will give"),
    ("calibrate.compare", "all of these, with points held out, and what is missed"),
)
"""The steps from bytes to residuals: the public function of each, and what it does."""

HEAD = """\
# How the code is laid out

The tables are written from the code by `make docs`, as are the outputs shown on other pages; the tables of other pages
are written by hand. How to write most of these: [contributing](contributing.md).

- **A law of service times**: a class among those like it in `qsim/distributions` (`continuous.py`) with `mean`, `scv`,
  `cdf`, `fill` (variates for both engines), `limited_mean` and an example, its parameters the mean and numbers without
  a unit. Name it in its `__init__.py`, in `qsim/__init__.pyi` and in `LAWS` of `calibrate/cli/theory/laws.py`; to be
  fitted to data, in `calibrate/service/families.py` too. Tests: one more in `EVERY` and beside scipy's in
  `tests/unit/qsim/distributions/test_distributions.py`, in `tests/service_laws.py` and in `ANY` of
  `tests/agreement/test_times_agree.py`. By hand: the table of `explanation-service-times.md`.
- **A formula**: a module in `qsim/analytic/open`, `closed` or `networks`, named in the list of
  `qsim/analytic/__init__.py`. Tests: the same folder of `tests/unit`, and `tests/agreement`.
- **Output of a load generator**: a table of `measure/formats/load_tools.toml`. Tests: a row of `RIGHT` in
  `tests/unit/measure/formats/servers/test_table_of_tools.py`, with a real output in `tests/data/servers/field`. By
  hand: the row in `howto-read-other-tools.md`.
- **Any other format**: a module in `measure/formats`, with one row of `_TEXTS` (in the order in which they are tried)
  and its name in `Format` of `by_format.py` there. Tests: `tests/unit/measure/formats` and a target in
  `tests/fuzz/fuzz_targets.py`, with a real output in `tests/golden/data`.
- **A device model**: over queue depths a `ClosedModel` (parameters N\\* and Xmax, then its own, with their priors) in
  `calibrate/models/closed.py`, over other loads a `CurveModel` in `open.py` or another module there; then, by its
  `name`, under its kind of load in `MODELS` of `calibration.py`, where `compare` and `--model` find it (`model_for` has
  the default). Tests: `tests/unit/calibrate/models`. By hand: the table of `explanation-models.md`.
- **A command**: a module in `calibrate/cli/theory`, `measuring`, `calibration` or `teaching`, with a `HELP` that holds
  an example and a function that returns a `Result` (so that it has `--json`), named in the table of `Commands` (of
  `Measuring` for `qsim measure`) in `calibrate/cli/app.py`. Tests: the same folder of `tests/cli`, its refusals in
  `test_cli_refusals.py`; `test_cli_help.py` finds it by itself. Then `make docs`.

Imports go one way: `calibrate` (the bridge) -> `measure` (the hardware) -> `qsim` (the theory). `lint-imports` holds
that, and the order of the folders inside each package: what shows results imports what computes them, never the
reverse.

## The road of the data

Each step takes values and gives values. Nothing goes back to disk for what a step before it read.
"""


def architecture() -> str:
    """The whole page."""
    parts = [HEAD, _road()]
    for package in PACKAGES:
        parts += [f"## {package}\n", *_rooms(package)]
    return "\n".join(parts)


def _road() -> str:
    rows = ["| call | takes | gives | defined in |", "|---|---|---|---|"]
    for name, what in ROAD:
        module, _, function = name.rpartition(".")
        found = getattr(importlib.import_module(module), function)
        signature = inspect.signature(found)
        first = next(iter(signature.parameters))
        home = found.__module__.replace(".", "/") + ".py"
        rows.append(f"| `{function}`: {what} | `{first}` | `{signature.return_annotation}` | `{home}` |")
    return "\n".join(rows) + "\n"


def _rooms(package: str) -> Iterator[str]:
    """An item for each folder, of whose docstring the first line says what it is."""
    for folder in sorted({p.parent for p in (ROOT / package).rglob("*.py")}):
        yield f"- **{folder.relative_to(ROOT)}**: {_first_line(folder / '__init__.py')}"
    yield ""


def _first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return doc.split("\n", maxsplit=1)[0].replace("``", "`")
