"""A sweep directory of ours, read by the module that wrote it."""

from __future__ import annotations

from pathlib import Path

from measure.errors import DataError, MeasureError, StoreError
from measure.store.directory import SweepStore
from measure.sweep import Sweep


def load_store(directory: Path) -> Sweep:
    """A sweep directory of ours, read by the module that wrote it."""
    try:
        store = SweepStore.read(directory)
        tool = store.manifest.get("tool")
        if tool == "fio":
            from measure.fio.sweep import read_fio_store

            return read_fio_store(store)
        if tool == "fio-hosts":
            from measure.fio.hosts_sweep import read_hosts_store

            return read_hosts_store(store)
        if tool in ("memory", "memory_probe"):
            from measure.memory.probe import read_memory_store

            return read_memory_store(store)
        if tool == "known-device":
            from measure.known_device.in_python import read_device_store

            return read_device_store(store)
        if tool == "mlc":
            from measure.mlc.sweep import read_mlc_store

            return read_mlc_store(store)
    except DataError:
        raise
    except (StoreError, OSError) as error:
        raise DataError(str(error)) from error
    except MeasureError as error:
        raise DataError(f"{directory}: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # Our own records are read as they were written; one that was edited by hand may fail anywhere.
        said = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise DataError(
            f"{directory} holds a record that qsim does not write ({said}); it was edited or damaged: restore it, or "
            "measure into another directory"
        ) from error
    raise DataError(f"{directory} holds a sweep by {tool!r}, which this version cannot read; update qsim")
