"""A commitment hides and binds."""

from __future__ import annotations

import pytest

from calibrate.lab.run.guesses import Guess


def test_a_commitment_hides_and_binds():
    ada = Guess("Ada", 24.0, "00" * 32)
    assert ada.commitment == Guess("Ada", 24.0, "00" * 32).commitment
    for other in (Guess("Ada", 24.0, "11" * 32), Guess("Ada", 24.5, "00" * 32), Guess("Eve", 24.0, "00" * 32)):
        assert other.commitment != ada.commitment


def test_each_sealed_guess_has_a_nonce_of_its_own():
    first, second = Guess.sealed("  Ann   Lee ", 12), Guess.sealed("Ann Lee", 12)
    assert first.name == second.name == "Ann Lee"
    assert len(bytes.fromhex(first.nonce)) == 32
    assert first.commitment != second.commitment


@pytest.mark.parametrize("name", ["", " ", None, 7, "a\x00b", "\u202eevil", "\x1b[31mred", "x" * 41, "QSIM"])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(ValueError, match="name"):
        Guess.sealed(name, 3)


@pytest.mark.parametrize("load", [0, 0.99, 1000.1, 1e9, -1, None, "7", float("nan"), float("inf"), True])
def test_a_guess_out_of_range_is_refused(load):
    with pytest.raises(ValueError, match="1 to 1000"):
        Guess.sealed("Bob", load)
    assert Guess.sealed("Bob", 1).load == 1.0
    assert Guess.sealed("Bob", 1000).load == 1000.0
