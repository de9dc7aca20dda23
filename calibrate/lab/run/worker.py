"""The process that measures: ``python -m calibrate.lab.run.worker DIRECTORY``, started by the lab and by nobody else.

It is a process of its own so that the page stays quick while it works, and so that stopping it is killing it: fio and
nbdkit end with it, and every finished point is stored. Everything is imported before anything is measured.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType

from calibrate.lab.run.event_log import ORDER, RESULT, TOLD
from calibrate.lab.run.measuring import measure
from calibrate.lab.run.orders import Order
from calibrate.lab.run.revealing import reveal
from calibrate.lab.run.worker_messages import Teller
from measure.errors import MeasureError
from measure.machine.durable import write_durably

FAILED, STOPPED = 1, 130


def main(directory: Path) -> int:
    """Measure the order in ``directory``, then work out what is revealed; the exit code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        order = Order.read(directory / ORDER)
        told = [(float(load), int(repeat)) for load, repeat in json.loads((directory / TOLD).read_text("utf-8"))]
        teller = Teller(order, directory, told, _write)
        sweep = measure(teller)
        teller.tell("progress", text="working out what is revealed", seconds_left=0.0)
        result = reveal(sweep, directory, order)
        write_durably(directory / RESULT, json.dumps(result, allow_nan=False).encode())
        teller.tell("measured")
    except KeyboardInterrupt:
        return STOPPED
    except (MeasureError, ValueError, OSError) as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return FAILED
    return 0


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
