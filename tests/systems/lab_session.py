"""Compare, and Run on two devices, in a lab's folder: ``python lab_session.py FOLDER``. Prints one JSON object."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from calibrate.lab.compare import shown
from calibrate.lab.folder import LabFolder, opened
from calibrate.lab.run.orders import choices, order_for
from calibrate.lab.run.session import LabRun
from calibrate.lab.shelf import Shelf

PATIENCE_S = 300.0
SOURCE = "dataset-003-ssd-read"
LOADS = (1.0, 4.0, 8.0, 32.0)


def measured(folder: LabFolder, device: str) -> dict[str, object]:
    """What a run of the lab gave, from a sealed guess to the reveal."""
    order = order_for(folder, device, 0.5)
    if device == "known":
        order = replace(order, loads=LOADS)
    run = LabRun.begin(folder.new_run(), order)
    run.guess("Ann", 12, "one")
    run.start()
    until_s = time.monotonic() + PATIENCE_S
    while run.phase == "running" and time.monotonic() < until_s:
        time.sleep(0.1)
    if run.phase != "measured":
        return {"phase": run.phase, "why": [dict(e) for e in run.log.of_kind("failed", "stopped")]}
    run.reveal()
    return {"phase": run.phase, "points": len(run.log.of_kind("point")), "report": run.report is not None}


with opened(Path(sys.argv[1])) as kept:
    shelf = Shelf(kept)
    curves = [c.identity for c in shelf.curves(kept.source(SOURCE))]
    content, problem = shown(shelf, [SOURCE], curves, "light")
    sys.stdout.write(
        json.dumps(
            {
                "curves": len(curves),
                "problem": problem,
                "shown": len(content),
                "missing": [c.value for c in choices(kept) if c.missing],
                **{device: measured(kept, device) for device in (SOURCE, "known")},
            }
        )
    )
