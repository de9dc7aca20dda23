"""Throughput over depth against the data sheet.

Course report 001 measured a drive whose data sheet promises 400,000 reads and 118,000 writes a second.
`qsim show --dataset 001-ssd --datasheet read=400k,write=118k --report page.html` draws the promises as lines.
"""

import plotly.graph_objects as go

from calibrate.report.measured import DataSheet, published, views_of, with_sheet


def figure() -> go.Figure:
    """The curves of two block sizes and three mixes below the lines of the sheet."""
    data = published("001-ssd")
    views = with_sheet(data, views_of(data, {}), DataSheet(read_per_s=400e3, write_per_s=118e3))
    return next(view.figure.to_plotly() for view in views if view.name == "throughput-against-load")


if __name__ == "__main__":
    figure().show()
