"""Mutation testing: the share of small changes to the code that its tests notice.

    python tests/mutation.py [N] [--seed S] [--calls FILE] [PATH ...]

Draws N mutants (300) at random from the modules under the paths. First runs the tests once and records which functions
each test calls (``--calls`` keeps the record in a file and reads it from there). Each mutant then meets the tests that
call its function, those of its own folder first, then the quickest, until one fails. Works in a copy of the checkout,
one process at a time, with the lowest priority. Prints the share killed and the survivors. A change that leaves every
constant equal is not drawn, nor the guard ``strict=`` of zip, nor a tuning figure (numbers that a module gives a name
in capitals, say an iteration limit: which value works as well is no fault; how many were left out is printed); another
survivor that changes no result (an equivalent mutant) counts as a survivor.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from types import FrameType

# What every test needs: imported once, before the processes fork.
import hypothesis.strategies  # noqa: F401
import pandas as pd  # noqa: F401
import pytest
import scipy.optimize
import scipy.special  # noqa: F401

REPOSITORY = Path(__file__).resolve().parent.parent
ROOMS = ("qsim/analytic", "measure/formats", "measure/auditing", "calibrate/inference")
TESTS = (
    "tests/unit/qsim",
    "tests/unit/measure",
    "tests/unit/calibrate",
    "tests/cli",
    "tests/property",
    "tests/golden",
    "tests/agreement",
    "tests/docs/test_docs_approximations.py",
    "tests/docs/test_docs_doctests.py",
)
MOST_S = 24.0
"""The quickest tests of a mutant that take this much processor time together are run."""

MANY = 1000
"""A number as large is doubled, as one more would be no change that matters."""

COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "/", "%": "*"}
SIGNS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


@dataclass(frozen=True)
class Mutant:
    """One expression of one module, and what stands in its place."""

    path: str
    function: str
    line: int
    before: str
    after: str
    text: str
    tuning: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.before.split())}  ->  {' '.join(self.after.split())}"


def code_of(tree: ast.AST, inside: str = "", called: bool = False) -> Iterator[tuple[ast.AST, str]]:
    """Every node that runs and the function it is in ("" outside): no annotation, lone text or import for types."""
    yield tree, inside if called else ""
    if isinstance(tree, ast.ClassDef | ast.FunctionDef) and not called:
        inside, called = f"{inside}.{tree.name}".lstrip("."), isinstance(tree, ast.FunctionDef)
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            types_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            alone = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            guard = isinstance(child, ast.keyword) and child.arg == "strict"  # of zip, over what is of one length
            if isinstance(child, ast.AST) and not (types_only or alone or guard or isinstance(child, ast.JoinedStr)):
                yield from code_of(child, inside, called)


def is_tuning_figure(statement: ast.AST) -> bool:
    """Whether it gives numbers alone a name in capitals."""
    match statement:
        case ast.Assign([ast.Name() | ast.Tuple() as given], value):
            name = ast.unparse(given)
            numbers = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
            parts = list(ast.walk(value))
            return (
                name.isupper()
                and all(isinstance(part, numbers) for part in parts)
                and not any(isinstance(part, ast.Constant) and isinstance(part.value, str | bytes) for part in parts)
            )
    return False


def replacements(node: ast.AST) -> Iterator[str]:
    """What may stand in place of an expression."""
    match node:
        case ast.Compare(left, [operator], [right]):
            yield f"({ast.unparse(left)} {COMPARISONS[SIGNS[type(operator)]]} {ast.unparse(right)})"
        case ast.BinOp(left, operator, right) if type(operator) in SIGNS:
            yield f"(({ast.unparse(left)}) {ARITHMETIC[SIGNS[type(operator)]]} ({ast.unparse(right)}))"
        case ast.BoolOp(operator, values):
            other = " or " if isinstance(operator, ast.And) else " and "
            yield "(" + other.join(f"({ast.unparse(value)})" for value in values) + ")"
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, orelse):
            yield f"(({ast.unparse(orelse)}) if ({ast.unparse(test)}) else ({ast.unparse(body)}))"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() | float() as value) if math.isfinite(value):
            yield repr(value + 1 if abs(value) < MANY else 2 * value)


def mutants_of(path: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    source = (REPOSITORY / path).read_text("utf-8")
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    tuning = {node for line in tree.body if is_tuning_figure(line) for node in ast.walk(line)}
    for node, function in code_of(tree):
        for after in replacements(node):
            assert isinstance(node, ast.expr)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            raw = source.encode()
            before = raw[begin:end].decode()
            text = (raw[:begin] + after.encode() + raw[end:]).decode()
            yield Mutant(path, function, node.lineno, before, after, text, node in tuning)


@dataclass(eq=False)
class Recorder:
    """A plugin of pytest: which functions of the rooms each test calls, and how long it takes.

    What is called while a file is collected or a fixture is set up counts for every test of the file.
    """

    folder: Path
    calls: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Of "module:function", the tests and the files of tests that call it."""
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def trace(self, frame: FrameType, event: str, arg: object) -> None:
        path = frame.f_code.co_filename
        if path.startswith(self.prefixes):
            function = frame.f_code.co_qualname.split(".<locals>")[0]
            self.calls[f"{path[len(str(self.folder)) + 1 :]}:{function}"].add(self.current)

    def pytest_sessionstart(self) -> None:
        self.prefixes, self.current = tuple(f"{self.folder / room}/" for room in ROOMS), ""
        sys.settrace(self.trace)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, object, object]:
        self.current = collector.nodeid
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.current, begun = item.nodeid.split("::")[0], time.process_time()
        sys.settrace(self.trace)  # again: Python ends it where a test goes too deep
        done = yield
        self.seconds[item.nodeid] = time.process_time() - begun
        return done

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.current = item.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


