"""What a page of ``--report`` holds packed."""

from __future__ import annotations

import base64
import gzip
import re


def packed_views(page: str) -> str:
    """The figures and tables of ``page``, by anchor, as JSON."""
    (packed,) = re.findall(r'<script id="views" type="application/gzip">(.*?)</script>', page)
    return gzip.decompress(base64.b64decode(packed)).decode()
