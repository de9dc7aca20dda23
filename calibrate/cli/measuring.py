"""What every measurement has in common: the plan before it, the points after it, and what an interruption leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import plain, table
from calibrate.cli.failures import INTERRUPTED, CommandError, wrong_usage
from measure.units import format_bandwidth, format_duration, format_rate

if TYPE_CHECKING:
    from measure import Sweep


def directory(out: Path | None) -> Path:
    """The sweep directory; CommandError where none was named."""
    if out is None:
        raise wrong_usage("--out is missing: name the directory to keep the points in, or only look: --dry-run")
    return out


@contextmanager
def keeping(out: Path) -> Iterator[None]:
    """Let an interruption say what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        finished = len(list((out / "points").glob("*.json"))) if (out / "points").is_dir() else 0
        kept = f"{finished} finished point(s) are kept in {out}" if finished else "no point was finished yet"
        raise CommandError(
            f"interrupted; {kept}; the same command goes on from there", INTERRUPTED,
            {"directory": str(out), "points_kept": finished},
        ) from error  # fmt: skip


def points_text(sweep: Sweep, out: Path) -> str:
    """The table of points, where they are kept, and the next command."""
    memory = sweep.load_kind == "injected_delay"
    means = sweep.mean_points()
    parts = []
    for series, group in means.groupby("series", sort=False):
        rows = [
            (f"{row['load']:g}",
             format_bandwidth(64 * row["throughput_per_s"]) if memory else format_rate(row["throughput_per_s"]),
             format_duration(row["latency_s"]),
             "" if row["repeats"] < 2 else f"{100 * row['throughput_spread']:.2g} %")
            for _, row in group.iterrows()
        ]  # fmt: skip
        header = ("delay" if memory else "depth", "bandwidth" if memory else "throughput", "latency", "repeats differ")
        parts.append(f"{series}\n{table(header, rows, left=0)}")
    return "\n\n".join([*parts, f"kept in {out}; next: qsim compare {out} --report report.html"])


def sweep_document(sweep: Sweep, out: Path) -> dict[str, Any]:
    """A measured sweep in JSON, SI units."""
    rows = sweep.points.to_dict("records")
    kept = [{str(k): v for k, v in row.items() if plain(v) is not None} for row in rows]  # without what is not known
    return {
        "directory": str(out),
        "load_kind": sweep.load_kind,
        "load_unit": sweep.load_unit,
        "series": list(sweep.series),
        "points": kept,
        "findings": [f.to_dict() for f in sweep.findings],
        "provenance": sweep.provenance.to_dict(),
    }
