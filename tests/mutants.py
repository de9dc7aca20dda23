"""Changes the code in N random places (200), one at a time, and says how many of the changes the tests notice.

    make mutants    or    .venv/bin/python tests/mutants.py [N] [--seed S] [--limit SECONDS] [--budget SECONDS]
                                                            [--least PERCENT] [--write] [PATH ...]

The changes are those of cosmic-ray (`pip install -e '.[mutants]'`). Of all those of the modules under the paths the
same ones are drawn each time, for as long as their lines are the same; the first ones of many are those of few. Each
meets the tests of its module (the files of its name or that import it and the examples of its docstrings, the others of
the folder of the same name under tests/unit or tests/cli, then the files elsewhere that import it), until one fails
that passes without the change. Works in a clone of the last commit at a low priority, some seconds a mutant that is
noticed. What was found is kept in build/mutants.json: the next run tries those that survived, and those of modules that
changed.

Left out are annotations, which never run, numbers that a module gives a name in capitals (which iteration limit works
as well is no fault), and changes into what is of another type. Those of tests/data/equivalent_mutants.json change no
result, for the reason given there, and are counted apart. One that no test calls, or for which a step of tests takes
more processor time than the limit, counts as a survivor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code, use_mutation
from cosmic_ray.plugins import get_operator, operator_names

REPOSITORY = Path(__file__).resolve().parent.parent
KNOWN = REPOSITORY / "build" / "mutants.json"
EQUIVALENT = json.loads((REPOSITORY / "tests" / "data" / "equivalent_mutants.json").read_text("utf-8"))
"""Why a change has no effect, by module and lines."""

CHANGES = re.compile(
    "core/(AddNot|NumberReplacer|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceTrueWithFalse|ReplaceFalseWithTrue"
    "|ReplaceUnaryOperator_Delete_(Not|USub)|ZeroIterationForLoop"
    "|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|Pow_Mul)"
    "|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is))"
)
NAMED_NUMBER = re.compile(r"_?[A-Z][A-Z0-9_]*(, [A-Z_]+)* = ")
PYTEST = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--tb=no", "--assert=plain")
MARKS = "not slow and not live and not tools"
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)
WAITING = 15
"""Times the limit of processor time: a test that waits for as long, on a busy machine too, waits for ever."""

PASSED, NO_TESTS = 0, 5
"""Exit codes of pytest."""

LIBRARIES = (
    *("numpy", "scipy.optimize", "scipy.stats", "pandas", "numba", "statsmodels.api", "plotly.graph_objects"),
    *("hypothesis.strategies", "xdist.plugin", "anyio.pytest_plugin", "jinja2", "rich.console", "typer", "simpy"),
)
"""Imported once: each run of tests is a fork of this process."""


class Mutant(NamedTuple):
    """One change of one module."""

    module: Path
    operator: str
    occurrence: int
    line: int

    @property
    def key(self) -> str:
        """The same for as long as the module is."""
        return f"{self.module} {hashlib.sha1(self.module.read_bytes()).hexdigest()} {self.operator} {self.occurrence}"  # noqa: S324


def drawn(modules: Sequence[Path], number: int, seed: int) -> Iterator[Mutant]:
    """Mutants of the modules in random order: a change of one line leaves the others where they are."""
    ranks: dict[Mutant, str] = {}
    for module in modules:
        lines, seen = module.read_text("utf-8").splitlines(), Counter[str]()
        for mutant in mutants_of(module):
            name = f"{seed} {module} {mutant.operator} {lines[mutant.line - 1].strip()}"
            ranks[mutant] = hashlib.sha1(f"{name} {seen[name]}".encode()).hexdigest()  # noqa: S324
            seen[name] += 1
    yield from islice(filter(is_python, sorted(ranks, key=ranks.__getitem__)), number)


def is_python(mutant: Mutant) -> bool:
    """Whether the module can still be compiled."""
    source = mutant.module.read_text("utf-8")
    try:
        compile(mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence), "", "exec")
    except SyntaxError:
        return False
    return True


def mutants_of(module: Path) -> Iterator[Mutant]:
    """The mutants that the tests ought to notice."""
    nodes = list(ast_nodes(get_ast_from_path(module)))
    lines = module.read_text("utf-8").splitlines()
    for name in filter(CHANGES.fullmatch, sorted(operator_names())):
        operator = get_operator(name)()
        places = (place for node in nodes for place, _ in operator.mutation_positions(node))
        for occurrence, (line, _) in enumerate(places):
            if not NAMED_NUMBER.match(lines[line - 1]):
                yield Mutant(module, name, occurrence, line)


def tests_of(module: Path) -> list[list[str]]:
    """Files of tests for a module, the likeliest to notice a change first."""
    package, name = re.escape(".".join(module.parent.parts)), module.stem
    imports = re.compile(
        rf"from {package}\.{name} import|import {package}\.{name}\b|from {package} import .*\b{name}\b"
    )
    named, beside, readers = [], [], []
    own = folders_of(module)
    for room in ("unit", "cli", "property", "golden", "agreement"):
        for file in sorted(Path("tests", room).rglob("test_*.py")):
            reads = imports.search(file.read_text("utf-8")) is not None
            if file.parent in own and (reads or name in file.stem):
                named.append(str(file))
            elif file.parent in own:
                beside.append(str(file))
            elif reads:
                readers.append(str(file))
    named.sort(key=lambda file: name not in Path(file).stem)
    if ">>> " in module.read_text("utf-8"):
        dotted = ".".join(module.parent.parts if name == "__init__" else module.with_suffix("").parts)
        named.append(f"tests/docs/test_docs_doctests.py::test_docstring_examples[{dotted}]")
    return [files for files in (named, beside, readers) if files]


def folders_of(module: Path) -> list[Path]:
    """The folder of tests of a module's own, where it has one, and that of its folder or the nearest above."""
    place = Path("tests/unit", module)
    if module.is_relative_to("calibrate/cli"):
        place = Path("tests/cli", module.relative_to("calibrate/cli"))
    return [place.with_suffix(""), next(folder for folder in place.parents if folder.is_dir())]


