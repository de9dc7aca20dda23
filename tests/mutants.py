"""Changes the code in N random places (200), one at a time, and says how many of the changes the tests notice.

    make mutants    or    .venv/bin/python tests/mutants.py [N] [--seed S] [PATH ...]

The changes are those of cosmic-ray (`pip install -e '.[mutants]'`). Places are drawn by the length of the modules under
the paths; each meets the tests of its module (those in the folder of the same name under tests/unit or tests/cli, and
every file that imports the module), until one fails. Works in a clone of the last commit at a low priority; needs
one to three minutes a mutant of a busy machine, so it is no part of a test run. Left out are annotations, which never
run, numbers that a module gives a name in capitals (which iteration limit works as well is no fault), and changes into
what is of another type. A mutant that changes no result, or that no test calls, counts as a survivor.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkResult

REPOSITORY = Path(__file__).resolve().parent.parent
LIMIT_S = 900
"""For the tests of one mutant; one that takes longer is counted apart."""

CHANGES = re.compile(
    "core/(AddNot|NumberReplacer|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceTrueWithFalse|ReplaceFalseWithTrue"
    "|ReplaceUnaryOperator_Delete_(Not|USub)|ZeroIterationForLoop"
    "|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|Pow_Mul)"
    "|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is))"
)
NAMED_NUMBER = re.compile(r"_?[A-Z][A-Z0-9_]*(, [A-Z_]+)* = ")
PYTEST = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=0")
MARKS = "not slow and not live and not tools"
SOME_FAILED, NO_TESTS = 1, 5
"""The exit codes of pytest where some failed, and where it has none to run."""


def drawn(modules: Sequence[Path], number: int, seed: int) -> Iterator[tuple[Path, list[MutationSpec]]]:
    """The modules that were drawn, in random order, each with its mutants."""
    draw = random.Random(seed)
    counts = Counter(draw.choices(modules, [m.stat().st_size for m in modules], k=number))
    with tempfile.TemporaryDirectory() as folder, use_db(str(Path(folder) / "session.sqlite")) as session:
        for module, count in counts.items():
            init([module], session, {})
            lines = module.read_text("utf-8").splitlines()
            found = [change for item in session.work_items for change in item.mutations if matters(change, lines)]
            yield module, draw.sample(sorted(found, key=place), min(count, len(found)))


def place(change: MutationSpec) -> tuple[str, int]:
    """What tells one mutant of a module from another."""
    return change.operator_name, change.occurrence


def matters(change: MutationSpec, lines: Sequence[str]) -> bool:
    """Whether the tests ought to notice a mutant."""
    line = lines[change.start_pos[0] - 1]
    return CHANGES.fullmatch(change.operator_name) is not None and not (
        change.definition_name is None and NAMED_NUMBER.match(line)
    )


def tests_of(module: Path) -> list[str]:
    """Files and folders of tests for a module: those of its name first, then its folder's, then what imports it."""
    own = [Path("tests/unit") / module.parent]
    if module.is_relative_to("calibrate/cli"):
        own.append(Path("tests/cli").joinpath(*module.parent.parts[2:]))
    folders = [folder for folder in own if folder.is_dir()]
    named = [file for folder in folders for file in sorted(folder.rglob(f"test_*{module.stem}*.py"))]
    package, name = re.escape(".".join(module.parent.parts)), module.stem
    imports = re.compile(
        rf"from {package}\.{name} import|import {package}\.{name}\b|from {package} import .*\b{name}\b"
    )
    readers = [
        file
        for room in ("unit", "cli", "property", "golden", "agreement", "docs")
        for file in sorted(Path("tests", room).rglob("test_*.py"))
        if not any(file.is_relative_to(folder) for folder in folders) and imports.search(file.read_text("utf-8"))
    ]
    return [str(path) for path in (*named, *folders, *readers)]


def outcome(module: Path, changes: Sequence[MutationSpec]) -> Iterator[tuple[str, str]]:
    """The fate of each mutant of a module, and the mutant in a line or two."""
    tests = tests_of(module)
    command = [sys.executable, *PYTEST, "-m", MARKS, *tests]
    unchanged = subprocess.run(command, capture_output=True, text=True, check=False) if tests else None
    if unchanged is not None:  # what fails without a change, on a busy machine perhaps, says nothing
        if unchanged.returncode not in {0, SOME_FAILED, NO_TESTS}:  # what cannot be run would kill every mutant
            raise SystemExit(f"the tests of {module} do not run:\n{unchanged.stdout}{unchanged.stderr}")
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", unchanged.stdout, re.MULTILINE)
        command += ["-x", *(f"--deselect={test}" for test in failed)]
    for change in changes:
        if unchanged is None or unchanged.returncode == NO_TESTS:
            yield "survived", f"{module}:{change.start_pos[0]}: no test of it ({change.operator_name})"
        else:
            result = mutate_and_test([change], shlex.join(command), LIMIT_S)
            yield fate(result), f"{module}:{change.start_pos[0]}: {changed_line(result)}"


def fate(result: WorkResult) -> str:
    """Killed, survived, or too slow."""
    if result.output == "timeout":
        return "too slow"
    return "survived" if result.test_outcome == TestOutcome.SURVIVED else "killed"


def changed_line(result: WorkResult) -> str:
    """The line before and after."""
    lines = [line for line in (result.diff or "").splitlines() if re.match(r"[-+](?![-+])", line)]
    return "  ->  ".join(line[1:].strip() for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("N", nargs="?", type=int, default=200)
    parser.add_argument("PATH", nargs="*", default=["qsim", "measure", "calibrate"])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_intermixed_args()
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="qsim-mutants-") as folder:
        subprocess.run(["git", "clone", "-q", str(REPOSITORY), folder], check=True)
        os.chdir(folder)
        os.environ["PYTHONPATH"] = os.pathsep.join((folder, str(Path(folder) / "tests")))
        files = [file for path in map(Path, given.PATH) for file in ([path] if path.suffix else path.rglob("*.py"))]
        fates: Counter[str] = Counter()
        for module, changes in drawn(sorted(files), given.N, given.seed):
            for found, text in outcome(module, changes):
                fates[found] += 1
                killed, tried = fates["killed"], fates["killed"] + fates["survived"]
                sys.stdout.write(f"{found:9} {killed}/{tried}  {text}\n")
                sys.stdout.flush()
    sys.stdout.write(", ".join(f"{count} {name}" for name, count in fates.most_common()) + "\n")


if __name__ == "__main__":
    main()
