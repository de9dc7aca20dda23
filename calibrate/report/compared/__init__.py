"""The section of a report on a comparison: the curves, the errors, and the evidence behind them.

``evidence_of(comparison, sweep)`` gathers what is there to be shown, ``views_of`` draws it.
"""

from __future__ import annotations

from calibrate.report.compared.curve_views import Evidence, compared_section, evidence_of, views_of

__all__ = ["Evidence", "compared_section", "evidence_of", "views_of"]
