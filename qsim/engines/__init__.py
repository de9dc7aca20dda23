"""Simulation: two engines, one answer.

``reference`` is SimPy: processes a student can read.  ``compiled`` is numba: the same model, the same random
numbers drawn in the same order, hundreds of times faster.  Neither is imported before it is used.
"""

from qsim.engines.repeated.common_numbers import PairedDifference, difference
from qsim.engines.repeated.over_time import simulate_over_time
from qsim.engines.repeated.replications import replicate
from qsim.engines.repeated.sweeps import ModelGrid, grid, sweep_models
from qsim.engines.repeated.throughput import simulate_throughput
from qsim.engines.run import simulate
from qsim.engines.trace import SamplePath, trace

__all__ = [
    "ModelGrid",
    "PairedDifference",
    "SamplePath",
    "difference",
    "grid",
    "replicate",
    "simulate",
    "simulate_over_time",
    "simulate_throughput",
    "sweep_models",
    "trace",
]
