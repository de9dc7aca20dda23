"""One self-contained HTML page: verdict, figures, tables, provenance. It opens offline and on a phone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.comparison import Comparison, throughput_text
from calibrate.fitting import quantity
from calibrate.report import figures
from calibrate.report.measured.section import MeasuredSection
from measure.dataset import CACHE_LINE_BYTES, Provenance
from measure.errors import MeasureError
from measure.units import format_bandwidth, format_duration

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MARK = '<meta name="generator" content="qsim report">'
"""What makes an HTML file ours, so that only ours is ever replaced."""


@dataclass(frozen=True)
class Section:
    """The comparisons of one sweep under one heading, and the series that could not be compared, with the reason."""

    title: str
    comparisons: Sequence[Comparison]
    refused: Mapping[str, str]


def write_report(
    comparisons: Sequence[Comparison],
    path: str | Path,
    *,
    title: str = "",
    refused: Mapping[str, str] | None = None,
) -> Path:
    """Write the report of one sweep to ``path``; see ``write_sections``."""
    heading = title or (comparisons[0].points.source if comparisons else "")
    return write_sections([Section(heading, comparisons, refused or {})], path, title=heading)


def write_sections(sections: Sequence[Section | MeasuredSection], path: str | Path, *, title: str) -> Path:
    """Write one page for several sweeps, replacing an earlier report of ours but no other file.

    Raises MeasureError where ``path`` is a file that is no report of ours, or cannot be written.
    """
    target = Path(path)
    try:
        if target.exists() and not _is_ours(target):
            raise MeasureError(f"{target} exists and is no report of qsim; choose another name for the report")
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.write_text(render(sections, title=title), encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise MeasureError(f"cannot write the report {target}: {error.strerror or error}") from error
    return target


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.read(2000)


def render(sections: Sequence[Section | MeasuredSection], *, title: str) -> str:
    """The page as text. It names no address outside itself."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("calibrate", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2").render(
        title=title or "qsim report",
        mark=MARK,
        plotlyjs=get_plotlyjs(),
        written=dt.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        sections=[
            _measured(s, i) if isinstance(s, MeasuredSection) else _section(s, i) for i, s in enumerate(sections)
        ],
    )


def _section(section: Section, number: int) -> dict[str, Any]:
    comparisons = list(section.comparisons)
    return {
        "title": section.title,
        "measured": False,
        "overview": _html(figures.overview(comparisons), f"s{number}-overview") if len(comparisons) > 1 else "",
        "series": [_series(c, f"s{number}-{i}") for i, c in enumerate(comparisons)],
        "refused": dict(section.refused),
        "provenance": _provenance(comparisons[0].provenance, comparisons[0].points.source) if comparisons else [],
        "commands": list(comparisons[0].provenance.commands) if comparisons else [],
    }


def _measured(section: MeasuredSection, number: int) -> dict[str, Any]:
    return {
        "title": section.title,
        "measured": True,
        "lead": section.lead,
        "notes": list(section.notes),
        "views": [
            {"kind": v.kind, "title": v.title, "caption": v.caption, "text": v.text,
             "html": "" if v.figure is None else _html(v.figure, f"s{number}-{v.name}")}
            for v in section.views
        ],
        "audit": section.findings,
        "provenance": _provenance(section.provenance, ""),
        "commands": list(section.provenance.commands),
    }  # fmt: skip


_SQUARES = (
    "Squares were used to calibrate; circles were held out, and the line knew nothing of them. The star is the knee; "
    "the shade is where a single new measurement is expected."
)
_RESIDUALS = "Predicted over observed, minus one. Filled: held out. Open: calibrated on, and so no evidence."

_Drawn = tuple[str, Callable[[Comparison], "Figure"], str]


def _drawn(comparison: Comparison) -> list[_Drawn]:
    """(title, figure, caption) by the kind of load."""
    if comparison.points.load_kind == "bandwidth":
        return [
            ("Latency against bandwidth", figures.latency_against_throughput, _SQUARES),
            ("Residuals", figures.residuals, _RESIDUALS),
        ]
    if comparison.is_open:
        return [
            ("Response time against arrival rate", figures.latency_against_throughput, _SQUARES),
            ("Waiting requests against utilization", figures.queue_against_utilization,
             "The mean number waiting, arrival rate times waiting time. Dashed: what one exponential server would "
             "have. Service that varies less than that, or more servers, lie below; service that varies more, above."),
            ("Residuals", figures.residuals, _RESIDUALS),
        ]  # fmt: skip
    memory = comparison.points.load_kind == "injected_delay"
    return [
        ("Latency against " + ("bandwidth" if memory else "throughput"), figures.latency_against_throughput,
         _SQUARES),
        ("Bandwidth against delay" if memory else "Throughput against load", figures.throughput_against_load,
         "Dashed: the asymptotic bounds, which no busy device of this latency and peak can pass."
         if not memory else "Less delay, more load: the loaders pause longer to the right."),
        ("Latency against delay" if memory else "Response time against load", figures.response_against_load,
         "Left of the knee more load costs little time; right of it, mostly time."
         if not memory else "With long delays the memory is idle and an access takes its idle latency."),
        ("Residuals", figures.residuals, _RESIDUALS),
        ("Lines in flight" if memory else "Little's law", figures.little_check,
         "Throughput times latency: how many cache lines were outstanding at once."
         if memory else "Throughput times response time must give the load that was asked for; the number beside a "
         "point is their ratio."),
    ]  # fmt: skip


