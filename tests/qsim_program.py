"""The program ``qsim`` as the tests start it: by the function that the installed script calls."""

from __future__ import annotations

import sys

QSIM = [sys.executable, "-c", "from calibrate.cli.entry import main; main()"]
