"""Coverage-guided fuzzing of the parsers: whatever the bytes, a Sweep of possible numbers or one sentence of refusal.

    python tests/fuzz/fuzz_parsers.py                      all parsers, 100,000 inputs each
    python tests/fuzz/fuzz_parsers.py mlc --runs 2000      one of them, fewer inputs
    python tests/fuzz/fuzz_parsers.py mlc --input FILE     an input that failed before, once more

Needs atheris (``pip install 'atheris>=3'``). The inputs start from our own golden outputs, and are at most 16 KiB long.
An input that takes longer than 10 seconds, or more than 1 GiB of memory, counts as a failure. A failing input is kept
as crash-..., timeout-... or oom-... in the working directory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "golden" / "data"
MAX_BYTES = 16_384
SECONDS_EACH = 10
MIB_EACH = 1024
LONGEST_REFUSAL = 2_000


def fio_json(content: bytes) -> object:
    from measure.fio_json import parse_fio
    from measure.fio_output import sweep_of_all
    from measure.text_files import decode

    return sweep_of_all(parse_fio(decode(content, "f"), "f"))


def fio_terse(content: bytes) -> object:
    from measure.fio_output import sweep_of_all
    from measure.fio_terse import parse_terse
    from measure.text_files import decode

    return sweep_of_all(parse_terse(decode(content, "f"), "f"))


def fio_normal(content: bytes) -> object:
    from measure.fio_normal import parse_normal
    from measure.fio_output import sweep_of_all
    from measure.text_files import decode

    return sweep_of_all(parse_normal(decode(content, "f"), "f"))


def mlc(content: bytes) -> object:
    from measure.mlc_output import mlc_sweep
    from measure.text_files import decode

    return mlc_sweep({"f": decode(content, "f")})


def csv(content: bytes) -> object:
    from measure.csv_table import csv_sweep
    from measure.text_files import decode

    return csv_sweep(decode(content, "f"), name="f")


def curves(content: bytes) -> object:
    from measure.mess_curves import curves_sweep
    from measure.text_files import decode

    return curves_sweep({"bwlat_50.txt": decode(content, "f")})


def log(content: bytes) -> object:
    return _as_file("x_lat.1.log", content)


def histogram_log(content: bytes) -> object:
    return _as_file("x_clat_hist.1.log", content)


def load(content: bytes) -> object:
    return _as_file("anything", content)


def columns(content: bytes) -> object:
    from measure.csv_columns import parse_columns

    return parse_columns(content.decode("utf-8", "replace"))


def _as_file(name: str, content: bytes) -> object:
    from measure import load as load_file

    path = Path(_folder()) / name
    path.write_bytes(content)
    return load_file(path)


def _folder() -> str:
    global _FOLDER  # noqa: PLW0603  (one folder for all inputs: making one each takes longer than the parsing)
    if _FOLDER is None:
        _FOLDER = tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108
    return _FOLDER


_FOLDER: str | None = None

#: Parser -> the golden outputs to start from.
TARGETS: dict[str, tuple[Callable[[bytes], object], tuple[str, ...]]] = {
    "fio_json": (fio_json, ("fio/*",)),
    "fio_terse": (fio_terse, ("fio-text/terse*",)),
    "fio_normal": (fio_normal, ("fio-text/report*",)),
    "mlc": (mlc, ("mlc/*",)),
    "csv": (csv, ("curves/*",)),
    "curves": (curves, ("curves/*",)),
    "log": (log, ("fio-logs/*lat*", "fio-logs/*/*lat*")),
    "histogram_log": (histogram_log, ("fio-logs/*hist*",)),
    "load": (load, ("*/*",)),
    "columns": (columns, ()),
}


def check(parser: Callable[[bytes], object], content: bytes) -> None:
    """One input: AssertionError or any other exception is a failure of the parser."""
    from measure.auditing import audit
    from measure.dataset import Sweep
    from measure.errors import DataError

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


def _fuzz(target: str, runs: int, seeds: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["measure", "json", "csv"]):
        import measure.auditing
        import measure.fio_logs
        import measure.fio_normal
        import measure.fio_output
        import measure.fio_terse
        import measure.loading
        import measure.log_records
        import measure.mess_curves  # noqa: F401

    parser, _ = TARGETS[target]
    atheris.Setup(
        [sys.argv[0], f"-runs={runs}", f"-max_len={MAX_BYTES}", f"-timeout={SECONDS_EACH}", f"-rss_limit_mb={MIB_EACH}",
         "-print_final_stats=1", seeds],
        lambda content: check(parser, content),
    )  # fmt: skip
    atheris.Fuzz()  # ends the process


def _run_all(targets: list[str], runs: int) -> int:
    """Each parser in a process of its own, as the fuzzer ends the process; the number of parsers that failed."""
    failed = 0
    for target in targets:
        with tempfile.TemporaryDirectory(prefix="seeds-") as seeds:
            for pattern in TARGETS[target][1]:
                for number, path in enumerate(sorted(p for p in DATA.glob(pattern) if p.is_file())):
                    Path(seeds, f"{number}-{path.name}").write_bytes(path.read_bytes()[:MAX_BYTES])
            command = [sys.executable, __file__, target, "--runs", str(runs), "--seeds", seeds]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path.cwd())
        executed = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
        count = executed[0].split()[-1] if executed else "?"
        print(f"{target}: {'passed' if done.returncode == 0 else 'FAILED'} after {count} inputs", flush=True)  # noqa: T201
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
            check(TARGETS[target][0], asked.input.read_bytes())
        return 0
    if asked.seeds is not None:
        _fuzz(targets[0], asked.runs, asked.seeds)
    return _run_all(targets, asked.runs)


if __name__ == "__main__":
    sys.exit(main())
