"""The bridge between theory and hardware: fit device models to sweeps, predict, find the knee, compare, report.

>>> from calibrate import from_datasheet, predict
>>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
>>> round(drive.knee.load)
48
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
