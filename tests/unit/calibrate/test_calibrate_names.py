"""The public names of ``calibrate``: none hides a module, and nothing heavy is imported before it is used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import calibrate


def test_no_name_is_that_of_a_module_which_would_hide_it() -> None:
    modules = {module.name for module in pkgutil.iter_modules(calibrate.__path__)}
    assert not modules & set(calibrate.__all__)


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import calibrate, sys; print(sorted(m for m in ('numpy', 'scipy', 'pandas') if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
