"""A block device whose truth is known: C workers of S seconds behind the kernel's own block layer.

``known_block_device.py C S`` (root alone) prints the device, serves it until its input ends, and takes it away again:
one file by FUSE, whose reads are done when the first free of the workers has had S for them, and a loop device over it.
Nothing of it touches a drive.
"""

from __future__ import annotations

import ctypes
import heapq
import os
import select
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZE = 256 << 20
MOST = 256  # requests that the kernel sends at once
HEADER = struct.Struct("<IIQQIIII")
ANSWER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QIIQQQQQQIIIIIIIIII")
GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, DESTROY, FORGET, INTERRUPT, BATCH_FORGET = (
    3,
    14,
    15,
    17,
    18,
    25,
    26,
    38,
    2,
    36,
    42,
)
SILENT = (FORGET, INTERRUPT, BATCH_FORGET)
NO_SUCH_CALL = 38
ASYNC_READ, ASYNC_DIRECT = 1 << 0, 1 << 15
ZEROS = bytes(1 << 20)


def attributes() -> bytes:
    return ATTRIBUTES.pack(3600, 0, 0, 1, SIZE, SIZE // 512, 0, 0, 0, 0, 0, 0, 0o100644, 1, 0, 0, 0, 4096, 0)


def serve(channel: int, workers: int, service_s: float, until: int) -> None:
    """Answer until ``until`` can be read (its writer is gone)."""
    free = [0.0] * workers
    due: list[tuple[float, int, int]] = []
    while True:
        wait = max(0.0, due[0][0] - time.monotonic()) if due else None
        ready, _, _ = select.select([channel, until], [], [], wait)
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, unique, size = heapq.heappop(due)
            os.write(channel, ANSWER.pack(16 + size, 0, unique) + ZEROS[:size])
        if until in ready:
            return
        if channel in ready:
            request = os.read(channel, (1 << 20) + 4096)
            arrived = time.monotonic()
            _, code, unique, *_ = HEADER.unpack_from(request)
            if code == READ:
                _, _, size = struct.unpack_from("<QQI", request, HEADER.size)
                finish = max(arrived, free[0]) + service_s
                heapq.heapreplace(free, finish)
                heapq.heappush(due, (finish, unique, size))
                continue
            answer(channel, code, unique)


def answer(channel: int, code: int, unique: int) -> None:
    error, body = 0, b""
    if code == INIT:
        body = struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, ASYNC_READ | ASYNC_DIRECT, MOST, MOST, 1 << 17, 1, 32, 0, 0)
    elif code == GETATTR:
        body = attributes()
    elif code == OPEN:
        body = struct.pack("<QIi", 1, 1, 0)  # direct: nothing is kept in the page cache
    elif code not in (RELEASE, FLUSH, DESTROY):
        error = -NO_SUCH_CALL
    if code not in SILENT:
        os.write(channel, ANSWER.pack(16 + len(body), error, unique) + body)


def main(workers: int, service_s: float) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(29, 1, 0, 0, 0)  # timers that are due wake at once
    folder = Path(tempfile.mkdtemp())
    file = folder / "device"
    file.touch()
    channel = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={channel},rootmode=100644,user_id=0,group_id=0,max_read={1 << 17}"
    if libc.mount(b"qsim", os.fsencode(file), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    child = os.fork()
    if child == 0:
        serve(channel, workers, service_s, sys.stdin.fileno())
        os._exit(0)
    os.close(channel)
    device = ""
    try:
        device = subprocess.run(
            ["losetup", "--find", "--show", "--direct-io=on", "--read-only", str(file)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        sys.stdout.write(f"{device}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)
    finally:
        if device:
            subprocess.run(["losetup", "--detach", device], check=False)
        libc.umount2(os.fsencode(file), 2)
        file.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
