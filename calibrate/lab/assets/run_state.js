/* What this browser knows of the current run: the events of the lab's log, folded in their order. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  function empty(run) {
    return { run: run, next: 0, phase: "", opened: null, points: [], guesses: [], sealed: null, revealed: null,
             why: "", progress: {} };
  }

  lab.state = empty("");

  function fold(state, event) {
    if (event.kind === "opened") { state.opened = event; }
    else if (event.kind === "guess") { state.guesses.push(event); }
    else if (event.kind === "point") { state.points.push(event); }
    else if (event.kind === "sealed") { state.sealed = event; }
    else if (event.kind === "revealed") { state.revealed = event; }
    else if (event.kind === "stopped" || event.kind === "failed") { state.why = event.why || ""; }
    state.next = event.seq + 1;
  }

  let asking = false;

  /* Ask for what is new; true where anything changed. */
  lab.poll = async function () {
    if (asking) { return false; }
    asking = true;
    try {
      const known = lab.state;
      const query = "/lab/events?run=" + encodeURIComponent(known.run) + "&first=" + known.next;
      const answer = await fetch(query, { cache: "no-store" });
      if (!answer.ok) { throw new Error("status " + answer.status); }
      const told = await answer.json();
      const changed = told.run !== known.run || told.phase !== known.phase || told.events.length > 0 ||
        JSON.stringify(told.progress) !== JSON.stringify(known.progress) || known.lost;
      if (told.run !== known.run) { lab.state = empty(told.run); }
      for (const event of told.events) {
        if (event.seq === lab.state.next) { fold(lab.state, event); }
      }
      lab.state.phase = told.phase;
      lab.state.progress = told.progress;
      lab.state.trouble = told.trouble;
      lab.state.lost = false;
      return changed;
    } catch (error) {
      const before = lab.state.lost;
      lab.state.lost = true;
      return !before;
    } finally {
      asking = false;
    }
  };

  lab.status = function (state) {
    if (state.lost) { return "The lab does not answer. Trying again …"; }
    if (!state.run) { return "No run yet: the teacher opens one."; }
    const count = new Set(state.points.map((p) => p.load)).size + " of " + state.opened.loads.length + " points";
    const label = state.opened.label + " (run " + state.run + "): ";
    if (state.phase === "open") { return label + "open for guesses."; }
    if (state.phase === "running") {
      const left = state.progress.seconds_left > 0 ? ", about " + Math.ceil(state.progress.seconds_left) + " s left" : "";
      return label + count + "; " + (state.progress.text || "measuring") + left + ".";
    }
    if (state.phase === "stopped") { return label + "stopped with " + count + (state.why ? ": " + state.why : "") + ". Start goes on."; }
    if (state.phase === "failed") { return label + "failed with " + count + ": " + (state.trouble || state.why); }
    if (state.phase === "measured") { return label + "all measured. Ready to reveal."; }
    return label + "revealed.";
  };
})(window.qsimLab);
