"""How many modules of qsim one command takes: those of which it executes functions, and those it imports.

python examples/accuracy/road.py compare --dataset 004-ssd-depth
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from pathlib import Path
from types import FrameType

HOUSE = Path(__file__).resolve().parents[2]
PACKAGES = ("calibrate", "measure", "qsim")
USUAL = ["compare", "--dataset", "004-ssd-depth"]


class Road:
    """Collects the modules whose functions are called; what a module does while it is imported does not count."""

    def __init__(self) -> None:
        self.executed: dict[str, set[str]] = {}
        self._importing = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """A profile function for ``sys.setprofile``."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += 1 if event == "call" else -1
        elif event == "call" and not self._importing and code.co_flags & inspect.CO_OPTIMIZED:  # else a class body
            path = Path(code.co_filename)
            if path.is_relative_to(HOUSE) and path.relative_to(HOUSE).parts[0] in PACKAGES:
                self.executed.setdefault(str(path.relative_to(HOUSE)), set()).add(code.co_qualname)


def follow(arguments: list[str]) -> tuple[Road, list[str]]:
    """The road of ``qsim`` with these arguments, and the modules of qsim that are imported at its end."""
    from calibrate.cli.entry import main

    road, before = Road(), sys.argv
    sys.argv = ["qsim", *arguments]
    sys.setprofile(road)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.setprofile(None)
        sys.argv = before
    return road, sorted(name for name in sys.modules if name.split(".")[0] in PACKAGES)


if __name__ == "__main__":
    found, imported = follow(sys.argv[1:] or USUAL)
    for module, functions in sorted(found.executed.items()):
        print(f"{len(functions):4} {module}")
    print(f"executes functions of {len(found.executed)} modules, and imports {len(imported)}")
