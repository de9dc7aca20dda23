"""Errors of files, tools and targets, each with a sentence that names the remedy.

Every message names the thing (file, tool, target), what is wrong with it, and the remedy; the command line
prints it as its only line.
"""

from __future__ import annotations

LONGEST_MESSAGE = 900


class MeasureError(Exception):
    """Base of the errors of ``measure``."""


class DataError(MeasureError, ValueError):
    """A file or table cannot be read as a measurement: empty, truncated, of another format, impossible values.

    Names of columns and jobs in a file may be of any length and contain line ends, so a message is made one line, and
    a long one loses its middle.

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
    """A program crashed, hung, or printed nothing usable."""


class UnsafeTargetError(MeasureError):
    """Writing to this target could destroy data, or the target cannot be measured correctly.

    Attributes: ``problem``; ``remedy``, in which ``{read}``, ``{write}`` and ``{erase}`` stand for how a user consents
    to reading the target, to writing to the ``device``, and to destroying what it may hold.
    """

    def __init__(self, problem: str, remedy: str = "", device: str = "") -> None:
        self.problem, self.remedy, self.device = problem, remedy, device
        super().__init__(problem, remedy, device)

    def __str__(self) -> str:
        return self.sentence(
            "consent to its being read",
            f"give its name again as the device to write ({self.device})",
            f"give its name once more as the device to erase ({self.device})",
        )

    def sentence(self, read: str, write: str, erase: str) -> str:
        """The whole sentence, with the words for the three consents."""
        if not self.remedy:
            return self.problem
        return f"{self.problem}; {self.remedy.format(read=read, write=write, erase=erase)}"


class StoreError(MeasureError):
    """A sweep directory cannot be created, continued or read."""
