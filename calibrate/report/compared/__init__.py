"""The section of a report on a comparison: the curves, the errors, and the evidence behind them."""

from calibrate.report.compared.curve_views import compared_section, views_of

__all__ = ["compared_section", "views_of"]
