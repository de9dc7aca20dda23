"""The public names of ``calibrate``: each is there whatever was imported before, and says what it is."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

import calibrate


def test_every_name_is_a_class_or_a_function_that_says_what_it_is() -> None:
    for name in calibrate.__all__:
        thing = getattr(calibrate, name)
        assert inspect.isclass(thing) or inspect.isroutine(thing), name
        assert thing.__doc__, name
        assert not thing.__doc__.startswith(f"{name}("), name


def test_no_name_is_that_of_a_module_which_would_hide_it() -> None:
    modules = {module.name for module in pkgutil.iter_modules(calibrate.__path__)}
    assert not modules & set(calibrate.__all__)


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import calibrate, sys; print(sorted(m for m in ('numpy', 'scipy', 'pandas') if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
