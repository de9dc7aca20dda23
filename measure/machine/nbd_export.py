"""Reads an NBD export before anything is written to it.

A client of the fixed newstyle handshake: option NBD_OPT_EXPORT_NAME, then NBD_CMD_READ.
Source: the NBD protocol, https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from measure.errors import UnsafeTargetError

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
