"""Compiles kernels with numba; cached between runs where the cache folder can be written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.errors import NumbaExperimentalFeatureWarning

F = TypeVar("F", bound=Callable[..., Any])

warnings.filterwarnings("ignore", ".*subtype", NumbaExperimentalFeatureWarning)


def kernel(*, reassociate: bool = False, inner: bool = False, borrows: bool = False) -> Callable[[F], F]:
    """Compile with numba, releasing the interpreter lock.

    ``reassociate`` allows sums in any order. ``inner`` is for functions that only kernels call. ``borrows`` is for
    functions that only read and write their argument arrays: references are not counted, which saves more time than
    the work itself takes. An inner kernel that borrows is inlined.
    """

    def decorate(function: F) -> F:
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "fastmath": {"reassoc", "nsz"} if reassociate else False,
            "no_cpython_wrapper": inner,
            "no_cfunc_wrapper": True,
            "_nrt": not borrows,
            "forceinline": borrows and inner,
        }
        return cached_njit(**options)(function)

    return decorate


def cached_njit(**options: Any) -> Callable[[F], F]:
    """``numba.njit``, cached between runs where numba finds a folder that it may write; else compiled in each process.

    A read-only installation with a read-only home has no such folder.
    """

    def decorate(function: F) -> F:
        try:
            return cast(F, numba.njit(cache=True, **options)(function))
        except RuntimeError:  # numba found no folder that it may write
            return cast(F, numba.njit(**options)(function))

    return decorate


class _FirstCompilation(event.Listener):
    def __init__(self, notify: Callable[[], object]) -> None:
        self._notify: Callable[[], object] | None = notify

    def on_start(self, event: object) -> None:
        notify, self._notify = self._notify, None
        if notify is not None:
            notify()

    def on_end(self, event: object) -> None:
        """Only the start matters."""


def before_compiling(notify: Callable[[], object]) -> AbstractContextManager[object]:
    """A context in which ``notify()`` is called once, before the first kernel that has to be compiled."""
    return cast(AbstractContextManager[object], event.install_listener("numba:compile", _FirstCompilation(notify)))
