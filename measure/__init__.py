"""Measuring devices: run the tools, store their output untouched, read it, and check it.

``load(path)`` reads any tool's output, ``audit(sweep)`` checks it against Little's law, and the
measurements themselves are in :mod:`measure.fio.fio_sweep` and :mod:`measure.memory.probe`. Everything here is in SI
units.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
