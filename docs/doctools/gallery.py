"""The gallery: every script of examples/gallery draws one figure; the site shows them all, each with its code.

A script's docstring is the picture's title (its first line) and text; its ``figure()`` returns the plotly figure.
"""

from __future__ import annotations

import html
import importlib.util
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly


@dataclass(frozen=True)
class Picture:
    """One script of the gallery: what it is called, what it shows, how it is drawn."""

    name: str
    title: str
    text: str
    code: str
    figure: Callable[[], Any]


def pictures(folder: Path) -> list[Picture]:
    """The scripts of ``folder`` by name. ValueError for one without a title or a ``figure``."""
    return [_picture(path) for path in sorted(folder.glob("*.py"))]


def write_gallery(scripts: Path, out: Path) -> None:
    """Draw every picture; write its page, and the page that shows them all, into ``out``."""
    static = out / "static"
    shutil.rmtree(out, ignore_errors=True)
    static.mkdir(parents=True)
    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", static / "plotly.min.js")
    shown = pictures(scripts)
    for picture in shown:
        drawing = json.dumps(json.loads(picture.figure().to_json())).replace("</", "<\\/")
        (static / f"{picture.name}.js").write_text(
            f"(window.pictures ||= {{}})[{json.dumps(picture.name)}] = {drawing};\n", encoding="utf-8"
        )
        (out / f"picture-{picture.name}.md").write_text(_page(picture), encoding="utf-8")
    (out / "index.md").write_text(_index(shown), encoding="utf-8")


def _picture(path: Path) -> Picture:
    spec = importlib.util.spec_from_file_location(f"gallery_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    title, _, text = (module.__doc__ or "").strip().partition("\n")
    if not title or not hasattr(module, "figure"):
        raise ValueError(f"{path} needs a docstring with a title, and a function figure()")
    return Picture(path.stem, title.rstrip("."), text.strip(), path.read_text(encoding="utf-8"), module.figure)


def _page(picture: Picture) -> str:
    return f"""# {picture.title}

{picture.text}

{html_block(large(picture.name, picture.title), scripts([picture.name]))}

The picture is interactive; it is drawn by this script (`python examples/gallery/{picture.name}.py` opens it):

```python
{picture.code.strip()}
```
"""


def _index(shown: list[Picture]) -> str:
    cards = "\n".join(
        f'<a class="card" href="picture-{p.name}.html">{_small(p)}<span>{html.escape(p.title)}</span></a>'
        for p in shown
    )
    grid = f'<div class="gallery">\n{cards}\n</div>'
    return f"""# Gallery

Choose a picture to see it large, with its explanation and the few lines of code that draw it.

{html_block(grid, scripts([p.name for p in shown]))}
"""


def html_block(*lines: str) -> str:
    """Lines of HTML as Markdown."""
    body = "\n".join(lines)
    return f"```{{raw}} html\n{body}\n```"


def scripts(names: Sequence[str], static: str = "../_static") -> str:
    """The HTML that draws these pictures on a page from which ``static`` is the folder of the site's own files."""
    sources = ["plotly.min.js", *(f"{name}.js" for name in names), "gallery.js"]
    return "\n".join(f'<script defer src="{static}/{source}"></script>' for source in sources)


def large(name: str, title: str) -> str:
    """The HTML of a picture that fills the page's width."""
    label = html.escape(title, quote=True)
    return f'<div class="figure" data-picture="{name}" role="img" aria-label="{label}"></div>'


def _small(picture: Picture) -> str:
    return f'<div class="figure small" data-picture="{picture.name}" aria-hidden="true"></div>'
