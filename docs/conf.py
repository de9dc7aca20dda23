"""The site of these pages: ``make site`` builds it into build/site; nothing in it is fetched from a network."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from doctools.api_reference import api_in_full  # noqa: E402
from doctools.gallery import write_gallery  # noqa: E402
from doctools.site import inside, write_changes, write_labs  # noqa: E402

project = "qsim"
extensions = ["myst_parser", "sphinx_external_toc", "sphinx_copybutton"]
exclude_patterns = ["doctools", "data"]
external_toc_path = "_toc.yml"
myst_heading_anchors = 4
highlight_language = "text"
smartquotes = False  # they would make a dash of the two in --json
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "qsim"
html_static_path = ["_static", "gallery/static"]
html_show_copyright = False
html_css_files = ["site.css"]


def setup(app: object) -> None:
    """Write the pages that are made of other files, and mend links that leave the folder of the pages."""
    write_gallery(DOCS.parent / "examples" / "gallery", DOCS / "gallery")
    write_changes(DOCS.parent / "CHANGELOG.md", DOCS / "changes.md")
    (DOCS / "api.md").write_text(api_in_full(), encoding="utf-8")
    write_labs(DOCS.parent / "examples" / "labs", DOCS / "labs")
    app.connect("source-read", lambda _app, _name, text: text.__setitem__(0, inside(text[0])))  # type: ignore[attr-defined]
