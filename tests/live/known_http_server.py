"""An HTTP server whose truth is known, C workers of S seconds: ``known_http_server.py C S`` prints its port."""

from __future__ import annotations

import asyncio
import heapq
import sys
from contextlib import suppress


async def serve(workers: int, service_s: float) -> None:
    """Answer every request after a worker was free and worked for ``service_s``.

    Workers keep to the clock: an answer that a busy machine sends late delays its client, not the next service.
    """
    loop, free_at = asyncio.get_running_loop(), [0.0] * workers

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                done = max(loop.time(), free_at[0]) + service_s
                heapq.heapreplace(free_at, done)
                await asyncio.sleep(done - loop.time())
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
