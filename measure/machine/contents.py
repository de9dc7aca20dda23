"""What a block device or an NBD export holds, read before anything is written to it.

libblkid is asked by its programs, ``blkid -p`` and ``wipefs --no-act``: both know filesystems, RAID members, volume
managers, encryption and partition tables. What they do not know is not blank either: the first and the last MiB are
read.

An export is read by a client of the fixed newstyle handshake: option NBD_OPT_EXPORT_NAME, then NBD_CMD_READ.
Source: the NBD protocol, https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
"""

from __future__ import annotations

import re
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from measure.errors import UnsafeTargetError
from measure.machine.process import run_tool

END_BYTES = 2**20
"""Bytes at each end that are zero in a blank device."""
TOOL_LIMIT_S = 30.0
NOTHING_FOUND, SEVERAL_FOUND = 2, 8
"""Exit codes of ``blkid -p``."""

Read: TypeAlias = Callable[[int, int], bytes]
"""``read(offset, length)``: bytes of a device."""


def signature_on(path: Path) -> str | None:
    """The name of what libblkid finds on a device, or in an image of one; None where it finds nothing.

    Raises UnsafeTargetError where neither of its programs is installed, or neither gives an answer.
    """
    asked = [found for found in (_blkid(path), _wipefs(path)) if found is not None]
    if not asked:
        raise UnsafeTargetError(
            f"{path} is not written to: neither blkid nor wipefs says what it holds; install util-linux"
        )
    return next((found for found in asked if found), None)


def ends_are_zero(read: Read, size_bytes: int) -> bool:
    """Whether the first and the last MiB of a device are zero."""
    length = min(END_BYTES, size_bytes)
    return not any(read(0, length)) and not any(read(size_bytes - length, length))


def signature_of(read: Read, size_bytes: int) -> str | None:
    """As :func:`signature_on`, for what is no file here: its two ends are looked at in a sparse image of its size."""
    length = min(END_BYTES, size_bytes)
    with tempfile.TemporaryDirectory(prefix="qsim-ends-") as folder:
        image = Path(folder) / "image"
        with image.open("wb") as file:
            file.truncate(size_bytes)
            for offset in (0, size_bytes - length):
                file.seek(offset)
                file.write(read(offset, length))
        return signature_on(image)


def _blkid(path: Path) -> str | None:
    """The type that ``blkid -p`` finds, "" for nothing; None where it is missing or fails."""
    if shutil.which("blkid") is None:
        return None
    finished = run_tool(["blkid", "-p", "-o", "export", str(path)], TOOL_LIMIT_S)
    if finished.timed_out or finished.returncode not in (0, NOTHING_FOUND, SEVERAL_FOUND):
        return None
    if finished.returncode == SEVERAL_FOUND:
        return "several signatures at once"
    return _named(dict(re.findall(r"^(\w+)=(.*)$", finished.text, re.MULTILINE)))


def _named(values: dict[str, str]) -> str:
    if kind := values.get("TYPE"):
        return kind
    if table := values.get("PTTYPE"):
        return f"a partition table ({table})"
    return next((values[name] for name in ("USAGE", "LABEL", "UUID") if name in values), "")


def _wipefs(path: Path) -> str | None:
    """The type that ``wipefs --no-act`` finds, "" for nothing; None where it is missing or fails."""
    if shutil.which("wipefs") is None:
        return None
    finished = run_tool(["wipefs", "--no-act", "--noheadings", "--output", "TYPE", str(path)], TOOL_LIMIT_S)
    if finished.timed_out or finished.returncode != 0:
        return None
    return (finished.text.split() or [""])[0]


DEFAULT_PORT = 10809
LIMIT_S = 10.0
_FIXED_NEWSTYLE, _NO_ZEROES, _EXPORT_NAME = 1, 2, 1
_REQUEST, _REPLY, _READ, _DISCONNECT = 0x25609513, 0x67446698, 0, 2


@dataclass(frozen=True)
class Export:
    """An export that is connected: its size, and the connection."""

    uri: str
    connection: socket.socket
    size_bytes: int

    def read(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset`` on; UnsafeTargetError where the server refuses."""
        self.connection.sendall(struct.pack(">IHHQQI", _REQUEST, 0, _READ, 1, offset, length))
        magic, error, _ = struct.unpack(">IIQ", _received(self.connection, 16))
        if magic != _REPLY or error:
            raise UnsafeTargetError(f"{self.uri} is not written to: its server does not let it be read (error {error})")
        return _received(self.connection, length)


@contextmanager
def connected(uri: str) -> Iterator[Export]:
    """The export that an NBD URI names; UnsafeTargetError where it cannot be read, as over TLS."""
    parts = urlsplit(uri)
    name = unquote(parts.path.removeprefix("/"))
    try:
        with _connection(uri) as connection:
            greeting = _received(connection, 18)
            if greeting[:16] != b"NBDMAGICIHAVEOPT":
                raise UnsafeTargetError(f"{uri} is not written to: its server speaks an older NBD, and cannot be asked")
            connection.sendall(struct.pack(">I", _FIXED_NEWSTYLE | _NO_ZEROES))
            asked = name.encode()
            connection.sendall(b"IHAVEOPT" + struct.pack(">II", _EXPORT_NAME, len(asked)) + asked)
            size = struct.unpack(">Q", _received(connection, 8))[0]
            _received(connection, 2 if greeting[17] & _NO_ZEROES else 126)
            yield Export(uri, connection, size)
            connection.sendall(struct.pack(">IHHQQI", _REQUEST, 0, _DISCONNECT, 2, 0, 0))
    except OSError as error:
        raise UnsafeTargetError(
            f"{uri} is not written to: it cannot be read first ({error.strerror or error})"
        ) from error


def _connection(uri: str) -> socket.socket:
    parts = urlsplit(uri)
    if parts.scheme == "nbd+unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LIMIT_S)
        connection.connect(parse_qs(parts.query).get("socket", [""])[0])
        return connection
    if parts.scheme == "nbd" and parts.hostname:
        return socket.create_connection((parts.hostname, parts.port or DEFAULT_PORT), LIMIT_S)
    raise UnsafeTargetError(f"{uri} is not written to: only exports of nbd:// and nbd+unix:// can be read first")


def _received(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(min(length - len(parts), 2**20))
        if not part:
            raise ConnectionResetError("the server closed the connection")
        parts += part
    return bytes(parts)