class Tests:
    """Runs the tests of a module: only those that pass without a change can judge it."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._sound: set[str] = set()
        self._failing: set[str] = set()
        """Without any change: on this machine, or on a busy one."""

    def fate(self, mutant: Mutant) -> tuple[str, str]:
        """Killed, survived, too slow or equivalent, and the mutant in a line."""
        with changed(mutant) as (before, after):
            text = f"{mutant.module}: {changed_lines(before, after)}"
        if text in EQUIVALENT:
            return "equivalent", text
        for files in tests_of(mutant.module):
            while remaining := [file for file in files if file not in self._failing]:
                with changed(mutant):
                    code, failed = run([*remaining, *(f"--deselect={test}" for test in self._failing)], self._limit)
                if code is None:
                    return "too slow", text
                if code in {PASSED, NO_TESTS}:
                    break
                failed = failed or remaining[0]  # the process died
                if self._is_sound(failed):
                    return "killed", f"{text}  by {failed}"
        return "survived", text

    def _is_sound(self, test: str) -> bool:
        """Whether a test passes without a change; what does not is left out from here on."""
        if test not in self._sound | self._failing:
            code, _ = run([test], self._limit)
            (self._sound if code == PASSED else self._failing).add(test)
        return test in self._sound


def run(arguments: Sequence[str], limit: float) -> tuple[int | None, str]:
    """The exit code of pytest, none where it takes more processor time, and the first test that failed."""
    with tempfile.TemporaryFile("w+") as output:
        child = multiprocessing.get_context("fork").Process(target=_run, args=(arguments, limit, output.fileno()))
        child.start()
        child.join(WAITING * limit)
        code = child.exitcode
        if code is None:
            os.killpg(child.pid or 0, signal.SIGKILL)
            child.join()
        output.seek(0)
        failed = FAILED.search(output.read())
        return None if code == -signal.SIGXCPU else code, failed[1] if failed else ""


def _run(arguments: Sequence[str], limit: float, output: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), resource.RLIM_INFINITY))
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["pytest"]
    sys.exit(pytest.main([*PYTEST, "-m", MARKS, *arguments]))


@contextmanager
def changed(mutant: Mutant) -> Iterator[tuple[str, str]]:
    """The text of the module before and after, while its file has the change.

    numba keeps what it compiled where only a kernel that it calls was changed: a change of a kernel clears all.
    """
    kernels = re.search("kernel|njit", mutant.module.read_text("utf-8")) is not None
    with use_mutation(mutant.module, get_operator(mutant.operator)(), mutant.occurrence) as texts:
        try:
            clear(kernels)
            yield texts
        finally:
            clear(kernels)


def clear(kernels: bool) -> None:
    """Throw away what numba compiled."""
    for file in list(Path().rglob("*.nb[ic]")) if kernels else ():
        file.unlink()


def changed_lines(before: str, after: str) -> str:
    """The lines before and after."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return "; ".join(f"{old.strip()}  ->  {new.strip()}" for old, new in pairs if old != new)


