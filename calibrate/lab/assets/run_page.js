/* The page Run: asks for news, draws them, and lets a guess be drawn into the plot. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};

(function (lab) {
  "use strict";

  const OUTPUTS = 14;
  let news = 0;
  const BUTTONS = { "run-open": ["", "open", "stopped", "failed", "measured", "revealed"],
                    "run-start": ["open", "stopped", "failed"], "run-stop": ["running"], "run-reveal": ["measured"] };
  const NEXT = { "": "run-open", open: "run-start", stopped: "run-start", failed: "run-start", running: "run-stop",
                 measured: "run-reveal", revealed: "run-open" };

  /* The teacher's buttons are not there for the class, so they are no outputs of the callback. What comes next stands
     out. */
  function enable(state) {
    if (!document.getElementById("run-start")) { return; }
    const set = window.dash_clientside.set_props;
    for (const [id, phases] of Object.entries(BUTTONS)) {
      set(id, { disabled: !phases.includes(state.phase), className: NEXT[state.phase] === id ? "step next" : "step" });
    }
    const again = state.phase === "stopped" || state.phase === "failed";
    set("run-start", { children: again ? "Resume" : "Start measuring" });
    const names = state.guesses.map((g) => ({ label: lab.named(state, g.name) + ", " + g.at.slice(11, 19), value: g.seq }));
    set("run-removing", { hidden: state.phase !== "open" || !names.length });
    set("run-culprit", { options: names });
  }

  /* Pressing into the plot, and moving while pressed, puts the guess there. */
  function drawable() {
    const plot = document.querySelector("#run-throughput > div");
    if (!plot || plot.dataset.drawable) { return; }
    plot.dataset.drawable = "yes";
    let pressed = false;
    const put = (event) => {
      if (lab.state.phase !== "open" || !plot._fullLayout) { return; }
      const axis = plot._fullLayout.xaxis;
      const place = event.clientX - plot.getBoundingClientRect().left - axis._offset;
      if (place >= 0 && place <= axis._length) {
        const load = Math.min(1000, Math.max(1, lab.loadAt(lab.state, axis.p2d(place))));
        window.dash_clientside.set_props("run-knee", { value: Number(load.toPrecision(3)) });
      }
    };
    plot.addEventListener("pointerdown", (event) => { pressed = true; put(event); }, true);
    window.addEventListener("pointermove", (event) => { if (pressed) { put(event); } }, true);
    window.addEventListener("pointerup", () => { pressed = false; }, true);
  }

  function stands(state, mine) {
    return Boolean(mine && mine.run === state.run && state.guesses.some((g) => g.name === mine.name));
  }

  /* What this browser sealed, also after a reload; nothing once another run is open or the teacher took it back. */
  let known = null;
  function remind(state, mine) {
    const own = stands(state, mine) ? "You sealed " + mine.knee + " as " + mine.name + "." : "";
    const said = document.getElementById("run-sealed").innerText;
    const gone = !own && said.startsWith("You sealed");
    if (known !== null && known !== state.run || own && !said || gone && state.phase !== "") {
      window.dash_clientside.set_props("run-sealed", { children: own, className: "good" });
    }
    known = state.run;
  }

  /* Dash drops what a callback gives once a later call of it has begun, so a callback that waits for a slow answer would
     show nothing as long as answers take longer than a tick. This one only asks; news are drawn by another. */
  window.dash_clientside.lab.ask = function () {
    lab.poll().then((changed) => {
      if (changed && document.getElementById("run-status")) {
        news += 1;
        window.dash_clientside.set_props("run-news", { data: news });
      }
    });
  };
  if (window.location.pathname === "/run") { /* the first answer comes with the page */
    document.addEventListener("DOMContentLoaded", window.dash_clientside.lab.ask);
  }

  window.dash_clientside.lab.run = function (_news, theme, knee, mine) {
    if (!lab.heard) { return Array(OUTPUTS).fill(window.dash_clientside.no_update); }
    const state = lab.state, open = state.phase === "open";
    enable(state);
    remind(state, mine);
    const count = state.guesses.length;
    const name = state.opened ? state.opened.load_name : "load";
    if (state.run) { lab.draw("run-throughput", lab.throughputFigure(state, mine, knee, theme)); }
    if (lab.shown(state).length) { lab.draw("run-latency", lab.latencyFigure(state, theme)); }
    drawable();
    return [
      !state.run, !lab.shown(state).length, state.phase !== "revealed", !open, !(open && stands(state, mine)),
      [lab.part("Span", lab.title(state), { className: "what" }), lab.part("Span", lab.status(state))],
      lab.results(state), lab.below(state), lab.guessList(state), count + (count === 1 ? " guess is" : " guesses are") + " sealed",
      "Guess (" + name + ")", state.opened ? state.opened.question : "", state.opened ? state.opened.rule : "",
      String(state.opened ? Math.max(lab.measured(state) / state.opened.loads.length, state.progress.share || 0) : 0),
    ];
  };
})(window.qsimLab);