@dataclass(frozen=True, eq=False)
class Chosen:
    """A plugin of pytest: only these tests run, in this order."""

    tests: Sequence[str]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {test: i for i, test in enumerate(self.tests)}
        items[:] = sorted((i for i in items if i.nodeid in place), key=lambda item: place[item.nodeid])


@dataclass(frozen=True)
class Calls:
    """The record: which tests run for a mutant."""

    calls: dict[str, list[str]]
    seconds: dict[str, float]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that call the mutant's function (its module, outside functions), own folder first, quickest first.

        The function of a cache is called once only, and one that is called at import by the first file only: any test
        of the module may see what it gave. Those that read the module may, too.
        """
        callers = set(self.calls.get(f"{mutant.path}:{mutant.function}", ()))
        if not mutant.function or not any("::" in test for test in callers):
            readers = readers_of(mutant.path)
            callers = self.of_modules(mutant.path, *(file for file in readers if file.startswith("tests/")))
            if not any("::" in test for test in callers):
                callers |= self.of_modules(*readers)
        own = f"tests/unit/{Path(mutant.path).parent}/"
        able = [test for test in self.seconds if test in callers or test.split("::")[0] in callers]
        able.sort(key=lambda test: (not test.startswith(own) or self.seconds[test] > 1, self.seconds[test]))
        until = accumulate(self.seconds[test] for test in able)
        return [test for test, seconds in zip(able, until, strict=True) if seconds <= MOST_S]

    def of_modules(self, *paths: str) -> set[str]:
        """The tests that call any function of these modules; a file of tests is a module too."""
        called = {test for key, tests in self.calls.items() if key.partition(":")[0] in paths for test in tests}
        return called.union(paths)


def readers_of(path: str) -> list[str]:
    """The modules and files of tests that import from a module."""
    line = f"from {path.removesuffix('.py').replace('/', '.')} import"
    files = [file for folder in (path.partition("/")[0], "tests") for file in REPOSITORY.joinpath(folder).rglob("*.py")]
    return [str(file.relative_to(REPOSITORY)) for file in files if line in file.read_text("utf-8")]


def pytest_in(
    folder: Path, arguments: Sequence[str], plugin: object, limit_s: float | None, then: Callable[[], None]
) -> int:
    """Run pytest in a process that has this one's imports; its exit code, or 1 when it does not end.

    ``limit_s`` is processor time, so that a busy machine kills no mutant; who waits may take fifty times as long.
    """

    def run() -> None:
        os.setsid()
        if limit_s is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit_s), math.ceil(limit_s) + 5))
        os.chdir(folder)
        sys.path[:0] = [str(folder), str(folder / "tests")]
        os.environ["PYTHONPATH"] = str(folder)
        with Path("pytest.log").open("w", encoding="utf-8") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        options = ["-q", "-p", "no:cacheprovider", "-n0", "-m", "not slow and not live", "--hypothesis-seed=0"]
        code = pytest.main([*options, *arguments], plugins=[plugin])
        then()
        os._exit(code)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(None if limit_s is None else 50 * limit_s)
    if process.exitcode is None:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    code = process.exitcode or 0
    if code > 2:  # 2: the tests cannot even be imported
        raise RuntimeError(f"pytest ended with {code}:\n{(folder / 'pytest.log').read_text('utf-8')}")
    return 1 if code < 0 else code  # below 0: ended by a signal, too late or since Python itself crashed


def record(folder: Path, file: Path) -> None:
    """Run the tests once and write which functions they call."""
    recorder = Recorder(folder)

    def write() -> None:
        sys.settrace(None)
        for test in recorder.failed:
            recorder.seconds.pop(test, None)
        calls = {key: sorted(tests) for key, tests in recorder.calls.items()}
        file.write_text(json.dumps({"calls": calls, "seconds": recorder.seconds, "failed": recorder.failed}))

    pytest_in(folder, TESTS, recorder, None, write)
    for test in json.loads(file.read_text())["failed"]:
        print(f"fails without a mutant, and is left out: {test}", flush=True)


def kills(folder: Path, mutant: Mutant, calls: Calls) -> bool:
    """Whether any test notices the mutant."""
    tests = calls.tests_of(mutant)
    if not tests:
        return False
    module = folder / mutant.path
    original, times = module.read_text("utf-8"), module.stat()
    module.write_text(mutant.text, "utf-8")
    try:
        limit_s = 20 + 3 * sum(calls.seconds[test] for test in tests)
        files = dict.fromkeys(test.split("::")[0] for test in tests)
        return pytest_in(folder, ["-x", *files], Chosen(tests), limit_s, lambda: None) != 0
    finally:
        module.write_text(original, "utf-8")
        os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))  # its compiled form still holds


def main() -> None:
    """Draw, run, print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("N", nargs="?", type=int, default=300)
    arguments.add_argument("PATH", nargs="*", default=list(ROOMS))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--calls", type=Path)
    given = arguments.parse_intermixed_args()
    modules = sorted(
        str(m.relative_to(REPOSITORY))
        for path in map(REPOSITORY.joinpath, given.PATH)
        for m in (path.rglob("*.py") if path.is_dir() else [path])
    )
    possible = [mutant for module in modules for mutant in mutants_of(module)]
    everything = [mutant for mutant in possible if not mutant.tuning]
    print(f"{len(everything)} mutants, {len(possible) - len(everything)} of tuning figures left out", flush=True)
    drawn = random.Random(given.seed).sample(everything, min(given.N, len(everything)))
    os.nice(19)
    survivors = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "checkout"
        shutil.copytree(REPOSITORY, folder, ignore=shutil.ignore_patterns(".git", ".venv", "build", ".*_cache"))
        file = given.calls or Path(place) / "calls.json"
        fresh = not file.exists()
        if fresh:
            record(folder, file)
        recorded = json.loads(file.read_text())
        unknown = {mutant.path for mutant in drawn} - {key.partition(":")[0] for key in recorded["calls"]}
        if unknown and not fresh:
            sys.exit(f"{file} is older than {min(unknown)}: delete it, to record the calls again")
        calls = Calls(recorded["calls"], recorded["seconds"])
        sys.dont_write_bytecode = True
        for number, mutant in enumerate(drawn, 1):
            if not kills(folder, mutant, calls):
                survivors += 1
                print(f"survived (number {number})  {mutant}", flush=True)
            if number % 10 == 0 or number == len(drawn):
                print(f"{number} of {len(drawn)}: {100 * (1 - survivors / number):.0f} % killed", flush=True)


if __name__ == "__main__":
    main()
