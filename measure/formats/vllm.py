"""Reads the serving benchmark of vLLM and SGLang: its JSON, or what ``load_tools.toml`` finds in its text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from measure.errors import DataError
from measure.formats.server_reports import ServerRun, load_of_a_count, number_at

FEW_ROUNDS = 10.0
"""Fewer requests than these for each client are mostly the beginning and the end of a run."""
_E2E = {50.0: "median", 95.0: "p95", 99.0: "p99"}


def is_vllm(found: Mapping[str, Any]) -> bool:
    """Whether the document is that of a benchmark of a language-model server."""
    return "request_throughput" in found and "output_throughput" in found


def vllm(found: Mapping[str, Any], name: str) -> ServerRun:
    """Read the serving benchmark of vLLM or SGLang: whole requests and their end-to-end time, without tokens.

    Where it holds no end-to-end times, as by default, the response time of a number at once is N / X.
    """
    mean = float(found.get("mean_e2el_ms") or found.get("mean_e2e_latency_ms") or 0) / 1e3
    rate, asked = number_at(found, "request_throughput", name), found.get("request_rate")
    at_once, completed = found.get("max_concurrency"), float(found.get("completed") or 0)
    opened = asked is not None and float(asked) < math.inf and at_once is None
    if opened and not mean:
        raise DataError(
            f"{name} has times of tokens and none of whole requests (mean_e2el_ms); run the benchmark with "
            "--percentile-metrics ttft,tpot,itl,e2el"
        )
    seconds = float(found.get("duration") or completed / rate)
    load = load_of_a_count(rate, mean, float(asked), seconds) if opened and asked is not None else None
    if not opened and at_once is None:
        raise DataError(
            f"{name}: all requests were sent at once (request_rate inf, no max_concurrency), so that no load held; run "
            "the benchmark with --max-concurrency N or --request-rate R"
        )
    percents = {p: _time_ms(found, key, mean) for p, key in _E2E.items() if _time_ms(found, key, mean)}
    notes = [f"{found['failed']:g} requests failed and are left out"] if found.get("failed") else []
    rounds = completed / float(at_once or math.inf)
    if not mean and 0 < rounds < FEW_ROUNDS:
        few = f"{completed:g} requests at {float(at_once or 0):g} at once are {rounds:.2g} rounds"
        notes.append(f"{few}, too few for N / X, as not all clients are busy in the first and the last; send more")
    return ServerRun(
        "sglang" if "sglang" in str(found.get("backend")) else "vllm",
        rate,
        mean or None,
        clients=None if opened else float(at_once),  # type: ignore[arg-type]
        rate_per_s=load,
        percentiles=percents,
        sd_s=_time_ms(found, "std", mean) or math.nan,
        requests=completed or None,
        notes=tuple(notes),
    )


def _time_ms(found: Mapping[str, Any], which: str, mean: float) -> float:
    """A figure of the time of whole requests, seconds, by either name; 0 where there is none."""
    return float(found.get(f"{which}_e2el_ms") or found.get(f"{which}_e2e_latency_ms") or 0) / 1e3 if mean else 0.0
