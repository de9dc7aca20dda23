"""Simulation: two engines that give the same answer.

``reference`` is SimPy: processes a student can read. ``compiled`` is numba: the same model, the same random
numbers drawn in the same order, hundreds of times faster. Neither is imported before it is used.
"""
