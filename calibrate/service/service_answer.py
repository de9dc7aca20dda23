"""Fits to service times in words, in the order in which they are printed: the law, a table, and what to do next.

One curve has a row for each family, several have a row each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from calibrate.service.fitted import FamilyFit, ServiceFit
from measure.units import counted, format_duration, with_interval
from qsim.text_table import labelled, table

MOST_FAMILIES = 7
"""The families that are shown."""

Fitted: TypeAlias = tuple[str, ServiceFit]
"""The name of a curve, and its fit."""


def law_line(fit: ServiceFit) -> str:
    """The best law with its mean, its squared coefficient of variation and its p99 and the observed one."""
    known, seen = fit.best.intervals(), format_duration(fit.times.quantile(0.99), 2)
    mean, p99 = (
        with_interval(format_duration, of.estimate, of.low, of.high)
        for of in (known["mean_s"], known["p99_s"])
        if of.estimate is not None
    )
    return labelled("LAW", f"{fit.best.name}: mean {mean}, scv {fit.law.scv:.3g}, p99 {p99}; {seen} observed")


def missed_line(fit: ServiceFit) -> str:
    """The largest error of the best law's distribution function, and that of the next law."""
    following = "" if len(fit.families) == 1 else f"; the next, {fit.families[1].name}, {fit.families[1].missed()}"
    return labelled("MISSED", f"at most {fit.best.missed()} of the requests at any time{_chance(fit.best)}{following}")


def _chance(family: FamilyFit) -> str:
    """How much a true law would miss by."""
    if family.ks_by_chance is None:
        return ""
    words = ", more than by chance ({})" if family.ks > family.ks_by_chance else "; by chance up to {}"
    return words.format(family.by_chance())


def short_text(fit: ServiceFit) -> str:
    """The ``repr`` of a fit."""
    return "\n".join(answer([(fit.times.source or "Service times", fit)]))


def answer(done: Sequence[Fitted]) -> list[str]:
    """The first lines: the source of the times, the law, and its error."""
    if len(done) == 1:
        ((name, fit),) = done
        times = fit.times
        bins = counted(len(times.counts), "bin")
        return [f"{name}: {times.total:,.0f} requests in {bins} ({times.kind})", law_line(fit), missed_line(fit)]
    best = Counter(fit.best.name for _, fit in done)
    name, worst = max(done, key=lambda one: one[1].best.ks)
    return [
        f"{counted(len(done), 'curve')}, a law of service times for each",
        labelled("LAW", ", ".join(f"{law} ({n} of {len(done)})" for law, n in best.most_common())),
        labelled("MISSED", f"at most {worst.best.missed()} of the requests at any time ({name}, {worst.best.name})"),
    ]


def answer_table(done: Sequence[Fitted]) -> str:
    """The families of one curve, the best first; or a row for each of several curves."""
    if len(done) == 1:
        header, rows = done[0][1].ranking()
        left = len(rows) - 1 - MOST_FAMILIES
        more = f"\n... and {left} more {'family' if left == 1 else 'families'} (--details)" if left > 0 else ""
        return table(header, rows[: MOST_FAMILIES + 1]) + more
    rows = [
        (
            name,
            f.best.name,
            f.best.missed(),
            format_duration(f.law.mean),
            f"{f.law.scv:.3g}",
            format_duration(f.times.quantile(0.99)),
            format_duration(f.law.quantile(0.99)),
        )
        for name, f in done
    ]
    header = ("", "LAW", "MISSED", "MEAN", "SCV", "P99 OBSERVED", "P99 OF THE LAW")
    return table(header, rows, left=2)


def next_line(done: Sequence[Fitted]) -> list[str]:
    """What to do about the most frequent warning."""
    remedies = Counter(f.remedy for _, fit in done for f in fit.findings if f.remedy)
    return [labelled("NEXT", f"{remedy[0].upper()}{remedy[1:]}") for remedy, _ in remedies.most_common(1)]
