"""Ten thousand drives in one table: the odd ones among them, the broken files, and memory that stays flat."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "accuracy"
DRIVES = 10_000
FIT = """
import json, pathlib, resource, sys
from calibrate.fleet.drives import fit_fleet
from calibrate.fleet.workers import processes
with processes(2) as executor:
    found = fit_fleet([sys.argv[1]], executor)
# Not this process's ru_maxrss, which begins with the size of the program that started it.
status = pathlib.Path("/proc/self/status").read_text().splitlines()
here = int(next(line for line in status if line.startswith("VmHWM")).split()[1])
most = max(here, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
odd = {row.drive: row.odd for row in found.odd.itertuples()}
print(json.dumps({"drives": len(found.drives), "odd": odd, "broken": found.broken, "most_kib": most}))
"""


def changed(table: str, slower: float) -> str:
    """The table of a drive whose every time is longer by so many times."""
    head, *rows = table.splitlines()
    new = []
    for n, rate, time, *more in (row.split(",") for row in rows):
        new.append(",".join([n, f"{float(rate) / slower:.1f}", f"{float(time) * slower:.3f}", *more]))
    return "\n".join([head, *new]) + "\n"


@pytest.mark.slow
def test_ten_thousand_drives_are_one_table(tmp_path: Path) -> None:
    sys.path.insert(0, str(EXAMPLES))
    try:
        from fleet_growth import write_drives
    finally:
        sys.path.remove(str(EXAMPLES))
    write_drives(tmp_path, DRIVES)
    healthy = (tmp_path / "drive-00000.csv").read_text()
    (tmp_path / "slow.csv").write_text(changed(healthy, 1.6))
    (tmp_path / "quick.csv").write_text(changed(healthy, 0.6))
    (tmp_path / "torn.csv").write_text(healthy[:-20])
    (tmp_path / "empty.csv").write_text("")
    done = subprocess.run([sys.executable, "-c", FIT, str(tmp_path)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["drives"] == DRIVES + 2
    assert {Path(name).name for name in found["broken"]} == {"torn.csv", "empty.csv"}
    assert {"slow.csv", "quick.csv"} <= found["odd"].keys()
    assert len(found["odd"]) <= 3
    assert found["most_kib"] < 400 * 1024
