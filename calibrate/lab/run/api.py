"""What browsers fetch besides the page: the events of the current run, and the report of a revealed one."""

from __future__ import annotations

from flask import Flask, Response, jsonify, request, send_file

from calibrate.lab.run.table import Table

EVENTS_AT, REPORT_AT = "/lab/events", "/lab/report"
LONGEST = 10


def register(server: Flask, table: Table) -> None:
    """Add both addresses."""

    def events() -> Response:
        first = request.args.get("first", "0")
        answer = jsonify(
            table.told(request.args.get("run", ""), int(first) if first.isdecimal() and len(first) < LONGEST else 0)
        )
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def report() -> Response:
        run = table.current
        path = None if run is None else run.report
        if run is None or path is None:
            return Response("there is no report yet: it comes with the reveal\n", 404, mimetype="text/plain")
        # An attachment: a page of measured names must not run in the lab's own origin.
        return send_file(path, "text/html", as_attachment=True, download_name=f"qsim-run-{run.name}.html")

    server.add_url_rule(EVENTS_AT, "lab-events", events)
    server.add_url_rule(REPORT_AT, "lab-report", report)
