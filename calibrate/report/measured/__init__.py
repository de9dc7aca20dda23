"""What was measured, as tables and plots, without a model of it: the views of one Sweep and of several together.

``measured(sweep)`` or ``published(name)`` gives a ``Measured``; ``views_of`` its views; ``section_of`` a section that
:func:`calibrate.report.page.write_sections` writes with comparisons or alone.
"""

from __future__ import annotations

from calibrate.report.measured.points import MeasuredData, measured, published
from calibrate.report.measured.tables import shown
from calibrate.report.measured.views import section_of, together, views_of
from calibrate.report.view import FormattedTable, Section, View

__all__ = [
    "FormattedTable",
    "MeasuredData",
    "Section",
    "View",
    "measured",
    "published",
    "section_of",
    "shown",
    "together",
    "views_of",
]
