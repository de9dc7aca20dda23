"""A common mistake of tables: the size of the file (fio's size=) taken for the size of a block (bs=)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measure.closed_curves import ClosedCurve, ratio_range
from measure.sweep import Sweep
from measure.units import format_bytes


@dataclass(frozen=True)
class BlockVerdict:
    """The block that makes the law hold where the table's "block" was something else (the size of the file)."""

    block_bytes: float
    claimed: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


def block_verdict(sweep: Sweep, curves: Sequence[ClosedCurve]) -> BlockVerdict | None:
    """The file's size taken for the block's, tested where throughput was computed as bandwidth / block.

    A wrong block b scales every ratio by b'/b, the same at all depths; at the lowest depth nothing else does. So b' =
    b * ratio must come out as one power of two from at least two different claimed blocks (or from one, over at least
    two curves), within 6 %.
    """
    if sweep.provenance.details.get("throughput_from") != "bandwidth / block":
        return None
    votes: dict[float, list[tuple[ClosedCurve, float]]] = {}
    for curve in curves:
        if curve.block_bytes is None:
            continue
        implied = curve.block_bytes * curve.ratio[0]
        power = 2.0 ** round(np.log2(implied))
        if power >= 512 and power != curve.block_bytes and abs(implied / power - 1) <= 0.06:
            votes.setdefault(power, []).append((curve, implied))
    if not votes:
        return None
    block, supporters = max(votes.items(), key=lambda item: len(item[1]))
    if len(supporters) < 2 or 2 * len(supporters) < len(curves):
        return None
    claimed = tuple(dict.fromkeys(c.block_bytes for c, _ in supporters if c.block_bytes))
    return BlockVerdict(
        block, claimed, tuple(float(c.ratio[0]) for c, _ in supporters), tuple(float(i / block) for _, i in supporters)
    )


def ratios_by_claim(verdict: BlockVerdict) -> Mapping[str, str]:
    """Words for a finding: what was claimed and the ratios before and after."""
    return {
        "claimed": ", ".join(format_bytes(c) for c in verdict.claimed),
        "before": ratio_range(np.array(verdict.before)),
        "after": ratio_range(np.array(verdict.after)),
    }
