/* What is revealed: the verdict, the leaderboard, the residuals, the audit. Text is text: nothing here is HTML. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  lab.part = function (type, children, props) {
    return { namespace: type === "Graph" ? "dash_core_components" : "dash_html_components", type: type,
             props: Object.assign(children === undefined ? {} : { children: children }, props || {}) };
  };

  const percent = (value) => (value === null || value === undefined ? "" : value.toPrecision(3) + " %");

  function leaderboard(result) {
    const part = lab.part;
    if (!result.leaderboard.length) { return [part("P", result.no_leaderboard)]; }
    const head = part("Thead", part("Tr", ["", "who", "knee", "error", "in interval"].map((t) => part("Th", t))));
    const rows = result.leaderboard.map((row) => part("Tr", [
      part("Td", row.rank === null ? "" : String(row.rank)),
      part("Td", row.name.startsWith("qsim (") ? "the model (qsim)" : row.name, { className: "name" }),
      part("Td", row.knee === null ? row.state : row.knee.toPrecision(3)),
      part("Td", percent(row.knee_error_pct)),
      part("Td", row.inside ? "✓" : ""),
    ]));
    return [part("Table", [head, part("Tbody", rows)], { className: "leaderboard", id: "run-leaderboard" })];
  }

  lab.results = function (state) {
    const part = lab.part, result = state.revealed;
    if (!result) { return []; }
    return [
      part("H3", "Who came closest"),
      part("Div", leaderboard(result), { className: "board" }),
      part("P", result.verdict, { id: "run-verdict" }),
    ];
  };

  lab.details = function (state, theme) {
    const part = lab.part, result = state.revealed;
    if (!result) { return []; }
    const audit = result.audit.map((f) => part("Li", f.text, { className: f.severity }));
    return [
      part("H3", "What the sealed prediction missed"),
      part("P", "Filled: points that it had not seen. Open: those that it was calibrated on.", { className: "weak" }),
      part("Div", part("Graph", undefined, { figure: lab.residualFigure(state, theme), responsive: true,
        id: "run-residuals", config: { displaylogo: false, displayModeBar: false } }), { className: "chart" }),
      part("H3", "What the data say against themselves"),
      part("Ul", audit.length ? audit : [part("Li", "Nothing: they obey Little's law.")], { id: "run-audit" }),
    ];
  };

  lab.guessList = function (state) {
    return state.guesses.map((g) => lab.part("Li", [g.name + " ", lab.part("Code", g.commitment.slice(0, 12))]));
  };
})(window.qsimLab);
