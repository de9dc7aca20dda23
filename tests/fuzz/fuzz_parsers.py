"""Coverage-guided fuzzing of the parsers: whatever the bytes, a Sweep of possible numbers or one sentence of refusal.

    python tests/fuzz/fuzz_parsers.py                      all parsers, 100,000 inputs each
    python tests/fuzz/fuzz_parsers.py mlc --runs 2000      one of them, fewer inputs
    python tests/fuzz/fuzz_parsers.py mlc --input FILE     an input that failed before, once more

Needs atheris (``pip install 'atheris>=3'``). The inputs start from our own golden outputs, and are at most 16 KiB long;
where one holds JSON, values and keys are exchanged as well as bytes, as JSON that is damaged anywhere goes no further.
An input that takes more than 10 seconds of a processor, two minutes by the clock, or 1 GiB of memory, counts as a
failure. A failing input is kept as crash-..., timeout-... or oom-... in the working directory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fuzz_targets import IN_MEMORY, MAX_BYTES, PLACE, TARGETS
from json_mutation import mutate

CPU_SECONDS_EACH = 10
SECONDS_EACH = 120  # on a busy machine a process may have to wait that long for a processor
MIB_EACH = 1024
LONGEST_REFUSAL = 2_000


def check(parser: Callable[[bytes], object], content: bytes) -> None:
    """One input: AssertionError or any other exception is a failure of the parser."""
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
        if len(content) % 8 == 0:  # an audit takes longer than the reading
            assert audit(found)


def check_in_time(parser: Callable[[bytes], object], content: bytes) -> None:
    """As ``check``, and it takes no longer than it may."""
    start = time.process_time()
    check(parser, content)
    assert time.process_time() - start < CPU_SECONDS_EACH, "it takes too long"


def _fuzz(target: str, runs: int, seeds: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["measure", "calibrate", "json", "csv"]):
        import calibrate.cli.fit_files  # noqa: F401

        # What is imported at first use is imported here: it would count as the time of the first input.
        parser, first = TARGETS[target].parser, TARGETS[target].seeds()[0]
        check(parser, first)
    atheris.Setup(
        [
            sys.argv[0],
            f"-runs={runs}",
            f"-max_len={MAX_BYTES}",
            f"-timeout={SECONDS_EACH}",
            f"-report_slow_units={SECONDS_EACH}",
            f"-rss_limit_mb={MIB_EACH}",
            "-print_final_stats=1",
            seeds,
        ],
        lambda content: check_in_time(parser, content),
        custom_mutator=mutate,
    )
    atheris.Fuzz()  # ends the process


def _run_all(targets: list[str], runs: int) -> int:
    """Each parser in a process of its own, as the fuzzer ends the process; the number of parsers that failed."""
    failed = 0
    for target in targets:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=IN_MEMORY) as place:
            seeds = Path(place, "seeds")
            seeds.mkdir()
            for number, content in enumerate(TARGETS[target].seeds()):
                (seeds / str(number)).write_bytes(content)
            command = [sys.executable, __file__, target, "--runs", str(runs), "--seeds", str(seeds)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env={**os.environ, PLACE: place}
            )
        executed = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
        count = executed[0].split()[-1] if executed else "?"
        outcome = f"FAILED (exit code {done.returncode})" if done.returncode else "passed"
        print(f"{target}: {outcome} after {count} inputs", flush=True)  # noqa: T201
        if done.returncode:
            failed += 1
            print("\n".join(done.stderr.splitlines()[-12:] + done.stdout.splitlines()[-40:]))  # noqa: T201
    return failed


def main() -> int:
    """The exit code: the number of parsers that failed."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="parsers (default: all)")
    arguments.add_argument("--runs", type=int, default=100_000, help="inputs for each parser")
    arguments.add_argument("--input", type=Path, help="try this one input only")
    arguments.add_argument("--seeds", help=argparse.SUPPRESS)
    asked = arguments.parse_args()
    targets = asked.targets or list(TARGETS)
    if asked.input is not None:
        for target in targets:
            check_in_time(TARGETS[target].parser, asked.input.read_bytes())
        return 0
    if asked.seeds is not None:
        _fuzz(targets[0], asked.runs, asked.seeds)
    return _run_all(targets, asked.runs)


if __name__ == "__main__":
    sys.exit(main())
