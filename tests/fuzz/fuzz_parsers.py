"""Damaged inputs for every reader: whatever the bytes, a result of possible numbers or one sentence of refusal.

    python tests/fuzz/fuzz_parsers.py                      all readers, 100,000 inputs each
    python tests/fuzz/fuzz_parsers.py mlc --runs 2000      one of them, fewer inputs
    python tests/fuzz/fuzz_parsers.py --seconds 60         as many as that time allows

The inputs start from our own outputs of tools and are at most 16 KiB long. One that takes more than 10 seconds of a
processor counts as a failure. A failing input is kept in ``corpus/READER``, whose files ``make test`` tries again.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from fuzz_targets import TARGETS
from mutation import mutated

CORPUS = Path(__file__).with_name("corpus")
CPU_SECONDS_EACH = 10
LONGEST_REFUSAL = 2_000


class TooLongError(BaseException):
    """An input took too long; no reader catches it."""


def check(parser: Callable[[bytes], object], content: bytes) -> None:
    """One input: AssertionError or any other exception is a failure of the reader."""
    from measure.auditing.all_checks import audit
    from measure.errors import DataError
    from measure.sweep import Sweep

    found: object = None
    refusal = "not refused"
    try:
        found = parser(content)
    except DataError as error:
        refusal = str(error)
    assert refusal, "a refusal without a word"
    assert "\n" not in refusal, f"a refusal of several lines: {refusal}"
    assert len(refusal) < LONGEST_REFUSAL, "a refusal that nobody reads to its end"
    if isinstance(found, Sweep):
        assert (found.points[["throughput_per_s", "latency_s"]] > 0).all().all()
        if len(content) % 32 == 0:  # an audit takes several times as long as the reading
            assert audit(found)


def check_in_time(parser: Callable[[bytes], object], content: bytes) -> None:
    """As ``check``, and it takes no longer than it may."""

    def late(*_: object) -> None:
        raise TooLongError(f"more than {CPU_SECONDS_EACH} s")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS_EACH)
    try:
        check(parser, content)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fuzz(target: str, runs: int, seed: int, seconds: float = math.inf) -> tuple[int, list[bytes]]:
    """How many inputs were tried, and those on which the reader failed, each kind of failure once."""
    rng, seeds = random.Random(f"{target} {seed}"), TARGETS[target].seeds()
    failed: dict[str, bytes] = {}
    tried, start = 0, time.monotonic()
    while tried < runs and time.monotonic() - start < seconds:
        tried += 1
        content = mutated(seeds, rng)
        try:
            check_in_time(TARGETS[target].parser, content)
        except (Exception, TooLongError) as error:  # noqa: BLE001
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}"
            if kind not in failed:
                print(f"  {target}: {kind}: {str(error)[:100]}", flush=True)  # noqa: T201
            failed.setdefault(kind, content)
    return tried, list(failed.values())


def main() -> int:
    """The exit code: the number of readers that failed."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="readers (default: all)")
    arguments.add_argument("--runs", type=int, default=100_000, help="inputs for each reader")
    arguments.add_argument("--seed", type=int, default=1, help="other inputs for another number")
    arguments.add_argument("--seconds", type=float, default=math.inf, help="at most so long for each reader")
    asked = arguments.parse_args()
    bad = 0
    for target in asked.targets or list(TARGETS):
        start = time.monotonic()
        tried, failed = fuzz(target, asked.runs, asked.seed, asked.seconds)
        bad += bool(failed)
        for content in failed:
            (CORPUS / target).mkdir(parents=True, exist_ok=True)
            (CORPUS / target / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)
        outcome = f"{len(failed)} kinds of failure" if failed else "no failure"
        seconds = time.monotonic() - start
        print(f"{target}: {tried:,} inputs, {outcome}, {seconds:.0f} s", flush=True)  # noqa: T201
    return bad


if __name__ == "__main__":
    sys.exit(main())
