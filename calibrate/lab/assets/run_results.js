/* What is revealed: the leaderboard, and the outcome in words. Text is text: nothing here is HTML. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  lab.part = function (type, children, props) {
    return { namespace: "dash_html_components", type: type,
             props: Object.assign(children === undefined ? {} : { children: children }, props || {}) };
  };

  function leaderboard(result) {
    const part = lab.part;
    const head = part("Thead", part("Tr", ["", "who", "guess", "error"].map((t) => part("Th", t))));
    const rows = result.leaderboard.map((row) => part("Tr", [
      part("Td", row.rank === null ? "" : String(row.rank)),
      part("Td", row.is_model ? lab.MODEL + " the model (qsim)" : lab.PERSON + " " + row.name, { className: "name" }),
      part("Td", row.load === null ? "" : String(Number(row.load.toPrecision(3)))),
      part("Td", row.error, { className: "error-of" }),
    ]));
    return [part("Table", [head, part("Tbody", rows)], { className: "leaderboard", id: "run-leaderboard" })];
  }

  lab.results = function (state) {
    const part = lab.part, result = state.revealed;
    if (!result) { return []; }
    return [
      part("P", result.outcome, { id: "run-outcome", className: "outcome" }),
      part("Div", leaderboard(result), { className: "board" }),
    ];
  };

  lab.guessList = function (state) {
    return state.guesses.map((g) => lab.part("Li", [g.name + " ", lab.part("Code", g.commitment.slice(0, 12))]));
  };
})(window.qsimLab);
