"""How often a fleet without an odd drive has one called odd: deviations by Student's t, or by a normal law.

python fleet_alarms.py [FLEETS]    writes the table of accuracy-tables.md; fleets of ten drives, fewer of larger ones
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from on_page import write_table
from scipy.stats import binomtest

from calibrate.fleet.odd import with_oddness

DEPTHS = 2.0 ** np.arange(7)
MOVES = 0.02
"""The scale of a drive's deviation at a load."""
FLEETS = 1000
DRIVES: Mapping[int, int] = MappingProxyType({10: 1, 100: 3, 500: 10})
"""Numbers of drives, and how many times fewer of such fleets are drawn."""
FREEDOMS: Mapping[str, float] = MappingProxyType({"t(3)": 3.0, "t(5)": 5.0, "normal": np.inf})


def alarms(drives: int, freedom: float, fleets: int) -> int:
    """In how many of the fleets a drive is called odd."""
    random = np.random.default_rng([drives, fleets])
    table = pd.DataFrame({"series": "curve", "model": "model", "firmware": ""}, index=range(drives))
    found = 0
    for _ in range(fleets):
        normal = random.standard_normal((drives, len(DEPTHS)))
        spread = np.sqrt(random.chisquare(freedom, normal.shape) / freedom) if np.isfinite(freedom) else 1.0
        curves = pd.DataFrame(1e5 * np.exp(MOVES * normal / spread), columns=DEPTHS)
        found += bool((with_oddness(table, curves)[0]["odd"] != "").any())
    return found


def rows(fleets: int) -> Iterator[str]:
    """The table: a row for each law, in percent with the interval for nine in ten."""
    yield f"| fleets with a false alarm, % [90 %] | {' | '.join(f'{n} drives' for n in DRIVES)} |"
    yield f"|---|{'---:|' * len(DRIVES)}"
    for law, freedom in FREEDOMS.items():
        cells = []
        for drives, fewer in DRIVES.items():
            count = max(fleets // fewer, 1)
            share = binomtest(found := alarms(drives, freedom, count), count).proportion_ci(0.9)
            cells.append(f"{100 * found / count:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]")
        yield f"| {law} | {' | '.join(cells)} |"


def main(fleets: int | None = None) -> None:
    """Print the table, and write it to the page where no other number of fleets was asked for."""
    text = "\n".join(rows(fleets or FLEETS))
    sys.stdout.write(f"{text}\n")
    if fleets is None:
        write_table("accuracy-tables.md", "false alarms of fleets", text)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
