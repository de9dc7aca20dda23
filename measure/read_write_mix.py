"""How tables and tools name a mix of reads and writes: "Read-Only", "3:1 R:W", "randrw", "Read and Write"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RATIO = re.compile(r"(\d+(?:\.\d+)?)\s*[:/]\s*(\d+(?:\.\d+)?)")
_READ = re.compile(r"^(?:100\s*%\s*)?(?:all\s+)?(?:rand(?:om)?[\s_-]*|seq(?:uential)?[\s_-]*)?reads?(?:[\s_-]*only)?$")
_WRITE = re.compile(
    r"^(?:100\s*%\s*)?(?:all\s+)?(?:rand(?:om)?[\s_-]*|seq(?:uential)?[\s_-]*)?writes?(?:[\s_-]*only)?$"
)


@dataclass(frozen=True)
class Mix:
    """``read_fraction`` (None where the words do not tell), ``pattern`` (random | sequential), and further words."""

    read_fraction: float | None = None
    pattern: str | None = None
    note: str = ""


def parse_mix(text: str) -> Mix:
    """The mix that a cell or a flag names. A mix without its ratio ("Read and Write") has no read fraction.

    >>> parse_mix("3:1 R:W").read_fraction, parse_mix("Write-Only (Non-Temporal)")
    (0.75, Mix(read_fraction=0.0, pattern=None, note='non-temporal'))
    """
    words = text.strip().lower()
    bracket = re.search(r"\(([^)]*)\)", words)
    note = bracket[1].strip() if bracket else ""
    bare = re.sub(r"\s*\([^)]*\)", "", words).strip()
    pattern = "random" if re.search(r"\brand", bare) else "sequential" if re.search(r"\bseq", bare) else None
    if _READ.match(bare):
        return Mix(1.0, pattern, note)
    if _WRITE.match(bare):
        return Mix(0.0, pattern, note)
    ratio = _RATIO.search(bare)
    if ratio is not None and (reads := float(ratio[1])) + (writes := float(ratio[2])) > 0:
        return Mix(reads / (reads + writes), pattern, note)
    return Mix(None, pattern, note)
