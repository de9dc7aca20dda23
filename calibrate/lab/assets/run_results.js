/* What is revealed: the leaderboard, and the outcome in words. Text is text: nothing here is HTML. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  lab.part = function (type, children, props) {
    return { namespace: "dash_html_components", type: type,
             props: Object.assign(children === undefined ? {} : { children: children }, props || {}) };
  };

  function leaderboard(state, result) {
    const part = lab.part;
    const head = part("Thead", part("Tr", ["", "who", "guess", "error"].map((t) => part("Th", t))));
    const rows = result.leaderboard.map((row) => part("Tr", [
      part("Td", row.rank === null ? "" : String(row.rank)),
      part("Td", row.is_model ? lab.MODEL + " the model (qsim)" : lab.PERSON + " " + lab.named(state, row.name), { className: "name" }),
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
      part("Div", leaderboard(state, result), { className: "board" }),
    ];
  };

  /* Of a known queue: each point with the numbers put into the formula. */
  function numbersOf(state) {
    const part = lab.part, points = state.points.filter((p) => p.queue), three = (v) => String(Number(v.toPrecision(3)));
    if (!points.length) { return []; }
    const head = part("Thead", part("Tr", ["λ", "R", "measured: λ (R - S)", "theory"].map((t) => part("Th", t))));
    const rows = points.map((p) => part("Tr", [
      part("Td", three(p.throughput_per_s) + " /s"), part("Td", three(1e3 * p.latency_s) + " ms"),
      part("Td", "Lq = " + three(p.queue.waiting)), part("Td", p.queue.sum, { className: "name" }),
    ]));
    return [part("Table", [head, part("Tbody", rows)], { id: "run-numbers" })];
  }

  /* What stands below the plots. */
  lab.below = function (state) {
    return [...(state.revealed ? [lab.part("P", state.revealed.verdict)] : []), ...numbersOf(state)];
  };

  lab.guessList = function (state) {
    return state.guesses.map((g) => lab.part("Li", [lab.named(state, g.name) + " ", lab.part("Code", g.commitment.slice(0, 12))]));
  };
})(window.qsimLab);
