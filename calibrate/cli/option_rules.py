"""Which options of a command exclude each other, and which need another: declared above the command, checked once.

>>> @exclusive("--quick", "--budget", because="one follows from the other")
... def measure(): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from calibrate.cli.failures import wrong_usage

Run = TypeVar("Run", bound=Callable[..., object])
Rule = tuple[Callable[[AbstractSet[str]], str], str]
"""What is wrong with the options that were given ("" where nothing is), and why that is wrong."""

_RULES = "__option_rules__"


def exclusive(*options: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that at most one of ``options`` may be given."""

    def broken(given: AbstractSet[str]) -> str:
        present = [name for name in options if name in given]
        return f"{' and '.join(present)} exclude each other" if len(present) > 1 else ""

    return _declared((broken, because))


def conflicts(option: str, *others: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that ``option`` excludes each of ``others``, which may go together."""

    def broken(given: AbstractSet[str]) -> str:
        other = next((name for name in others if name in given), None)
        return f"{option} and {other} exclude each other" if other and option in given else ""

    return _declared((broken, because))


def requires(option: str, *needed: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that ``option`` needs one of ``needed``."""

    def broken(given: AbstractSet[str]) -> str:
        return f"{option} needs {' or '.join(needed)}" if option in given and given.isdisjoint(needed) else ""

    return _declared((broken, because))


def _declared(rule: Rule) -> Callable[[Run], Run]:
    def declare(command: Run) -> Run:
        setattr(command, _RULES, (rule, *rules_of(command)))
        return command

    return declare


def rules_of(command: Callable[..., object]) -> Sequence[Rule]:
    """The rules of a command, in the order in which they are written."""
    return getattr(command, _RULES, ())


def check_rules(rules: Sequence[Rule], context: Any) -> None:
    """CommandError for the first rule that is broken; arguments are named by their metavar, options by their names."""
    given: set[str] = set()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name == "COMMANDLINE" and context.params.get(parameter.name) != []:
            argument = parameter.param_type_name == "argument"
            given.update([str(parameter.metavar).rstrip(".")] if argument else parameter.opts)
    for broken, because in rules:
        if wrong := broken(given):
            raise wrong_usage(f"{wrong}: {because}" if because else wrong)
