"""What was measured, as tables and plots: the views of one Sweep.

``measured(sweep)`` or ``published(name)`` gives a ``MeasuredData``; ``fits_of`` the models of its knees; ``views_of``
its views; ``section_of`` a section that :func:`calibrate.report.page.write_sections` writes.
"""

from __future__ import annotations

from calibrate.report.measured.latencies_alone import latency_section, published_latencies
from calibrate.report.measured.measured_data import MeasuredData, measured, published
from calibrate.report.measured.measured_views import fits_of, section_of, views_of
from calibrate.report.measured.sheet import DataSheet, sheet_lines, with_sheet

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
