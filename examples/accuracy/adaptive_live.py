"""How near adaptive sweeps come to a full one on live hardware: a device of known truth, and this machine's disk.

python adaptive_live.py FOLDER            measures into FOLDER (8 minutes), or goes on where it was interrupted;
                                          accuracy.md sums up what it prints
python adaptive_live.py FOLDER RUNTIME    with another time per point than 2s

The full sweep takes every depth that the adaptive one may choose among, twice; the adaptive one is run three times,
each with at most a third of those depths. Both are fitted by the model that the adaptive sweep took. "Noise" is by how
much one repeat of the full sweep differs from the other. Other work on the machine makes noise: run it where there is
none, or with priority (chrt -r 20).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from calibrate import fit
from calibrate.knees.knee import Knee
from calibrate.next.adaptive import LOADS, pooled_noise
from calibrate.next.adaptive_fio import adaptive_fio
from calibrate.points import points_of
from measure.fio.plan import FioPlan, plan_fio
from measure.fio.sweep import run_fio
from measure.known_device.server import known_device, truth_of
from measure.units import parse_duration
from qsim import LogNormal

TRIES = 3
BUDGET = len(LOADS) // 3
SERVERS, SERVICE = 4, LogNormal(2e-3, 2.0)
HEAD = (
    "| device | noise | knee of the full sweep, 28 depths | adaptive: points | knee | off the full one |",
    "|---|---|---|---|---|---|",
)


@contextmanager
def known(runtime_s: float, repeats: int) -> Iterator[FioPlan]:
    """The plan of a sweep of a device of known truth, which runs meanwhile."""
    with known_device(truth_of(SERVICE, SERVERS), threads=max(LOADS)) as uri:
        yield plan_fio(
            uri, LOADS, runtime_s=runtime_s, ramp_s=0.2, repeats=repeats, label="four servers, lognormal 2 ms"
        )


@contextmanager
def disk(file: Path, runtime_s: float, repeats: int) -> Iterator[FioPlan]:
    """The plan of a sweep of the disk under ``file``."""
    yield plan_fio(file, LOADS, runtime_s=runtime_s, ramp_s=0.2, repeats=repeats, size_bytes=2**30)


def rows(name: str, folder: Path, runtime_s: float) -> Iterator[str]:
    """The lines of one device, measured where they are not there yet."""

    def plan(repeats: int) -> AbstractContextManager[FioPlan]:
        return known(runtime_s, repeats) if name == "known device" else disk(folder / "disk.bin", runtime_s, repeats)

    with plan(2) as both:
        full = run_fio(both, folder / "full")
    noise = pooled_noise(points_of(full)) or 0.0
    for number in range(TRIES):
        with plan(1) as one:
            found = adaptive_fio(one, folder / f"adaptive-{number}", BUDGET)
        whole = fit(full, LOADS, model=found.fit.model).knee
        off = abs(float(found.knee.load or "inf") / float(whole.load or "nan") - 1)
        yield (
            f"| {name} | {100 * noise:.1f} % | {shown(whole)} | {len(found.steps)} | {shown(found.knee)} "
            f"| {100 * off:.1f} % |"
        )


def shown(knee: Knee) -> str:
    """A knee with its interval."""
    return "none" if knee.load is None else f"{knee.load:.2f} [{knee.low:.2f}, {knee.high:.2f}]"


def main(arguments: list[str]) -> None:
    """Measure and print the table."""
    folder, runtime_s = Path(arguments[0]), parse_duration(arguments[1]) if len(arguments) > 1 else 2.0
    lines = list(HEAD)
    for name in ("known device", "disk"):
        place = folder / name.replace(" ", "-")
        place.mkdir(parents=True, exist_ok=True)
        lines += rows(name, place, runtime_s)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
