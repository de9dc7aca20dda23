"""What was measured, as tables and plots: the views of one Sweep.

``measured(sweep)`` or ``published(name)`` gives a ``MeasuredData``; ``fits_of`` the models of its knees; ``views_of``
its views; ``section_of`` a section that :func:`calibrate.report.page.write_sections` writes.
"""

from __future__ import annotations

from calibrate.report.measured.latencies import latency_section, published_latencies
from calibrate.report.measured.points import MeasuredData, measured, published
from calibrate.report.measured.sheet import DataSheet, sheet_lines, with_sheet
from calibrate.report.measured.views import fits_of, section_of, views_of

__all__ = [
    "DataSheet",
    "MeasuredData",
    "fits_of",
    "latency_section",
    "measured",
    "published",
    "published_latencies",
    "section_of",
    "sheet_lines",
    "views_of",
    "with_sheet",
]
