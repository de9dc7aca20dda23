"""What browsers fetch besides the page: the events of the current run; of a revealed one the guesses and the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Flask, Response, jsonify, request, send_file

from calibrate.lab.run.session import RunTable

EVENTS_AT, GUESSES_AT, REPORT_AT = "/lab/events", "/lab/guesses.csv", "/lab/report"
LONGEST = 10
COLUMNS = ("rank", "name", "knee", "knee_error_pct", "inside", "state", "made_at")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would take for a formula."""


def guesses_csv(leaderboard: Sequence[Mapping[str, Any]]) -> str:
    """The leaderboard as a CSV table; a name that a spreadsheet would work out is quoted for it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in leaderboard:
        name = str(row["name"])
        table.writerow([f"'{name}" if c == "name" and name.startswith(FORMULA) else row[c] for c in COLUMNS])
    return text.getvalue()


def register(server: Flask, table: RunTable) -> None:
    """Add the addresses."""

    def events() -> Response:
        first = request.args.get("first", "0")
        answer = jsonify(
            table.told(request.args.get("run", ""), int(first) if first.isdecimal() and len(first) < LONGEST else 0)
        )
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def guesses() -> Response:
        run = table.current
        revealed = None if run is None else run.revealed
        if run is None or revealed is None:
            return Response("guesses are sealed until the reveal\n", 404, mimetype="text/plain")
        answer = Response(guesses_csv(revealed["leaderboard"]), mimetype="text/csv")
        answer.headers["Content-Disposition"] = f"attachment; filename=qsim-run-{run.name}-guesses.csv"
        return answer

    def report() -> Response:
        run = table.current
        path = None if run is None else run.report
        if run is None or path is None:
            return Response("there is no report yet: it comes with the reveal\n", 404, mimetype="text/plain")
        # An attachment: a page of measured names must not run in the lab's own origin.
        return send_file(path, "text/html", as_attachment=True, download_name=f"qsim-run-{run.name}.html")

    server.add_url_rule(EVENTS_AT, "lab-events", events)
    server.add_url_rule(GUESSES_AT, "lab-guesses", guesses)
    server.add_url_rule(REPORT_AT, "lab-report", report)
