"""Calibrate on two points of a published sweep, predict the others, and look at what was missed.

The sweep is in the package: a Toshiba NVMe drive, reads of 4 KiB, as a course report printed it. Its latencies carry
the wrong unit there, which the audit finds by Little's law.

python examples/calibrate_two_points.py
"""

from calibrate import compare, predict
from measure import audit, load_dataset

SERIES = "4 KiB read"

as_printed = load_dataset("003-ssd-read", as_published=True)
for finding in audit(as_printed, SERIES):
    print(finding)

drive = load_dataset("003-ssd-read")
comparison = compare(drive, series=SERIES)  # on the nearest to depths 1 and 32
print(f"\n{comparison}\n")

knee = comparison.knee
print(f"Two points say: the knee is at {knee.load:.3g} outstanding requests, {knee.low:.3g} to {knee.high:.3g}.")
print("Just below, at and above it:")
print(predict(comparison.fit, [knee.load / 2, knee.load, 2 * knee.load]))
