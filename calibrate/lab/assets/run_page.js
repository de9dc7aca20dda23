/* The page Run: polls, draws, and lets a guess be drawn into the plot. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};

(function (lab) {
  "use strict";

  const OUTPUTS = 9;
  const BUTTONS = { "run-start": ["open", "stopped", "failed"], "run-stop": ["running"], "run-reveal": ["measured"] };

  /* The teacher's buttons are not there for the class, so they are no outputs of the callback. */
  function enable(state) {
    for (const [id, phases] of Object.entries(BUTTONS)) {
      if (document.getElementById(id)) {
        window.dash_clientside.set_props(id, { disabled: !phases.includes(state.phase) });
      }
    }
    if (document.getElementById("run-start")) {
      const again = state.phase === "stopped" || state.phase === "failed";
      window.dash_clientside.set_props("run-start", { children: again ? "Resume" : "Start measuring" });
    }
  }

  /* Pressing into the plot, and moving while pressed, puts the knee there. */
  function drawable() {
    const plot = document.querySelector("#run-throughput .js-plotly-plot");
    if (!plot || plot.dataset.drawable) { return; }
    plot.dataset.drawable = "yes";
    let pressed = false;
    const put = (event) => {
      if (lab.state.phase !== "open" || !plot._fullLayout) { return; }
      const axis = plot._fullLayout.xaxis;
      const place = event.clientX - plot.getBoundingClientRect().left - axis._offset;
      if (place >= 0 && place <= axis._length) {
        window.dash_clientside.set_props("run-knee", { value: Number(axis.p2d(place).toPrecision(3)) });
      }
    };
    plot.addEventListener("pointerdown", (event) => { pressed = true; put(event); }, true);
    window.addEventListener("pointermove", (event) => { if (pressed) { put(event); } }, true);
    window.addEventListener("pointerup", () => { pressed = false; }, true);
  }

  /* What this browser sealed, also after a reload; nothing once another run is open. */
  let told = null;
  function remind(state, mine) {
    const own = mine && mine.run === state.run ? "You sealed " + mine.knee + " as " + mine.name + "." : "";
    if (told !== null && told !== state.run || own && !document.getElementById("run-sealed").innerText) {
      window.dash_clientside.set_props("run-sealed", { children: own, className: "good" });
    }
    told = state.run;
  }

  window.dash_clientside.lab.run = async function (tick, theme, knee, mine) {
    const ticked = window.dash_clientside.callback_context.triggered_id === "run-tick";
    const changed = await lab.poll();
    drawable();
    if (ticked && !changed) { return Array(OUTPUTS).fill(window.dash_clientside.no_update); }
    const state = lab.state;
    enable(state);
    remind(state, mine);
    const count = state.guesses.length;
    const name = state.opened ? state.opened.load_name : "load";
    return [
      lab.throughputFigure(state, mine, knee, theme), lab.latencyFigure(state, theme), lab.status(state),
      lab.results(state, theme), lab.guessList(state), count + (count === 1 ? " guess is" : " guesses are") + " sealed",
      state.phase !== "revealed", state.phase !== "open", "Knee (" + name + ")",
    ];
  };
})(window.qsimLab);
