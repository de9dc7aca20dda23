"""Reads k6's summary: its documents of --summary-export and handleSummary, and the text that it prints at its end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from measure.formats.load_tools import parse_seconds
from measure.formats.server_reports import CLOSED_LOOP, ServerRun, number_at
from measure.units import plain_number

K6_LINE = r"^[ \t]*http_req_duration\.{3,}: avg="
_METRIC = re.compile(r"^\s*(\w+)\.{3,}: (.*)$", re.MULTILINE)
_FIGURE = re.compile(r"(avg|min|med|max|p\([\d.]+\))=([\d.]+(?:[a-zµμ]+[\d.]*)*)")

ALL_BUSY = 0.8
"""k6's users iterate without a pause: where fewer than this share are busy, an executor of rates starts them."""


def is_k6(found: Mapping[str, Any]) -> bool:
    """Whether the document is k6's summary."""
    return isinstance(found.get("metrics"), dict) and "http_reqs" in found["metrics"]


def k6(found: Mapping[str, Any], name: str) -> ServerRun:
    """Read k6's summary: of virtual users who loop, and may pause in each iteration, or of iterations at a rate."""
    metrics = {key: value.get("values", value) for key, value in found["metrics"].items() if isinstance(value, Mapping)}
    times = metrics.get("http_req_duration", {})
    rate, mean = number_at(metrics.get("http_reqs", {}), "rate", name), number_at(times, "avg", name) / 1e3
    users = float(metrics.get("vus_max", metrics.get("vus", {})).get("max", 0)) or None
    arrivals = _rate_of_iterations(metrics, users)
    percents = {50.0: times["med"] / 1e3} if "med" in times else {}
    percents |= {float(k[2:-1]): float(v) / 1e3 for k, v in times.items() if k.startswith("p(")}
    failed = metrics.get("http_req_failed", {})
    count = float(metrics["http_reqs"].get("count", 0)) or None
    share = float(failed.get("rate", failed.get("value", 0)) or 0)
    return ServerRun(
        "k6",
        rate,
        mean,
        clients=None if arrivals else users,
        unit="users",
        rate_per_s=rate * _dropped(metrics) if arrivals else None,
        gaps="paced",
        cycles="iteration_duration" in metrics,
        percentiles=percents,
        requests=count,
        failed=share * (count or 0),
        notes=(arrivals,) if arrivals else (CLOSED_LOOP,),
        doubt=_users_ramp(metrics) if arrivals else "",
    )


def _users_ramp(metrics: Mapping[str, Any]) -> str:
    """What speaks for a number of users that was varied during the run; empty where iterations came at a rate.

    Users who are all active at times, and not always, may ramp; iterations are dropped only where they come at a rate.
    """
    active, most = metrics.get("vus", {}), metrics.get("vus_max", {}).get("max")
    varied = most is not None and active.get("min", most) < active.get("max", 0) >= most
    if not varied or metrics.get("dropped_iterations", {}).get("count"):
        return ""
    return f"the users varied from {active['min']:g} to {active['max']:g} within the run"


def _dropped(metrics: Mapping[str, Any]) -> float:
    """Iterations that were due over those that were started: k6 drops what finds no user free."""
    dropped, done = (metrics.get(name, {}).get("count") or 0 for name in ("dropped_iterations", "iterations"))
    return 1 + float(dropped) / float(done) if done else 1.0


def _rate_of_iterations(metrics: Mapping[str, Any], users: float | None) -> str:
    """What says that iterations were started at a rate: they were dropped, or left users idle; empty for a loop."""
    rate = metrics.get("iterations", {}).get("rate")
    mean = metrics.get("iteration_duration", {}).get("avg")
    if users is None or rate is None or mean is None:
        return ""
    busy, due = rate * mean / 1e3, _dropped(metrics)
    if busy >= ALL_BUSY * users and due == 1:
        return ""
    kept = f"they kept {plain_number(busy, 2)} of {users:g} users busy"
    dropped = "" if due == 1 else f", and {plain_number(100 * (1 - 1 / due), 2)} % were dropped"
    return f"k6 started iterations at a rate, in even gaps: {kept}{dropped}"


def k6_metrics(text: str) -> dict[str, Any]:
    """The summary that k6 prints at its end as the document that it writes, times in milliseconds."""
    metrics: dict[str, Any] = {}
    for name, rest in _METRIC.findall(text):
        values: dict[str, float] = {}
        for key, value in _FIGURE.findall(rest):
            values[key] = parse_seconds(value) * 1e3 if re.search("[a-zµμ]", value) else float(value)
        if counted := re.match(r"(\d+)\s+([\d.]+)/s", rest):
            values |= {"count": float(counted[1]), "rate": float(counted[2])}
        elif share := re.match(r"([\d.]+)%", rest):
            values["value"] = float(share[1]) / 100
        metrics.setdefault(name, values)
    return {"metrics": metrics}
