"""Compare the output that a page shows with the output that came.

Text must be the same; runs of blanks and of rules may be longer or shorter; ``...`` stands for anything within a line
and, alone on a line, for any number of lines; numbers may differ by a relative tolerance or by one in the last place
after a decimal point, because last digits depend on the processor and on the versions of libraries. Numbers in square
brackets are the ends of intervals: quantiles in a tail, which vary more.
"""

from __future__ import annotations

import re
from itertools import zip_longest

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?")
INTERVAL_END_TOLERANCE = 0.3
_PIECE = re.compile(rf"(?P<any>\.\.\.)|(?P<number>{NUMBER.pattern})|(?P<rule>[─━═-]{{3,}})|(?P<blank>\s+)")


def difference(shown: str, came: str, tolerance: float = 0.02) -> str | None:
    """None where the outputs match, else what to tell the reader of a failed test."""
    expected, found = _lines(shown), _lines(came)
    if _match(expected, found, tolerance):
        return None
    for number, (left, right) in enumerate(zip_longest(expected, found), start=1):
        if left == "...":
            break
        if left is None or right is None or not _same(left, right, tolerance):
            return f"line {number} of the output\n  shown: {left}\n  came:  {right}\nall that came:\n{came}"
    return f"shown:\n{shown}\ncame:\n{came}"


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _match(expected: list[str], found: list[str], tolerance: float) -> bool:
    if not expected:
        return not found
    if expected[0].strip() == "...":
        return any(_match(expected[1:], found[skip:], tolerance) for skip in range(len(found) + 1))
    return bool(found) and _same(expected[0], found[0], tolerance) and _match(expected[1:], found[1:], tolerance)


def _same(shown: str, came: str, tolerance: float) -> bool:
    if shown == came:
        return True
    numbers: list[tuple[str, float]] = []
    pattern, end = "", 0
    for piece in _PIECE.finditer(shown):
        pattern += re.escape(shown[end : piece.start()])
        end = piece.end()
        match piece.lastgroup:
            case "any":
                pattern += ".*?"
            case "number":
                pattern += f"({NUMBER.pattern})"
                opened = shown.rfind("[", 0, piece.start())
                inside = opened > shown.rfind("]", 0, piece.start()) and not shown.endswith("!", 0, opened)
                numbers.append((piece[0], max(tolerance, INTERVAL_END_TOLERANCE) if inside else tolerance))
            case "rule":
                pattern += f"{re.escape(piece[0][0])}+"
            case _:
                pattern += r"\s+"
    found = re.fullmatch(pattern + re.escape(shown[end:]), came)
    return found is not None and all(
        _close(number, other, allowed) for (number, allowed), other in zip(numbers, found.groups(), strict=True)
    )


def _close(shown: str, came: str, tolerance: float) -> bool:
    left, right = (float(text.replace(",", "")) for text in (shown, came))
    places = len(shown.partition(".")[2].lower().partition("e")[0])
    last_place = 1.01 * 10.0**-places if places and "e" not in shown.lower() else 0.0
    return abs(left - right) <= max(tolerance * abs(left), last_place)
