"""Pictures that follow the reader's screen: the colours of a dark one, inside the SVG itself."""

from __future__ import annotations

import re
from html import escape

from calibrate.report.drawing import DARK, INK
from calibrate.report.view import View

WIDTH, TITLE_HEIGHT = 1000, 50

DEFAULT_INKS = ("#444444", "#2a3f5f")
"""What plotly writes in where a figure names no colour."""


def drawn(view: View) -> str:
    """The figure of a view below its title, as SVG with both styles. It needs kaleido, and Chromium or Chrome."""
    import kaleido

    figure = view.figure.to_dict()
    layout = figure["layout"]
    layout["title"] = {"text": escape(view.title), "font": {"size": 20}}
    layout["height"] += TITLE_HEIGHT
    layout["margin"] = {**layout["margin"], "t": layout["margin"]["t"] + TITLE_HEIGHT}
    options = {"format": "svg", "width": WIDTH, "height": layout["height"]}
    return with_dark_colours(kaleido.calc_fig_sync(figure, opts=options, kopts={"mathjax": False}).decode())


def with_dark_colours(svg: str) -> str:
    """The picture with a style for dark screens, which replaces each colour of ``DARK`` by its counterpart."""
    colours = {**DARK, **dict.fromkeys(DEFAULT_INKS, DARK[INK])}
    rules = [
        f'[style*="{kind}: {_rgb(light)}"]{{{kind}:{dark}!important}}'
        for light, dark in colours.items()
        for kind in ("fill", "stroke")
        if f"{kind}: {_rgb(light)}" in svg
    ]
    style = f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
    return re.sub(r"(<svg[^>]*>)", lambda found: found[1] + style, svg, count=1)


def _rgb(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