def tried(mutants: Iterator[Mutant], limit: float) -> Iterator[str]:
    """The fate of each mutant; of those that were killed before, from the record."""
    KNOWN.parent.mkdir(exist_ok=True)
    known: dict[str, list[str]] = json.loads(KNOWN.read_text("utf-8")) if KNOWN.is_file() else {}
    tests, killed, counted = Tests(limit), 0, 0
    for mutant in mutants:
        if known.get(mutant.key, [""])[0] != "killed":
            known[mutant.key] = list(tests.fate(mutant))
            KNOWN.write_text(json.dumps(known, indent=1), "utf-8")
        fate, text = known[mutant.key]
        killed, counted = killed + (fate == "killed"), counted + (fate != "equivalent")
        sys.stdout.write(f"{fate:10} {killed}/{counted}  {text}\n")
        sys.stdout.flush()
        yield fate


def write_figure(fates: Counter[str]) -> None:
    """Into its row of the page's table."""
    number, left = fates.total(), fates.total() - fates["killed"] - fates["equivalent"]
    found = f"{fates['killed']} noticed by a test, {left} not; {fates['equivalent']} change no result"
    page = REPOSITORY / "docs" / "reliability.md"
    row = re.compile(r"^(\| small changes of the code .*?\|).*$", re.MULTILINE)
    command = f'`make mutants MUTANTS="{number} --write"`'
    text, rows = row.subn(lambda old: f"{old[1]} {number} | {found} | {command} |", page.read_text("utf-8"))
    if rows != 1:
        raise SystemExit(f"{page} has no row for this figure")
    page.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("N", nargs="?", type=int, default=200)
    parser.add_argument("PATH", nargs="*", default=["qsim", "measure", "calibrate"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=100, help="processor time for the tests of a mutant")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no mutant is begun")
    parser.add_argument("--least", type=float, default=0, help="percent of them that must be noticed")
    parser.add_argument("--write", action="store_true", help="the figure into docs/reliability.md")
    given = parser.parse_intermixed_args()
    os.nice(10)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for library in LIBRARIES:
        import_module(library)
    end = time.monotonic() + given.budget
    with tempfile.TemporaryDirectory(prefix="qsim-mutants-") as folder:
        subprocess.run(["git", "clone", "-q", str(REPOSITORY), folder], check=True)
        os.chdir(folder)
        paths = [folder, str(Path(folder) / "tests")]
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])
        hashed = ["-m", "compileall", "-q", "--invalidation-mode=checked-hash"]
        subprocess.run([sys.executable, *hashed, "qsim", "measure", "calibrate", "tests"], check=True)
        files = [file for path in map(Path, given.PATH) for file in ([path] if path.suffix else path.rglob("*.py"))]
        mutants = drawn(sorted(files), given.N, given.seed)
        fates = Counter(tried(takewhile(lambda _: time.monotonic() < end, mutants), given.limit))
    sys.stdout.write(", ".join(f"{count} {name}" for name, count in fates.most_common()) + "\n")
    if given.write:
        write_figure(fates)
    if 100 * fates["killed"] < given.least * (fates.total() - fates["equivalent"]):
        raise SystemExit(f"fewer than {given.least:g} % of the changes were noticed")


if __name__ == "__main__":
    main()
