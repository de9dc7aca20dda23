"""Mutation testing: the share of small changes to the code that its tests notice.

    python tests/mutation.py [N] [--seed S] [PATH ...]

Draws N mutants (300) at random from the modules under the paths, and runs the tests that mirror each: its own module's
first, then its folder's and its room's. Works in a copy of the checkout. Prints the share killed and the survivors; a
survivor that changes no result (an equivalent mutant) stays one.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
ROOMS = ("qsim/analytic", "measure/formats", "measure/auditing", "calibrate/inference")
WHOLE = {
    "qsim/analytic": ["tests/unit/qsim/analytic", "tests/agreement/test_derivations_agree.py"],
    "measure/formats": ["tests/unit/measure/formats", "tests/golden"],
}
"""The tests of a whole room, which run last."""

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in",
               "is": "is not", "is not": "is"}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "/", "%": "*"}
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One expression of one module, and what stands in its place."""

    path: str
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.before.split())}  ->  {' '.join(self.after.split())}"


def code_of(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: no annotation, no text that stands alone, no import for types."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            types_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            alone = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not (types_only or alone or isinstance(child, ast.JoinedStr)):
                yield from code_of(child)


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
        case ast.Constant(int() | float() as value):
            yield repr(value + 1)


def mutants_of(path: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    source = (REPOSITORY / path).read_text("utf-8")
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in code_of(ast.parse(source)):
        for after in replacements(node):
            assert isinstance(node, ast.expr)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            raw = source.encode()
            before = raw[begin:end].decode()
            text = (raw[:begin] + after.encode() + raw[end:]).decode()
            yield Mutant(path, node.lineno, before, after, text)


def tests_of(path: str) -> list[tuple[str, ...]]:
    """The module's own tests, those of its folder, and those of its room: what is quick first."""
    folder = Path("tests/unit") / Path(path).parent
    own = [(str(test),) for test in (folder / f"test_{Path(path).stem}.py", folder) if (REPOSITORY / test).exists()]
    return own + [tuple(tests) for room, tests in WHOLE.items() if path.startswith(f"{room}/")]


@dataclass(frozen=True)
class Copy:
    """A copy of the checkout, in which mutants are put and tests are run."""

    folder: Path
    limits_s: dict[tuple[str, ...], float] = field(default_factory=dict)

    def fails(self, tests: Sequence[str], limit_s: float | None) -> bool:
        """Whether the tests fail, or do not end in time."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
                   "-m", "not slow", "--hypothesis-seed=0", *tests]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            return True
        if done.returncode not in (0, 1, 2):  # 2: the tests cannot even be imported
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout.decode()}{done.stderr.decode()}")
        return done.returncode != 0

    def limit_s(self, tests: tuple[str, ...]) -> float:
        """Ten seconds, and three times what the tests take without a mutant."""
        if tests not in self.limits_s:
            begun = time.monotonic()
            if self.fails(tests, None):
                raise SystemExit(f"these tests fail without a mutant: {' '.join(tests)}")
            self.limits_s[tests] = 10 + 3 * (time.monotonic() - begun)
        return self.limits_s[tests]

    def kills(self, mutant: Mutant) -> bool:
        """Whether any test notices the mutant."""
        return any(self._fails_with(mutant, tests) for tests in tests_of(mutant.path))

    def _fails_with(self, mutant: Mutant, tests: tuple[str, ...]) -> bool:
        limit_s, module = self.limit_s(tests), self.folder / mutant.path
        original = module.read_text("utf-8")
        module.write_text(mutant.text, "utf-8")
        try:
            return self.fails(tests, limit_s)
        finally:
            module.write_text(original, "utf-8")


def main() -> None:
    """Draw, run, print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("N", nargs="?", type=int, default=300)
    arguments.add_argument("PATH", nargs="*", default=list(ROOMS))
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    modules = sorted(
        str(m.relative_to(REPOSITORY))
        for path in map(REPOSITORY.joinpath, given.PATH)
        for m in (path.rglob("*.py") if path.is_dir() else [path])
    )
    everything = [mutant for module in modules for mutant in mutants_of(module)]
    drawn = random.Random(given.seed).sample(everything, min(given.N, len(everything)))
    survivors = 0
    with tempfile.TemporaryDirectory() as place:
        copy = Copy(Path(place) / "checkout")
        shutil.copytree(REPOSITORY, copy.folder, ignore=shutil.ignore_patterns(".git", ".venv", "build", ".*_cache"))
        for number, mutant in enumerate(drawn, 1):
            if not copy.kills(mutant):
                survivors += 1
                print(f"survived (number {number})  {mutant}", flush=True)
            if number % 10 == 0 or number == len(drawn):
                print(f"{number} of {len(drawn)}: {100 * (1 - survivors / number):.0f} % killed", flush=True)


if __name__ == "__main__":
    main()
