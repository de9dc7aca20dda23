"""Flags, here and where a system has other names for them."""

from __future__ import annotations

import os

from measure.machine import files


def test_flags_that_a_system_lacks_are_left_out() -> None:
    assert files.flags("O_RDWR", "O_NO_SUCH_FLAG") == files.flags("O_RDWR")
    assert files.flags("O_RDWR") & os.O_RDWR
