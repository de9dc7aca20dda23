"""Compilation of kernels: cached between runs where a place for the cache can be written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.errors import NumbaExperimentalFeatureWarning

F = TypeVar("F", bound=Callable[..., Any])

# The records of a network begin as those of a lone queue, so that kernels take both.
warnings.filterwarnings("ignore", ".*subtype", NumbaExperimentalFeatureWarning)


def kernel(
    *, reassociate: bool = False, inner: bool = False, borrows: bool = False, rare: bool = False
) -> Callable[[F], F]:
    """Compile with numba, releasing the interpreter lock.

    ``reassociate`` lets sums be taken in any order; ``inner`` is for what only other kernels call, and saves the
    time to compile the way in from Python; ``borrows`` is for what only reads and writes the arrays it is given: they
    are not counted as references, which takes longer than the work itself where many are passed on.  What is both
    becomes part of its callers, unless it is ``rare``: then its code would only be in the way of theirs.
    """

    def decorate(function: F) -> F:
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",  # nobody catches a division by zero in there
            "fastmath": {"reassoc", "nsz"} if reassociate else False,
            "no_cpython_wrapper": inner,
            "no_cfunc_wrapper": True,
            "_nrt": not borrows,
            "forceinline": borrows and inner and not rare,
        }
        try:
            return cast(F, numba.njit(cache=True, **options)(function))
        except RuntimeError:
            # numba finds neither the package folder nor the user's cache folder writable: compile every time.
            return cast(F, numba.njit(**options)(function))

    return decorate


class _FirstCompilation(event.Listener):
    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell: Callable[[], object] | None = tell

    def on_start(self, event: object) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: object) -> None:
        """Nothing is said of that."""


def before_compiling(tell: Callable[[], object]) -> AbstractContextManager[object]:
    """A block in which ``tell()`` is called once, before the first kernel that has to be compiled."""
    return cast(AbstractContextManager[object], event.install_listener("numba:compile", _FirstCompilation(tell)))
