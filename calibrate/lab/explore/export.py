"""A state of Explore as one page without scripts, for the page of a course."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dash.development.base_component import Component

from calibrate.lab.explore.curves import QUANTITIES
from calibrate.lab.explore.formulas import formulas_of, rendered
from calibrate.lab.explore.settings import KINDS, Settings
from calibrate.lab.explore.states import described, diagram, probabilities
from calibrate.lab.themes import Theme
from qsim import UnstableQueueError, solve

STYLE = """body{font:1.05rem/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b2733}
.formula{display:grid;border-top:1px solid #c3ced8;padding:.4rem 0}.law{font-weight:600}
.source{color:#4a5a69;font-size:.85rem}
.sum{font-family:Georgia,serif;font-size:1.1rem;overflow-x:auto}.fraction{display:inline-flex;flex-direction:column;
vertical-align:middle;text-align:center}.top{border-bottom:1.5px solid;padding:0 .25em}.bottom{padding:0 .25em}
.heard{position:absolute;clip-path:inset(50%)}img{max-width:100%}td,th{padding:.1rem .7rem .1rem 0;text-align:left}
.bar{display:inline-block;height:.8em;max-width:45vw;background:#0072B2}code{overflow-wrap:anywhere}"""


def exported(settings: Settings, link: str) -> str:
    """The page: diagram, formulas with their numbers, results and p(n); ``link`` opens the same state in a lab."""
    title = KINDS[settings.kind]
    drawn, words = diagram(settings, Theme(dark=False)), described(settings)
    parts = [f'<img src="{drawn}" alt="{escape(words)}">' if drawn else f"<p>{escape(words)}</p>"]
    try:
        metrics = solve(settings.model())
    except UnstableQueueError as error:
        parts.append(f"<p>{escape(str(error))}</p>")
    else:
        parts += [as_html(line) for line in rendered(formulas_of(settings, metrics))]
        values = [(label, f"{getattr(metrics, name):.4g}") for name, label in QUANTITIES.items()]
        parts.append(_table([f"<td>{escape(label)}</td><td>{value}</td>" for label, value in values]))
        shown = probabilities(settings, metrics)
        bar = '<span class="bar" style="width:{:.2f}em"></span>'
        widths = [bar.format(16 * p / max(shown)) for p in shown]
        cells = enumerate(zip(shown, widths, strict=True))
        parts.append(_table([f"<td>p({n})</td><td>{p:.3f}</td><td>{width}</td>" for n, (p, width) in cells]))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{''.join(parts)}<p>In the lab: <code>{escape(link)}</code></p></body></html>\n"
    )


def as_html(part: Component | str | Sequence[Component | str] | None) -> str:
    """A component of Dash as HTML text."""
    if part is None:
        return ""
    if isinstance(part, str):
        return escape(part)
    if isinstance(part, Component):
        tag, name = type(part).__name__.lower(), getattr(part, "className", "")
        kind = f' class="{escape(name)}"' if name else ""
        return f"<{tag}{kind}>{as_html(getattr(part, 'children', None))}</{tag}>"
    return "".join(as_html(child) for child in part)


def _table(rows: Sequence[str]) -> str:
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