def _series(comparison: Comparison, anchor: str) -> dict[str, Any]:
    return {
        "name": comparison.series,
        "anchor": anchor,
        "verdict": comparison.verdict(),
        "key_numbers": _key_numbers(comparison),
        "figures": [
            {"title": t, "html": _html(draw(comparison), f"{anchor}-{i}"), "caption": caption}
            for i, (t, draw, caption) in enumerate(_drawn(comparison))
        ],
        "assumption": comparison.fit.assumption,
        "model": comparison.fit.model,
        "used": ", ".join(f"{n:g}" for n in comparison.fit.used) or "nothing measured",
        "load_name": comparison.fit.load_name,
        "parameters": [
            {"name": name, "unit": e.unit, "value": quantity(e.estimate, e.unit), "low": quantity(e.low, e.unit),
             "high": quantity(e.high, e.unit), "identified": e.identified, "note": e.note}
            for name, e in comparison.fit.parameters.items()
        ],
        "level": f"{100 * comparison.fit.level:g} %",
        "banded": "response times" if comparison.is_open else "throughputs",
        "points": _points(comparison),
        "summary": comparison.summary,
        "models": comparison.models,
        "truth": _truth(comparison),
        "audit": comparison.audit,
        "notes": comparison.fit.notes,
    }  # fmt: skip


def _truth(comparison: Comparison) -> list[dict[str, str]]:
    """The rows of "estimate against truth"; empty where the truth is not known."""
    check = comparison.truth
    if check is None:
        return []
    return [
        {
            "name": a.name, "truth": quantity(a.truth, a.unit), "estimate": quantity(a.estimate, a.unit),
            "low": quantity(a.low, a.unit), "high": quantity(a.high, a.unit),
            "inside": "" if a.inside is None else "inside" if a.inside else "outside",
        }
        for a in (*check.parameters, check.knee)
    ]  # fmt: skip


def _key_numbers(comparison: Comparison) -> list[tuple[str, str, str]]:
    """(value, its interval, what it is), the few numbers that stand at the top."""
    knee, summary = comparison.knee, comparison.summary
    numbers: list[tuple[str, str, str]] = []
    if comparison.points.load_kind in ("injected_delay", "bandwidth"):
        low, high = knee.throughput_low_per_s or 0.0, knee.throughput_high_per_s or 0.0
        numbers.append((
            format_bandwidth(knee.throughput_per_s * CACHE_LINE_BYTES),
            f"{format_bandwidth(low * CACHE_LINE_BYTES)} to {format_bandwidth(high * CACHE_LINE_BYTES)}",
            "bandwidth at the knee" + ("" if knee.identified else " (not identifiable)"),
        ))  # fmt: skip
    elif knee.load is not None:
        interval = f"{knee.low:.3g} to {knee.high:.3g}" if knee.low is not None and knee.high is not None else ""
        name = "knee λ*, arrivals/s" if comparison.is_open else "knee N*"
        numbers.append((f"{knee.load:.3g}", interval, name + ("" if knee.identified else " (not identifiable)")))
    numbers.append((format_duration(knee.response_time_s), "", "response time at the knee"))
    for name, what in (("R1", "idle response time R1"), ("L0", "idle latency L0"), ("S", "mean service time S"),
                       ("Xmax", "peak throughput Xmax")):  # fmt: skip
        if (e := comparison.fit.parameters.get(name)) is not None:
            numbers.append(
                (quantity(e.estimate, e.unit), f"{quantity(e.low, e.unit)} to {quantity(e.high, e.unit)}", what)
            )
    if summary.held_out_mape_throughput_pct is not None:
        noise = "" if summary.repeat_noise_pct is None else f"repeats differ by {summary.repeat_noise_pct:.2g} %"
        if not comparison.is_open:
            numbers.append((f"{summary.held_out_mape_throughput_pct:.2g} %", noise, "held-out error, throughput"))
            noise = ""
        numbers.append((f"{summary.held_out_mape_response_pct:.2g} %", noise, "held-out error, response time"))
    return numbers


def _points(comparison: Comparison) -> list[dict[str, Any]]:
    points, predicted = comparison.points, comparison.predicted
    show = throughput_text(points.load_kind)
    return [
        {
            "load": f"{points.load[i]:g}",
            "held_out": bool(comparison.held_out[i]),
            "x": show(points.throughput_per_s[i]),
            "x_predicted": show(predicted.throughput_per_s[i]),
            "x_error": _percent(comparison.residual_throughput_pct[i]),
            "r": format_duration(points.response_time_s[i]),
            "r_predicted": format_duration(predicted.response_time_s[i]),
            "r_error": _percent(comparison.residual_response_pct[i]),
        }
        for i in range(len(points))
    ]


def _percent(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f} %"  # + 0.0: a rounded minus zero is just zero


def _provenance(p: Provenance, source: str) -> list[tuple[str, str]]:
    tool = p.tool_version if p.tool_version.startswith(p.tool) else f"{p.tool} {p.tool_version}"
    known = [
        ("tool", tool.strip()), ("device", p.device), ("host", p.host), ("CPU", p.cpu),
        ("kernel", p.kernel), ("measured", p.started_at), ("source", p.source or source),
    ]  # fmt: skip
    details = [(str(k).replace("_", " "), _plain(v)) for k, v in p.details.items()]
    return [(k, v) for k, v in [*known, *details] if v]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_plain(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(v) for v in value)
    return "" if value is None else str(value)


def _html(figure: Figure, anchor: str) -> str:
    from plotly.io import to_html

    config = {"responsive": True, "displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
    return str(
        to_html(figure, include_plotlyjs=False, full_html=False, div_id=anchor, config=config, default_width="100%")
    )
