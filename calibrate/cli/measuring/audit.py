"""``qsim audit``: what a table of measurements says against itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import measure
from calibrate.cli.console import Result
from calibrate.cli.data import DataSource, known_dataset, known_series
from calibrate.cli.failures import CHECK_FAILED, CommandError
from calibrate.cli.option_groups import flag
from calibrate.cli.options import Columns, Data, Dataset, FailOn, Series
from measure.units import counted

HELP = """Check measurements against Little's law, with the likely cause of each finding.

Each finding has its evidence, a hypothesis tested on all points, and the measurement that would settle it.

\b
Examples:
qsim audit sweep/
qsim audit fio-output.json --fail-on warning
qsim audit points.csv --columns load=io_depth,latency=lat:us,throughput=iops
qsim audit --dataset 004-ssd-depth
"""

WORDS = {"error": "error", "warning": "warning", "info": "note"}
VERDICTS = {
    "error": "these data contradict themselves",
    "left out": "some of these data could not be used",
    "warning": "use these data with care",
    "info": "nothing speaks against these data",
}
"""What the worst severity of a finding means for the data."""


def audit(
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    series: Series = None,
    details: bool = flag("--details", "Also print what would explain and settle each note."),
    fail_on: FailOn = None,
) -> Result:
    """Load, audit, print the findings."""
    source = DataSource(data or (), dataset, columns)
    findings, unchecked = _findings(source, series)
    return Result(
        lambda: findings_text(source.title, findings, unchecked, details=details),
        lambda: {"source": source.name, "findings": [f.to_dict() for f in findings], "not_checked": unchecked},
        failed=failing(findings, fail_on),
    )


def findings_text(name: str, findings: Sequence[measure.Finding], unchecked: Sequence[str], *, details: bool) -> str:
    """A line on all of the data, then each finding, the worst first; with ``details`` notes are explained, too.

    Where nothing speaks against the data, the line says what could not be looked at (``unchecked``).
    """
    counts = Counter[str](f.severity for f in findings)
    worst = next((severity for severity in WORDS if counts[severity]), "info")
    found = ", ".join(counted(counts[severity], word) for severity, word in WORDS.items())
    verdict = "left out" if worst == "error" and not any(f.contradicts for f in findings) else worst
    lines = [f"{name}: {found}: {VERDICTS[verdict]}{_could_not_check(unchecked) if worst == 'info' else ''}"]
    for f in findings:
        lines.append(f"{WORDS[f.severity].upper():<9}{f.check}{f' ({f.where})' if f.where else ''}: {f.message}")
        if details or f.severity != "info":
            lines += [f"{'':<9}{word}: {text}" for word, text in (("Likely", f.hypothesis), ("Do", f.remedy)) if text]
    if not details and any(f.hypothesis or f.remedy for f in findings if f.severity == "info"):
        lines.append(f"{'MORE':<9}--details: what would explain each note")
    return "\n".join(lines)


def _could_not_check(unchecked: Sequence[str]) -> str:
    return f"; not checked: {', '.join(unchecked)}" if unchecked else ""


def audit_text(findings: Sequence[measure.Finding], unchecked: Sequence[str] = (), source: str = "DATA") -> str:
    """What the audit found, in a line: corrections, then how many errors and warnings, and of what.

    Where it found none, the line says what it could not look at (``unchecked``). ``source`` is what to audit.
    """
    distinct = list(dict.fromkeys(replace(f, series=None) for f in findings))
    corrected = [f.message.rstrip(".") for f in distinct if f.check == "corrected"]
    counts = []
    for severity in ("error", "warning"):
        checks = [f.check for f in distinct if f.severity == severity]
        if checks:
            counts.append(f"{counted(len(checks), severity)} ({', '.join(dict.fromkeys(checks))})")
    text = ", ".join(counts) or f"no errors, no warnings{_could_not_check(unchecked)}"
    if any(f.contradicts for f in distinct):
        text += f": {VERDICTS['error']}"
    text = f"corrected: {'; '.join(dict.fromkeys(corrected))}; {text}" if corrected else text
    return f"{text}; to read them: qsim audit {source}" if counts else text


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


def _findings(source: DataSource, series: str | None) -> tuple[list[measure.Finding], list[str]]:
    """The findings, the worst first, and what could not be checked."""
    from measure.auditing.all_checks import not_checked
    from measure.datasets import audit_dataset
    from measure.findings import SEVERITIES

    if source.dataset is not None:
        found = list(audit_dataset(known_dataset(source.dataset)))
        sweep = source.load()
        if series not in {f.series for f in found}:
            known_series(sweep.series, series)
    else:
        sweep = source.load()
        known_series(sweep.series, series)
        found = [*sweep.findings, *measure.audit(sweep, series)]
    if series is not None:
        found = [f for f in found if f.series in (None, series)]
    return sorted(found, key=lambda f: -SEVERITIES.index(f.severity)), not_checked(sweep)
