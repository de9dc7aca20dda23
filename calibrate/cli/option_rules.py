"""Which options of a command exclude each other, and which need another: declared above the command, checked once.

>>> @exclusive("--runtime", "--budget", because="one follows from the other")
... def measure(): ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from calibrate.cli.failures import wrong_usage

Run = TypeVar("Run", bound=Callable[..., object])
_RULES = "__option_rules__"


@dataclass(frozen=True)
class OptionRule:
    """At most one of ``options`` may be given; or, with ``needed``, each of ``options`` needs one of those."""

    options: tuple[str, ...]
    needed: tuple[str, ...] = ()
    because: str = ""

    def check(self, given: Mapping[str, bool]) -> None:
        """Raise CommandError (wrong usage) where the options that were ``given`` break the rule."""
        present = [name for name in self.options if given.get(name)]
        because = f": {self.because}" if self.because else ""
        if self.needed and present and not any(given.get(name) for name in self.needed):
            raise wrong_usage(f"{present[0]} needs {' or '.join(self.needed)}{because}")
        if not self.needed and len(present) > 1:
            raise wrong_usage(f"{' and '.join(present)} exclude each other{because}")


def exclusive(*options: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that at most one of ``options`` may be given."""
    return _declared(OptionRule(options, (), because))


def conflicts(option: str, *others: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that ``option`` excludes each of ``others``, which may go together."""

    def declare(command: Run) -> Run:
        for other in reversed(others):
            command = exclusive(option, other, because=because)(command)
        return command

    return declare


def requires(option: str, *needed: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that ``option`` needs one of ``needed``."""
    return _declared(OptionRule((option,), needed, because))


def _declared(rule: OptionRule) -> Callable[[Run], Run]:
    def declare(command: Run) -> Run:
        setattr(command, _RULES, (rule, *rules_of(command)))
        return command

    return declare


def rules_of(command: Callable[..., object]) -> Sequence[OptionRule]:
    """The rules of a command, in the order in which they are written."""
    return getattr(command, _RULES, ())


def check_rules(rules: Sequence[OptionRule], context: Any) -> None:
    """Check the rules against what was typed: arguments by their metavar, options by their names."""
    given: dict[str, bool] = {}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        typed = source is not None and source.name == "COMMANDLINE" and context.params.get(parameter.name) != []
        argument = parameter.param_type_name == "argument"
        for name in [str(parameter.metavar).rstrip(".")] if argument else parameter.opts:
            given[name] = typed
    for rule in rules:
        rule.check(given)
