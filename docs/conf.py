"""The site of these pages: ``make site`` builds it into build/site; nothing in it is fetched from a network.

``make slides`` builds slides of the pages that a course is made of, with the tag ``slides``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from doctools.gallery import write_gallery  # noqa: E402
from doctools.site import add_mathml, inside, write_changes, write_commands, write_labs  # noqa: E402
from doctools.slides import CONFIG, part_slides  # noqa: E402

project = "qsim"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["doctools", "data"]
highlight_language = "text"
smartquotes = False  # they would make a dash of the two in --json
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]  # as GitHub typesets it
html_math_renderer = "mathml"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # those of arrays fill a line
html_static_path = ["_static", "gallery/static"]

if tags.has("slides"):  # type: ignore[name-defined] # noqa: F821 - Sphinx puts it here
    extensions += ["sphinx_revealjs"]
    globals().update(CONFIG)
else:
    extensions += ["sphinx_external_toc", "sphinx_copybutton"]
    external_toc_path = "_toc.yml"
    copybutton_prompt_text = r">>> |\.\.\. |\$ "
    copybutton_prompt_is_regexp = True
    html_theme = "furo"
    html_title = "qsim"
    html_show_copyright = False
    html_css_files = ["site.css"]


def setup(app: Any) -> None:
    """Write the pages that are made of other files, and mend links that leave the folder of the pages."""
    write_gallery(DOCS.parent / "examples" / "gallery", DOCS / "gallery")
    write_changes(DOCS.parent / "CHANGELOG.md", DOCS / "changes.md")
    write_commands(DOCS / "commands.md")
    write_labs(DOCS.parent / "examples" / "labs", DOCS / "labs")
    add_mathml(app)
    app.connect("source-read", lambda _app, _name, text: text.__setitem__(0, inside(text[0])))
    if app.tags.has("slides"):
        app.connect("doctree-resolved", part_slides)
