"""What a model prints: the call that makes it, as one would type it, without what is left at its default."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Model = TypeVar("Model")
_CALL = "_call"  # the attribute of a model that holds the short call by which it was made. A changed copy has none.


def written(way: Callable[P, Model]) -> Callable[P, Model]:
    """Let what ``way`` makes print as the call of ``way``."""
    signature = inspect.signature(way)

    @wraps(way)
    def made(*args: P.args, **kwargs: P.kwargs) -> Model:
        model = way(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        values = {name: value for name, value in given.items() if not _same(value, signature.parameters[name].default)}
        object.__setattr__(model, _CALL, call(way.__name__, values))
        return model

    return made


def as_written(model: Any) -> str:
    """The call that makes a model: the short one that made it, else its class with the fields that are no defaults."""
    if _CALL in vars(model):
        return str(vars(model)[_CALL])
    fields = {f.name: (getattr(model, f.name), _default(f)) for f in dataclasses.fields(model)}
    given = {name: value for name, (value, usual) in fields.items() if not _same(value, usual)}
    return call(type(model).__name__, given)


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _same(value: Any, usual: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(dict(value) == usual)
    return value is usual or (type(value) is type(usual) and bool(value == usual))


def call(name: str, values: Mapping[str, Any]) -> str:
    """A call of ``name`` with named arguments."""
    return f"{name}({', '.join(f'{key}={text(value)}' for key, value in values.items())})"


def text(value: Any) -> str:
    """A value as one would type it."""
    if isinstance(value, float) and math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {text(one)}' for key, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text, value))}]"
    return repr(value)
