"""What a ramp (``ramp_time``) does to fio's own rate and latency, and both without it.

fio counts a request (``total_ios``, ``iops``) where it sends it, and its bytes (``io_bytes``) where it completes. The s
requests in flight when the ramp ends were sent before the count began, so they are in the bytes and not in the count:
``iops`` is short by s / T. Seen with fio 3.33 (libaio, io_uring, nbd): s is N - 1; synchronous engines lose none.
Bytes / block counts what completed in the time T, so it is the rate; without a ramp both are equal. Of jobs that wait
for their next arrival (``LIMITING``) the bytes hold one request each from before the ramp's end, so their count stays.

At its end fio waits for all requests in flight before it times any of them. They complete at the rate X, so the last
s + 1 wait s / (2 X) at the mean, and of C requests the mean latency is long by s (s + 1) / (2 X C). Without a ramp the
first requests, sent all at once, are short by as much. Percentiles and bins hold the wait too and stay as printed.

The count by bytes is taken, as ``corrected``, and fio's stays beside it as published; where both agree within
``AGREES``, fio's own figure stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from measure.formats.fio.record import is_set, parse_fio_size
from measure.origin import corrected

AGREES = 0.005  # relative difference up to which fio's own figure stands: below that of two runs of any device
RATE_REASON = corrected("bytes / block; fio leaves requests in flight at the end of a ramp out of iops")
LATENCY_REASON = corrected("without the wait at the end of the run; fio times its last requests when all are complete")
VARIABLE = ("bssplit", "bsrange", "blocksize_range", "bs_unaligned", "blocksize_unaligned", "bs_is_seq_rand")
DEFAULT_BLOCK_BYTES = 4096
LIMITING = ("rate", "rate_iops", "thinktime")  # options of jobs that wait between requests
SEARCHED = "latency-target"  # the check of a job whose depth fio varied, so that no depth is its load


@dataclass(frozen=True)
class RampCount:
    """Requests completed in a run and the seconds by which its mean latency is long."""

    requests: float
    too_long_s: float


def has_ramp(options: Mapping[str, str]) -> bool:
    """Whether the options ask for a ramp.

    >>> [has_ramp({"ramp_time": text}) for text in ("300ms", "2", "0", "0s")], has_ramp({})
    ([True, True, False, False], False)
    """
    return re.search("[1-9]", options.get("ramp_time", "")) is not None


def fixed_block_bytes(options: Mapping[str, str], direction: str) -> int | None:
    """The one block size of a direction ("read", "write"; "mixed": of both), bytes; None where it varies.

    >>> fixed_block_bytes({"bs": "4k,64k"}, "write"), fixed_block_bytes({"bs": "4k,64k"}, "mixed")
    (65536, None)
    """
    if any(is_set(options, name) for name in VARIABLE):
        return None
    sizes = [parse_fio_size(part) for part in options.get("bs", str(DEFAULT_BLOCK_BYTES)).split(",")]
    reads, writes = sizes[0], sizes[min(1, len(sizes) - 1)]
    if direction == "mixed":
        return reads if reads == writes else None
    return writes if direction == "write" else reads


def counted_by_bytes(moved_bytes: float, block_bytes: int, requests: float, runtime_s: float) -> RampCount | None:
    """The requests that completed after a ramp, from the bytes moved; None where fio's ``requests`` are all of them.

    >>> counted_by_bytes(309 * 4096, 4096, 246, 1.886)  # doctest: +ELLIPSIS
    RampCount(requests=309.0, too_long_s=0.0398...)
    """
    completed = moved_bytes / block_bytes
    if not runtime_s or completed - requests <= AGREES * requests:
        return None
    missed = completed - requests
    return RampCount(completed, missed * (missed + 1) * runtime_s / (2 * completed**2))
