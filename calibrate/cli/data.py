"""DATA or --dataset NAME: the sources of points for audit, fit and compare, and their findings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import measure
from calibrate.cli.console import complain, warn
from calibrate.cli.failures import CHECK_FAILED, CommandError, wrong_usage
from calibrate.cli.parsing import not_one_of
from measure.findings import curve_name, merged
from measure.text_files import shown_name
from measure.units import counted

if TYPE_CHECKING:
    from measure.formats.tables.latencies import LatencyTable

T = TypeVar("T")


@dataclass(frozen=True)
class DataSource:
    """A source of points, as typed: files, or the name of a dataset."""

    data: Sequence[str]
    dataset: str | None
    columns: str | None = None

    def __post_init__(self) -> None:
        if bool(self.data) == (self.dataset is not None):
            what = "both DATA and --dataset were given; give one" if self.data else "give DATA (a file or a directory)"
            raise wrong_usage(f"{what}, or a published table: --dataset 003-ssd-read (see qsim datasets)")
        if any(not name.strip() for name in self.data):
            raise wrong_usage("DATA is empty; name a file or a directory")
        if self.columns is not None and self.dataset is not None:
            raise wrong_usage("--columns is about CSV files: the columns of a dataset are known")

    @property
    def name(self) -> str:
        """The source in a word, for titles and commands."""
        return self.dataset or shown_name(" ".join(self.data))

    @property
    def arguments(self) -> str:
        """The source as other commands take it, its columns included."""
        if self.dataset is not None:
            return f"--dataset {self.dataset}"
        return shown_name(shlex.join([*self.data, *([] if self.columns is None else ["--columns", self.columns])]))

    @property
    def title(self) -> str:
        """The name without the folders that lead to it."""
        last = [shown_name(os.path.basename(name.rstrip("/")) or name) for name in self.data]
        return self.dataset or (last[0] if len(last) == 1 else f"{len(last)} files")

    def load(self) -> measure.Sweep:
        """The sweep; a dataset is corrected by what its audit proves. DataError for latencies alone."""
        held = self.read()
        if isinstance(held, measure.Sweep):
            return held
        raise measure.DataError(
            f"{self.name} is no curve: it has {held[0].lacks}; to see them, run: qsim show {self.arguments}"
        )

    def read(self) -> measure.Sweep | list[LatencyTable]:
        """The sweep, or the tables of latencies alone where every file is one."""
        if self.dataset is not None:
            return measure.load_dataset(known_dataset(self.dataset))
        columns, units = self._columns()
        try:
            return measure.load(list(self.data) if len(self.data) > 1 else self.data[0], columns, units)
        except measure.DataError:
            if columns is None and (alone := measure.loading.load_latencies(self.data)):
                return alone
            raise

    def _columns(self) -> tuple[dict[str, str] | None, dict[str, str] | None]:
        if self.columns is None:
            return None, None
        from measure.formats.tables.column_names import parse_columns

        try:
            return parse_columns(self.columns)
        except measure.DataError as error:
            raise wrong_usage(str(error)) from error


def known_dataset(name: str, what: str = "--dataset") -> str:
    """The name of a dataset; CommandError listing the names for an unknown one."""
    if name not in measure.dataset_names():
        raise wrong_usage(f"{what}: {not_one_of(name, measure.dataset_names())}")
    return name


def known_series(names: Sequence[str], series: str | None, device: str = "") -> tuple[str, ...]:
    """The selected curves among ``names``: the one named, or all; CommandError listing them for an unknown one."""
    if series is not None and series not in names:
        raise wrong_usage(f"--series: {f'{device}: ' if device else ''}{not_one_of(series, names)}")
    return tuple(names) if series is None else (series,)


def of_each(
    names: Iterable[str], make: Callable[[str], T], refusal: str = "not fitted", device: str = ""
) -> tuple[dict[str, T], dict[str, str]]:
    """Results of ``make`` by name, and reasons of failures by name, which are warned of."""
    found: dict[str, T] = {}
    errors: dict[str, measure.DataError] = {}
    for name in names:
        try:
            found[name] = make(name)
        except measure.DataError as error:
            errors[name] = error
    refused = {name: str(error) for name, error in errors.items()}
    reasons = [f"{device}: {reason}" if device else reason for reason in refused.values()]
    if reasons and not found:
        many = f"none of the {len(reasons)} curves can be used; the first: " if len(reasons) > 1 else ""
        raise measure.DataError(many + reasons[0]) from next(iter(errors.values()))
    for reason in reasons:
        warn(f"{refusal}: {reason}")
    return found, refused


def findings_of(sweep: measure.Sweep, series: Sequence[str]) -> list[measure.Finding]:
    """Findings of the importer on these series."""
    return [f for f in sweep.findings if f.series is None or f.series in series]


def print_findings(findings: Iterable[measure.Finding], device: str = "") -> None:
    """Print findings on stderr, merged as in the audit, with the ``device`` where there are several."""
    for f in merged(dict.fromkeys(replace(f, load=None) for f in findings)):
        place = "" if f.place in f.message else f.place
        where = ": ".join(part for part in (device, ", ".join(filter(None, (curve_name(f.series), place)))) if part)
        complain(f"{WORDS[f.severity]}: {f.check}{f' ({where})' if where else ''}: {_with_remedy(f)}")


def _with_remedy(finding: measure.Finding) -> str:
    """The message, and the remedy of a warning or an error, in one or two sentences."""
    message, remedy = finding.message, finding.remedy
    if not remedy or finding.severity == "info":
        return message
    return f"{message} {remedy[0].upper()}{remedy[1:]}" if message.endswith(".") else f"{message}; {remedy}"


WORDS = {"error": "error", "warning": "warning", "info": "note"}
VERDICTS = {
    "error": "these data contradict themselves",
    "left out": "some of these data could not be used",
    "warning": "use these data with care",
    "info": "nothing speaks against these data",
}
"""The worst severity of a finding -> its meaning for the data."""

OF_FITS = ("misses-its-points", "other-load")
"""Checks of fits, which a warning names and ``qsim audit`` does not make."""

NO_RATES = "Little's law (no mean latency stands beside a throughput)"
"""What the audit of latencies alone could not check."""

CHANGED = ("computed", "corrected")
"""Checks of what was put beside published values, or in their place: the audit's line has them."""


