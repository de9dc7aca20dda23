"""Log lines that a terminal shows as they are: control characters of a request become escapes."""

from __future__ import annotations

import logging

LOGGERS = ("waitress", "calibrate.lab")


class PlainFormatter(logging.Formatter):
    """Formats a record without its traceback, in one printable line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[0] is not None:
            text += f" ({record.exc_info[0].__name__}: {record.exc_info[1]})"
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def log_plainly() -> None:
    """Send errors of the lab and its server to standard error, once each, in plain lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter())
    handler.setLevel(logging.ERROR)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
