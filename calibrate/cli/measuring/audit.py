"""``qsim audit``: contradictions in a table of measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import measure
from calibrate.cli.console import CommandResult
from calibrate.cli.data import (
    NO_RATES,
    VERDICTS,
    WORDS,
    DataSource,
    could_not_check,
    failing,
    known_dataset,
    known_series,
)
from calibrate.cli.options import Columns, Data, Dataset, FailOn, Series, flag
from measure.units import counted


def audit(
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    series: Series = None,
    details: bool = flag("--details", "Also print what would explain and settle each note."),
    fail_on: FailOn = None,
) -> CommandResult:
    """Check measurements against Little's law, with the likely cause of each finding.

    Each finding has its evidence, a hypothesis tested on all points, and the measurement that would settle it.

    \b
    Examples:
    qsim audit sweep/
    qsim audit fio-output.json --fail-on warning
    qsim audit points.csv --columns load=io_depth,latency=lat:us,throughput=iops
    qsim audit --dataset 004-ssd-depth
    """
    source = DataSource(data or (), dataset, columns)
    findings, unchecked = _findings(source, series)
    title = source.title if source.dataset is None else f"{source.title} as published"
    return CommandResult(
        lambda: findings_text(title, findings, unchecked, details=details),
        lambda: {"source": source.name, "findings": [f.to_dict() for f in findings], "not_checked": unchecked},
        failed=failing(findings, fail_on),
    )


def findings_text(name: str, findings: Sequence[measure.Finding], unchecked: Sequence[str], *, details: bool) -> str:
    """A line on all of the data, then each finding, the worst first; with ``details`` notes are explained, too."""
    counts = Counter[str](f.severity for f in findings)
    worst = next((severity for severity in WORDS if counts[severity]), "info")
    found = ", ".join(counted(counts[severity], word) for severity, word in WORDS.items())
    verdict = "left out" if worst == "error" and not any(f.contradicts for f in findings) else worst
    lines = [f"{name}: {found}: {VERDICTS[verdict]}{could_not_check(unchecked) if worst == 'info' else ''}"]
    for f in findings:
        lines.append(f"{WORDS[f.severity].upper():<9}{f.check}{f' ({f.where})' if f.where else ''}: {f.message}")
        if details or f.severity != "info":
            lines += [f"{'':<9}{word}: {text}" for word, text in (("Likely", f.hypothesis), ("Do", f.remedy)) if text]
    if not details and any(f.hypothesis or f.remedy for f in findings if f.severity == "info"):
        lines.append(f"{'MORE':<9}--details: what would explain each note")
    return "\n".join(lines)


def _findings(source: DataSource, series: str | None) -> tuple[list[measure.Finding], list[str]]:
    """The findings, the worst first, and what could not be checked."""
    from measure.auditing.all_checks import not_checked
    from measure.datasets import about, audit_dataset
    from measure.findings import SEVERITIES, merged

    found = [] if source.dataset is None else audit_dataset(known_dataset(source.dataset))
    if source.dataset is not None and (why := about(source.dataset).why_no_curve):
        return found, [f"Little's law ({why})"]
    sweep = source.read() if source.dataset is None else measure.load_dataset(source.dataset, as_published=True)
    if isinstance(sweep, list):
        known_series([name for table in sweep for name in table.series], series)
        tables = sweep if series is None else [table.of(series) for table in sweep]
        return [finding for table in tables for finding in table.findings], [NO_RATES]
    if series not in {f.series for f in found}:
        known_series(sweep.series, series)
    if source.dataset is None:
        found = [*sweep.findings, *measure.audit(sweep, series)]
    if series is not None:
        found = [f for f in found if f.series in (None, series)]
    return sorted(merged(found), key=lambda f: -SEVERITIES.index(f.severity)), not_checked(sweep)
