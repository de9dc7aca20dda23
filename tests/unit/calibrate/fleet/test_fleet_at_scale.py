"""Ten thousand drives in one table: the odd ones among them, the broken files, and memory that stays flat.

So many are judged; of fewer, which are read and fitted by processes, the memory that each needs is known.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrate.fleet.odd import with_oddness

sys.path.append(str(Path(__file__).resolve().parents[4] / "examples" / "accuracy"))

from fleet_growth import DEPTHS, rates, write_drives

DRIVES = 10_000
FITTED, FEW = 2_500, 200
MOST_KIB = 400 * 1024
SLOWER, QUICKER = 1.6, 0.6
FIT = """
import json, pathlib, resource, sys
from calibrate.fleet.drives import fit_fleet
from calibrate.fleet.workers import processes
most_kib = []
for folder in sys.argv[1:]:
    with processes(2) as executor:
        found = fit_fleet([folder], executor)
    # Not this process's ru_maxrss, which begins with the size of the program that started it.
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    here = int(next(line for line in status if line.startswith("VmHWM")).split()[1])
    most_kib.append([here, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss])
odd = {row.drive: row.odd for row in found.odd.itertuples()}
print(json.dumps({"drives": len(found.drives), "odd": odd, "broken": found.broken, "most_kib": most_kib}))
"""


def changed(table: str, slower: float) -> str:
    """The table of a drive whose every time is longer by so many times."""
    head, *rows = table.splitlines()
    new = []
    for n, rate, time, *more in (row.split(",") for row in rows):
        new.append(",".join([n, f"{float(rate) / slower:.1f}", f"{float(time) * slower:.3f}", *more]))
    return "\n".join([head, *new]) + "\n"


@pytest.mark.slow
def test_the_odd_ones_of_ten_thousand_drives_are_found_and_hardly_another() -> None:
    healthy = list(rates(DRIVES))
    curves = pd.DataFrame([*healthy, healthy[0] / SLOWER, healthy[0] / QUICKER], columns=DEPTHS)
    table = pd.DataFrame({"series": "read", "model": "", "firmware": ""}, index=range(len(curves)))
    odd = np.flatnonzero(with_oddness(table, curves)[0]["odd"] != "").tolist()
    assert {DRIVES, DRIVES + 1} <= set(odd)
    assert len(odd) <= 3


@pytest.mark.slow
def test_thousands_of_drives_are_one_table_in_memory_that_ten_thousand_have_room_in(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    for folder, count in ((few, FEW), (many, FITTED)):
        folder.mkdir()
        write_drives(folder, count)
    healthy = (many / "drive-00000.csv").read_text()
    (many / "slow.csv").write_text(changed(healthy, SLOWER))
    (many / "quick.csv").write_text(changed(healthy, QUICKER))
    (many / "torn.csv").write_text(healthy[:-20])
    (many / "empty.csv").write_text("")
    done = subprocess.run([sys.executable, "-c", FIT, str(few), str(many)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["drives"] == FITTED + 2
    assert {Path(name).name for name in found["broken"]} == {"torn.csv", "empty.csv"}
    assert {"slow.csv", "quick.csv"} <= found["odd"].keys()
    assert len(found["odd"]) <= 3
    before, after = np.array(found["most_kib"])  # here, in the largest process
    assert (before + (after - before) / (FITTED - FEW) * DRIVES < MOST_KIB).all()
