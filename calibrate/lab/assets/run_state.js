/* What this browser knows of the current run: the events of the lab's log, folded in their order. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  function empty(run) {
    return { run: run, next: 0, phase: "", opened: null, points: [], guesses: [], sealed: null, revealed: null,
             why: "", progress: {} };
  }

  lab.state = empty("");
  lab.heard = false; /* whether the lab has answered, or failed to, since the page was loaded */

  function fold(state, event) {
    if (event.kind === "opened") { state.opened = event; }
    else if (event.kind === "guess") { state.guesses.push(event); }
    else if (event.kind === "taken_back") {
      state.guesses = state.guesses.filter((g) => g.commitment !== event.commitment);
    }
    else if (event.kind === "point") { state.points.push(event); }
    else if (event.kind === "sealed") { state.sealed = event; }
    else if (event.kind === "revealed") { state.revealed = event; }
    else if (event.kind === "stopped" || event.kind === "failed") { state.why = event.why || ""; }
    state.next = event.seq + 1;
  }

  const PATIENCE_MS = 10000; /* a question that was lost on the way is asked again */
  let asking = false;

  /* Ask for what is new; true where anything changed. */
  lab.poll = async function () {
    if (asking) { return false; }
    asking = true;
    try {
      const known = lab.state;
      const query = "/lab/events?run=" + encodeURIComponent(known.run) + "&first=" + known.next;
      const answer = await fetch(query, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) { throw new Error("status " + answer.status); }
      const news = await answer.json();
      const changed = !lab.heard || news.run !== known.run || news.phase !== known.phase || news.events.length > 0 ||
        JSON.stringify(news.progress) !== JSON.stringify(known.progress) || known.lost;
      if (news.run !== known.run) { lab.state = empty(news.run); }
      for (const event of news.events) {
        if (event.seq === lab.state.next) { fold(lab.state, event); }
      }
      lab.state.phase = news.phase;
      lab.state.progress = news.progress;
      lab.state.trouble = news.trouble;
      lab.state.lost = false;
      return changed;
    } catch (error) {
      const changed = !lab.heard || !lab.state.lost;
      lab.state.lost = true;
      return changed;
    } finally {
      lab.heard = true;
      asking = false;
    }
  };

  /* The points that run or ran, but are not printed yet: throughput by the kernel's counters, latency by Little's law. */
  lab.running = function (state) {
    const printed = new Set(state.points.map((p) => p.load));
    return (state.progress.running || []).filter(([load]) => !printed.has(load))
      .map(([load, rate]) => ({ load: load, throughput_per_s: rate, latency_s: load / rate }));
  };
  lab.shown = function (state) { return state.points.concat(lab.running(state)); };

  lab.measured = function (state) { return new Set(state.points.map((p) => p.load)).size; };

  function left(seconds) {
    if (!(seconds > 0)) { return ""; }
    return seconds < 100 ? ", about " + Math.ceil(seconds) + " s left" : ", about " + Math.round(seconds / 60) + " min left";
  }

  /* Whether somebody else's name looks like this one. */
  lab.hasDouble = function (state, name) {
    const own = state.guesses.find((g) => g.name === name);
    return Boolean(own && own.looks && state.guesses.some((g) => g !== own && g.looks === own.looks));
  };

  /* A name; where another looks like it that is said, with the letters that a reader cannot tell from Latin ones. */
  lab.named = function (state, name) {
    if (!lab.hasDouble(state, name)) { return name; }
    const letters = [...name].filter((c) => c > "\x7f");
    const codes = letters.map((c) => c + " is U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
    return name + " (" + ["looks like another name", ...codes].join("; ") + ")";
  };

  /* What is going on, in one line. */
  lab.status = function (state) {
    if (state.lost) { return "The lab does not answer. Trying again …"; }
    if (!state.run) {
      return document.getElementById("run-open") ? "No run yet. Choose a device and open a new run."
        : "No run yet. The teacher opens one; this page follows by itself.";
    }
    const all = state.opened.loads.length, done = lab.measured(state), count = done + " of " + all + " points";
    if (state.phase === "open") { return "Open for guesses."; }
    if (state.phase === "running") {
      const doing = state.progress.text || "measuring";
      const running = lab.running(state).length;
      if (done >= all) { return "All " + all + " points measured; " + doing + "."; }
      return "Measuring point " + (done + Math.max(1, running)) + " of " + all + " (" + doing + ")" + left(state.progress.seconds_left) + ".";
    }
    if (state.phase === "stopped") { return "Stopped with " + count + (state.why ? ": " + state.why : "") + ". Resume goes on."; }
    if (state.phase === "failed") { return "Failed with " + count + ": " + (state.trouble || state.why); }
    if (state.phase === "measured") { return "All " + all + " points measured. Ready to reveal."; }
    return "Revealed.";
  };

  lab.title = function (state) { return state.run ? "Run " + state.run + ": " + state.opened.label : ""; };
})(window.qsimLab);
