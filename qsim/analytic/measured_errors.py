"""How far W is off by each approximation, in percent: at the median and at worst.

Over 60 random queues of each kind, solved and simulated; written by
``python examples/accuracy/approximations.py --write``.
"""

ERRORS = {
    "phase-type fit": (1.3, 27),
    "Allen-Cunneen": (7.3, 31),
    "Krämer-Langenbach-Belz": (4.2, 19),
    "Kimura": (1.4, 7),
    "closed FCFS classes": (0.4, 21),
    "closed FCFS of general services": (2.4, 54),
}
