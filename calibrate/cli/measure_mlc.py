"""``qsim measure mlc``: not in this version; says what to do instead."""

from __future__ import annotations

from calibrate.cli.failures import CommandError
from calibrate.cli.options import AsJson, DryRun, SweepDirectory

HELP = """Measure memory with Intel MLC: not in this version, which only reads what MLC prints.

\b
Instead:
qsim measure memory --out memory                  the built-in probe, any CPU
mlc --loaded_latency > mlc.txt                    then: qsim compare mlc.txt
"""


def measure_mlc(out: SweepDirectory = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Refuse, with the way round."""
    raise CommandError(
        "qsim does not start MLC in this version; measure with the built-in probe (qsim measure memory --out DIR), or "
        "run mlc --loaded_latency > mlc.txt yourself and read it: qsim compare mlc.txt"
    )
