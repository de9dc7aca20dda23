"""k6's summaries: what they count in milliseconds becomes seconds, and what they leave out is not made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from measure import load
from measure.formats.servers import k6

DOCUMENT = Path(__file__).parents[3] / "data" / "servers" / "k6" / "k6-v8.json"


def test_k6_prints_milliseconds_and_may_leave_out_what_failed(tmp_path: Path) -> None:
    document = json.loads(DOCUMENT.read_text())
    percentiles = {50: 6.757232e-3, 90: 10.4562188e-3, 95: 16.1552006e-3}  # as the document has them, in ms
    assert k6(document, "x").percentiles == pytest.approx(percentiles, rel=1e-9)
    document["metrics"]["http_req_failed"]["value"] = 0.2
    assert k6(document, "x").failed == pytest.approx(361)
    summary = {"http_reqs": {"rate": 900.0}, "http_req_duration": {"avg": 8.0}, "http_req_failed": {"rate": 0.5}}
    bare = k6({"metrics": {name: {"values": values} for name, values in summary.items()}}, "x")
    assert (bare.clients, bare.requests, bare.response_s, bare.failed, bare.percentiles) == (None, None, 8e-3, 0, {})
    del document["metrics"]["http_req_failed"]
    (tmp_path / "k6.json").write_text(json.dumps(document))
    assert "failed-answers" not in {f.check for f in load(tmp_path / "k6.json").findings}
