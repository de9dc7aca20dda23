"""What a block device or an NBD export holds, read before anything is written to it.

libblkid is asked by its programs, ``blkid -p`` and ``wipefs --no-act``: both know filesystems, RAID members, volume
managers, encryption and partition tables. What they do not know is not blank either, so the device itself is read at
:func:`places`. A device is blank where all of them are zero.

What can be missed is data between the places. Data that fill a share s of a device without a gap are found for certain
where s is above 2 / PARTS; data in pieces of PIECE_BYTES or more, scattered over it, with a chance of at least
1 - (1 - s)^PARTS.

An export is read by a client of the fixed newstyle handshake: option NBD_OPT_EXPORT_NAME, then NBD_CMD_READ.
Source: the NBD protocol, https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
"""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from measure.errors import UnsafeTargetError
from measure.machine.process import run_tool
from measure.units import format_bytes

MIB = 2**20
END_BYTES = MIB  # bytes at the end that are read
START_BYTES = 16 * MIB
"""Bytes at the start that are read: partitions begin there (63 or 2048 sectors of 512 or 4096 bytes)."""
PIECE_BYTES = 2**16
PARTS = 512  # parts of equal size, in each of which a piece is read at a random place
TOOL_LIMIT_S = 30.0
NOTHING_FOUND, SEVERAL_FOUND = 2, 8  # exit codes of ``blkid -p``

Read: TypeAlias = Callable[[int, int], bytes]  # ``read(offset, length)``: bytes of a device


@dataclass(frozen=True)
class Contents:
    """What was seen of a device or an export at one time.

    ``device`` says which device it is; ``signature`` is what libblkid calls the contents (None: it knows nothing of
    them); ``not_zero_at`` is the first byte seen that is not zero; ``digest`` is that of all bytes read.
    """

    device: str
    size_bytes: int
    signature: str | None = None
    not_zero_at: int | None = None
    digest: str = ""

    def change_since(self, before: Contents) -> str:
        """What has happened since an earlier look, in words; "" where nothing has changed.

        >>> Contents("sdb", 2**30, "ext4", 1024, "1").change_since(Contents("sdb", 2**30))
        'ext4 was written to it'
        """
        if self.device != before.device:
            return "another device has taken its name"
        if self.size_bytes != before.size_bytes:
            return f"its size changed from {format_bytes(before.size_bytes)} to {format_bytes(self.size_bytes)}"
        if self.signature != before.signature and self.signature:
            return f"{self.signature} was written to it"
        return "" if self == before else "its contents changed"


def contents_of(read: Read, size_bytes: int, signature: str | None, device: str) -> Contents:
    """What is seen at :func:`places`."""
    first, seen = None, hashlib.blake2b()
    for offset, length in places(size_bytes):
        piece = read(offset, length)
        seen.update(piece)
        if first is None and piece != bytes(len(piece)):  # compared 20 times as fast as zeros are counted
            first = offset + len(piece) - len(piece.lstrip(b"\0"))
    return Contents(device, size_bytes, signature, first, seen.hexdigest())


def places(size_bytes: int) -> list[tuple[int, int]]:
    """The places of a device that are read, (offset, length) in order, the same for each device of a size.

    The first 16 MiB and the last MiB; a piece in each of 512 equal parts; and pieces where partitions and copies of
    superblocks often begin: halves, thirds and quarters (xfs: allocation groups), powers of two and 1 MiB after them
    (btrfs: 64 MiB, 256 GiB), and 128 MiB times powers of 3, 5 and 7 (ext4: sparse superblocks). A device of up to
    32 MiB is read whole.

    >>> places(40000)
    [(0, 40000)]
    >>> len(places(2**40)) > 512 and max(length for _, length in places(2**40)) == 2**20
    True
    """
    start = size_bytes if size_bytes <= PARTS * PIECE_BYTES else START_BYTES
    end = max(start, size_bytes - END_BYTES)
    found = [(offset, min(MIB, start - offset)) for offset in range(0, start, MIB)]
    between = sorted({*_random_places(size_bytes), *_usual_places(size_bytes)})
    found += [(offset, min(PIECE_BYTES, end - offset)) for offset in between if start <= offset < end]
    return [*found, (end, size_bytes - end)] if end < size_bytes else found


