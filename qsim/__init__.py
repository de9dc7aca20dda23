"""Queueing theory: describe a queue once, solve it by formula or simulate it.

>>> from qsim import MM1, solve
>>> solve(MM1(arrival_rate=16, service_rate=20)).W
0.25

Nothing here knows of devices or files: rates and times are in whatever unit the caller uses throughout.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
