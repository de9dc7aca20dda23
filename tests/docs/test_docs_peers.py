"""The comparison with other programs: what needs none of them runs, and the page shows what the script makes."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from qsim import NoFormulaError, simulate

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "peers.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers_example", EXAMPLE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module


peers = loaded()
WITHOUT_FORMULA = {"blocking", "region"}


@pytest.mark.parametrize("name", peers.FAMILIES)
def test_ours_solves_and_simulates_each_family_to_the_same_value(name: str) -> None:
    family = peers.FAMILIES[name]
    if isinstance(family, peers.FromEmpty | peers.RareLoss):
        assert family.run(200_000, 1) == pytest.approx(family.solve(), rel=0.03)  # 20,000 replications
        return
    run = simulate(family.model, customers=200_000, seed=1, confidence=0.999, allow_short=True)
    low, high = run.interval(family.value)
    if name in WITHOUT_FORMULA:
        with pytest.raises(NoFormulaError):
            family.solve()
        assert low <= family.run(1_000_000, 2) <= high
    else:
        assert low <= family.solve() <= high


def test_the_page_has_a_row_for_each_family_and_says_which_are_solved() -> None:
    marked = peers.MARKED.search(peers.PAGE.read_text(encoding="utf-8"))
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in marked[2].strip().splitlines()]
    assert head == ["", "qsim", "SimPy", "Ciw", "queueing-tool", "LINE", "Octave"]
    assert [row[0] for row in rows] == list(peers.FAMILIES)
    assert {row[0] for row in rows if not row[1].startswith("= ")} == WITHOUT_FORMULA
    assert not any("%" in row[1] for row in rows)


def test_an_error_is_shown_where_it_is_too_large() -> None:
    true = peers.truth("M/M/3")
    assert peers.off(true * 1.0005, "M/M/3", 0.001) == ""
    assert peers.off(true * 1.3, "M/M/3", 0.001) == " (+30 %)"
    assert peers.off(true * 0.98, "M/M/3", 0.001) == " (-2 %)"
    assert peers.off(math.inf, "M/M/3", 0.1) == " (∞)"
    assert peers.off(math.nan, "M/M/3", 0.1) == ""


def test_a_peer_that_fails_says_so_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(customers: int, seed: int) -> float:
        raise RuntimeError("engine missing")

    good = peers.Peer(
        "good", {}, {"M/M/3": lambda customers, seed: sum(range(200_000)) * 0 + peers.truth("M/M/3")}, 1000
    )
    cells = peers.simulated("M/M/3", [peers.Peer("bad", {}, {"M/M/3": fails}, 1000), good], 2)
    assert cells["bad"] == "run fails"
    assert float(cells["good"].replace(",", "")) > 0
    assert "bad fails on M/M/3: engine missing" in capsys.readouterr().err
