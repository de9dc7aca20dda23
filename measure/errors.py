"""What can go wrong with files, tools and targets, each with a sentence that says what to do.

Every message names the thing (file, tool, target), what is wrong with it, and the remedy; the command line
prints it as its only line.
"""

from __future__ import annotations

LONGEST_MESSAGE = 900


class MeasureError(Exception):
    """Base of everything that this room raises on purpose."""


class DataError(MeasureError, ValueError):
    """A file or table cannot be read as a measurement: empty, truncated, of another format, impossible values.

    What a file calls its columns and jobs may be of any length and hold line ends, so a message is made one line, and a
    long one loses its middle.

    >>> from measure import load_dataset
    >>> try:
    ...     load_dataset("003-ssd-read").select("1 MiB write")
    ... except DataError as error:
    ...     print(str(error)[:40])
    003-ssd-read has no series '1 MiB write'
    """

    def __init__(self, message: str) -> None:
        message = " ".join(message.splitlines())
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[: LONGEST_MESSAGE * 2 // 3]} ... {message[-LONGEST_MESSAGE // 3 :]}"
        super().__init__(message)


class ToolMissingError(MeasureError):
    """A program that a measurement needs is not installed."""


class ToolFailedError(MeasureError):
    """A program was started and crashed, hung, or printed nothing that can be used."""


class UnsafeTargetError(MeasureError):
    """Writing to this target could destroy something, or the target cannot be measured truthfully."""


class StoreError(MeasureError):
    """A sweep directory cannot be created, continued or read."""
