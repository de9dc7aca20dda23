"""The hosts of a measurement on many of them: names and ports of machines on which ``fio --server`` listens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from measure.errors import DataError
from measure.formats.fio.json_output import SERVER_PORT
from qsim.errors import InvalidParameterError

MAX_HOSTS = 1000
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")  # never an option, never fio's ip6: or sock:


@dataclass(frozen=True)
class Host:
    """A host and the port of its fio server."""

    name: str
    port: int = SERVER_PORT

    def __str__(self) -> str:
        """As the user types it, and as it is called in what fio measured there."""
        return self.name if self.port == SERVER_PORT else f"{self.name}:{self.port}"

    @property
    def client(self) -> str:
        """fio's option that names it."""
        return f"--client={self.name},{self.port}"


def parse_hosts(texts: Iterable[str]) -> tuple[Host, ...]:
    """Hosts from ``NAME`` and ``NAME:PORT``, each once. ValueError naming what is none.

    >>> [str(host) for host in parse_hosts(["a", "b:8766"])]
    ['a', 'b:8766']
    """
    hosts: list[Host] = []
    for text in (t.strip() for t in texts):
        name, colon, port = text.partition(":")
        if not _NAME.fullmatch(name) or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
            hint = "; give a host with an IPv6 address a name" if text.count(":") > 1 else ""
            raise InvalidParameterError("hosts", f"holds {text!r}", f"write NAME or NAME:PORT{hint}", value=text)
        host = Host(name, int(port)) if colon else Host(name)
        if host in hosts:
            raise InvalidParameterError("hosts", f"names {host} twice", "name each server once")
        hosts.append(host)
    if not 1 <= len(hosts) <= MAX_HOSTS:
        raise InvalidParameterError(
            "hosts", f"holds {len(hosts)}", f"name from 1 to {MAX_HOSTS}, as a,b:8766", value=len(hosts)
        )
    return tuple(hosts)


def read_hosts(path: Path) -> tuple[Host, ...]:
    """The hosts in a file, one a line; what follows # is left out. DataError where it cannot be read or names none."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise DataError(f"{path} cannot be read: {reason}; give a file with one host a line") from error
    try:
        return parse_hosts(text for line in lines if (text := line.partition("#")[0].strip()))
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