def _random_places(size_bytes: int) -> list[int]:
    """An offset in each part, so that its piece lies inside; multiples of 4096."""
    draw = random.Random(size_bytes)
    edges = [size_bytes * part // PARTS // 4096 for part in range(PARTS + 1)]
    room = PIECE_BYTES // 4096
    return [4096 * draw.randint(low, max(low, high - room)) for low, high in pairwise(edges)]


def _usual_places(size_bytes: int) -> list[int]:
    shares = {size_bytes * k // n // 4096 * 4096 for n in (2, 3, 4) for k in range(1, n)}
    doublings = [2**bit for bit in range(24, size_bytes.bit_length())]
    groups = [128 * MIB * base**power for base in (3, 5, 7) for power in range(1, 20)]
    return [*shares, *doublings, *(place + MIB for place in doublings), *groups]


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


def signature_of(read: Read, size_bytes: int) -> str | None:
    """As :func:`signature_on`, for what is no file here: what is read at :func:`places` is put into a sparse image."""
    with tempfile.TemporaryDirectory(prefix="qsim-export-") as folder:
        image = Path(folder) / "image"
        with image.open("wb") as file:
            file.truncate(size_bytes)
            for offset, length in places(size_bytes):
                piece = read(offset, length)
                if piece != bytes(len(piece)):
                    file.seek(offset)
                    file.write(piece)
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


# --- an NBD export ----------------------------------------------------------------------------------------------------

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


_PLAIN = r"(?:[\w.~/:@=,+-]|%(?!00)[0-9A-Fa-f]{2})"
"""What an address may consist of: Python, libnbd and fio read each of these alike."""
_ADDRESS = re.compile(
    rf"nbd://(?P<host>[\w.-]+|\[[0-9A-Fa-f:]+\])(?::(?P<port>\d+))?(?:/(?P<export>{_PLAIN}*))?"
    rf"|nbd\+unix:///(?P<unix_export>{_PLAIN}*)\?socket=(?P<socket>{_PLAIN}+)",
    re.ASCII,
)


@contextmanager
def connected(uri: str) -> Iterator[Export]:
    """The export that an NBD URI names; UnsafeTargetError where it cannot be read, as over TLS.

    What another program could take for another export is refused: a second ``socket=``, a blank, ``+`` for a blank.
    """
    if (address := _ADDRESS.fullmatch(uri)) is None:
        raise UnsafeTargetError(
            f"{uri} is not written to: only nbd://HOST:PORT/EXPORT and nbd+unix:///EXPORT?socket=PATH can be read "
            "first; write other characters as %20"
        )
    try:
        with _connection(address) as connection:
            greeting = _received(connection, 18)
            if greeting[:16] != b"NBDMAGICIHAVEOPT":
                raise UnsafeTargetError(f"{uri} is not written to: its server speaks an older NBD, and cannot be asked")
            connection.sendall(struct.pack(">I", _FIXED_NEWSTYLE | _NO_ZEROES))
            asked = unquote_to_bytes(address["export"] or address["unix_export"] or "")
            connection.sendall(b"IHAVEOPT" + struct.pack(">II", _EXPORT_NAME, len(asked)) + asked)
            size = struct.unpack(">Q", _received(connection, 8))[0]
            _received(connection, 2 if greeting[17] & _NO_ZEROES else 126)
            yield Export(uri, connection, size)
            connection.sendall(struct.pack(">IHHQQI", _REQUEST, 0, _DISCONNECT, 2, 0, 0))
    except (OSError, OverflowError, UnicodeError) as error:  # of a size or a port beyond all, or a name too long
        raise UnsafeTargetError(
            f"{uri} is not written to: it cannot be read first ({getattr(error, 'strerror', None) or error})"
        ) from error


def _connection(address: re.Match[str]) -> socket.socket:
    if path := address["socket"]:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LIMIT_S)
        connection.connect(unquote_to_bytes(path))
        return connection
    return socket.create_connection((address["host"].strip("[]"), int(address["port"] or DEFAULT_PORT)), LIMIT_S)


def _received(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(min(length - len(parts), 2**20))
        if not part:
            raise ConnectionResetError("the server closed the connection")
        parts += part
    return bytes(parts)
