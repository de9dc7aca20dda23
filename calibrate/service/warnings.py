"""What to mind about fitted service times: tails beyond the data, too few percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calibrate.service.fitted import QUANTILES, FamilyFit
from calibrate.service.times import Times
from measure.findings import Finding
from measure.units import format_duration

BEYOND = 10
"""The requests that must lie above a quantile for it to be seen."""
FAR_MEAN = 0.03
POOR_KS = 0.05


def findings_of(times: Times, families: Sequence[FamilyFit]) -> Iterator[Finding]:
    """The warnings for these times and their families, the best first."""
    best = families[0]
    if not times.requests_known:
        yield Finding(
            "requests-unknown",
            "warning",
            f"it is not said how many requests the percentiles were taken from; {times.total:g} are assumed, the "
            "fewest that have one beyond the highest",
            "",
            "give the number of requests (--requests); it decides the ranking",
        )
    if times.kind == "percentiles" and len(times.counts) == 3:
        yield Finding(
            "too-few-percentiles",
            "warning",
            "two percentiles are met by several families, which differ in the tail",
            "",
            "give more percentiles, or a histogram (json+)",
        )
    yield from _beyond(times)
    if not math.isfinite(best.law.scv):
        yield Finding(
            "infinite-variance",
            "warning",
            f"the {best.name} has a tail without a variance, so that no queue fed by it has a mean waiting time",
            "the largest times are too few to say how the tail goes on",
            "measure longer, or play the histogram itself back (qsim.Empirical)",
        )
    elif times.kind != "percentiles" and abs(best.law.mean / times.mean_s - 1) > FAR_MEAN:
        yield Finding(
            "mean-by-the-tail",
            "warning",
            f"the {best.name} has a mean of {format_duration(best.law.mean)}, and the "
            f"requests one of {format_duration(times.mean_s)}",
            "a few very long times decide, of which more or less is made than was seen",
            "measure longer, or play the histogram itself back (qsim.Empirical)",
        )
    if best.ks > POOR_KS:
        yield Finding(
            "poor-fit",
            "warning",
            f"even the best family, {best.name}, is off by {100 * best.ks:.1f} % of the requests at some time",
            "",
            "get the histogram itself (json+)"
            if times.kind == "percentiles"
            else "play the histogram itself back (qsim.Empirical, or histogram:FILE on the command line)",
        )


def _beyond(times: Times) -> Iterator[Finding]:
    """Quantiles that too few requests lie above, or that lie in a bin without an end."""
    highest = 1 - BEYOND / times.total
    if times.kind == "percentiles":
        highest = 1 - float(times.counts[-1] / times.total)
    over = [q for q in QUANTILES if q > highest + 1e-9]
    if over:
        names = ", ".join(f"p{100 * q:g}" for q in over)
        reached = "p50" if highest < 0.5 else f"p{100 * highest:.6g}"
        yield Finding(
            "tail-beyond-data",
            "warning",
            f"{names} of the law is beyond the data, which reach to {reached} ({times.total:g} requests); what "
            "the families say of it differs",
            "",
            f"measure at least {BEYOND / (1 - max(over)):.3g} requests",
        )