def could_not_check(unchecked: Sequence[str]) -> str:
    """What the audit could not check, after a semicolon; "" where it checked everything."""
    return f"; not checked: {', '.join(unchecked)}" if unchecked else ""


def audit_text(findings: Sequence[measure.Finding], unchecked: Sequence[str], source: str) -> str:
    """The audit in a line: what was corrected or computed, then numbers of errors and warnings by check."""
    audited = dict.fromkeys(f for f in findings if f.check not in OF_FITS)
    changed = [f"{check}: {text}" for check in CHANGED if (text := _changes(audited, check))]
    counts, found = list[str](), 0
    for severity in ("error", "warning"):
        if checks := [f.check for f in merged(audited) if f.severity == severity]:
            found += len(checks)
            counts.append(f"{counted(len(checks), severity)} ({', '.join(dict.fromkeys(checks))})")
    none = "no other errors or warnings" if changed else "no errors, no warnings"
    of_fits = dict.fromkeys(f.check for f in findings if f.check in OF_FITS and f.severity != "info")
    none += f" beside {' and '.join(of_fits)}" if of_fits else ""
    text = ", ".join(counts) or f"{none}{could_not_check(unchecked)}"
    if any(f.contradicts for f in audited):
        text += f": {VERDICTS['error']}"
    text = "; ".join([*changed, text])
    them = "it" if found == 1 and not changed else "them"
    return f"{text}; to read {them}: qsim audit {source}" if counts or changed else text


def _changes(findings: Iterable[measure.Finding], check: str) -> str:
    """What was put beside published values, or in their place: of the first curve, and on how many more; or ""."""
    messages = [f.message.rstrip(".") for f in findings if f.check == check]
    others = sum(message != messages[0] for message in messages)
    return "; ".join([*messages[:1], *([f"likewise on {counted(others, 'more curve')}"] if others else [])])


def failing(findings: Sequence[measure.Finding], fail_on: str | None) -> CommandError | None:
    """The failure (a check) where a finding is of the severity ``fail_on`` or a worse one."""
    if fail_on is None:
        return None
    from measure.findings import SEVERITIES

    worst = SEVERITIES[SEVERITIES.index(fail_on) :]
    bad = [f for f in findings if f.severity in worst]
    if not bad:
        return None
    return CommandError(
        f"--fail-on {fail_on}: the audit has {counted(len(bad), 'finding')} of that severity or worse; the first: "
        f"{bad[0].check}{f' ({bad[0].series})' if bad[0].series else ''}",
        CHECK_FAILED,
    )
