"""Scripts and styles packed for the way: a page of Dash is six megabytes, and fifty phones may share one wireless cell.

Only what is the same for everybody is packed, each once; answers that hold a code or a name are not.
"""

from __future__ import annotations

import gzip
from collections import OrderedDict

from flask import Flask, Response, request

PLACES = ("/_dash-component-suites/", "/assets/")
KINDS = ("text/javascript", "application/javascript", "text/css")
FEWEST_BYTES, MOST_KEPT, LEVEL = 1024, 64, 6


def attach(server: Flask) -> None:
    """Pack the scripts and styles of ``server`` for browsers that can unpack them."""
    kept: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()

    def pack(response: Response) -> Response:
        if not request.path.startswith(PLACES) or response.status_code != 200 or response.mimetype not in KINDS:
            return response
        response.vary.add("Accept-Encoding")
        if request.accept_encodings.find("gzip") < 0 or "Content-Encoding" in response.headers:
            return response
        response.direct_passthrough = False
        plain = response.get_data()
        if len(plain) < FEWEST_BYTES:
            return response
        key = (request.full_path, hash(plain).to_bytes(8, signed=True))
        if key not in kept:
            kept[key] = gzip.compress(plain, LEVEL, mtime=0)
            while len(kept) > MOST_KEPT:
                kept.popitem(last=False)
        response.set_data(kept[key])
        response.headers["Content-Encoding"] = "gzip"
        response.headers.pop("ETag", None)
        return response

    server.after_request(pack)
