"""Measuring devices: run the tools, read what they print, keep it untouched, and check it.

``load(path)`` reads whatever a tool wrote, ``audit(sweep)`` checks it against Little's law, and the
measurements themselves are in :mod:`measure.fio.sweep` and :mod:`measure.memory.probe`. Everything here is in SI units.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
