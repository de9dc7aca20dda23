/* What every part of the page has: its look, names for those who hear it, and the link to copy. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  /* Light or dark as the reader's system has it, large type where the screen is wide, until the reader says otherwise.
     Stored as words: "dark", "light wide", "light large". What was asked to be larger hides the controls too. */
  const WIDE = 1600;

  lab.isDark = function (look) { return String(look).split(" ").includes("dark"); };
  lab.isLarge = function (look) { return / (large|wide)$/.test(String(look)); };

  function preferred() {
    const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
    return (dark ? "dark" : "light") + (window.innerWidth >= WIDE ? " wide" : "");
  }

  window.dash_clientside.lab.theme = function (themeClicks, sizeClicks, stored) {
    const known = /^(dark|light)( large| wide)?$/.test(stored) ? stored : preferred();
    const pressed = window.dash_clientside.callback_context.triggered_id;
    const dark = lab.isDark(known) !== (pressed === "theme-toggle" && themeClicks > 0);
    const large = known.endsWith(" large") !== (pressed === "size-toggle" && sizeClicks > 0);
    const look = (dark ? "dark" : "light") + (large ? " large" : window.innerWidth >= WIDE ? " wide" : "");
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.dataset.size = lab.isLarge(look) ? "large" : "normal";
    document.documentElement.dataset.controls = large ? "hidden" : "shown";
    return [look, dark ? "Light" : "Dark", large ? "Smaller" : "Larger"];
  };

  /* A box and its slider show one number: the box's, unless the slider was moved. A number out of the slider's range
     widens it. What was set stays while the browser is open, unless a link opened the page. */
  function widened(value, [low, high, step]) {
    const size = 10 ** Math.floor(Math.log10(Math.abs(value) || 1)), whole = step === 1;
    if (value > high) { return [low, 2 * value, whole ? step : Math.max(step, size / 100)]; }
    if (value > 0 && value < low && !whole) { return [size / 10, high, size / 10]; }
    return [low, high, step];
  }

  window.dash_clientside.lab.follow = function (typed, moved, range, kept, id) {
    const same = window.dash_clientside.no_update, changed = window.dash_clientside.callback_context.triggered_id;
    const stored = kept && changed === undefined && window.sessionStorage.getItem(id);
    const value = changed === id + "-slider" ? moved : stored ? Number(stored) : typed;
    if (typeof value !== "number") { return [same, same, same, same, same]; }
    if (kept) { window.sessionStorage.setItem(id, String(value)); }
    if (changed === id + "-slider") { return [value, same, same, same, same]; }
    return [stored ? value : same, value, ...widened(value, range)];
  };

  /* Sliders and number boxes carry the name of their row. */
  function label() {
    for (const row of document.querySelectorAll(".control[aria-label]")) {
      for (const part of row.querySelectorAll("[role=slider], input")) {
        if (!part.hasAttribute("aria-label")) { part.setAttribute("aria-label", row.getAttribute("aria-label")); }
      }
    }
  }

  /* Plots say what they show: each curve by its name, with the range of its values. */
  function described(plot) {
    const number = (value) => String(Number(value.toPrecision(3)));
    return plot.data.map((trace) => {
      const values = Array.from(trace.y || []).filter(Number.isFinite);
      if (!trace.name || !values.length || trace.fill) { return ""; }
      const low = number(Math.min(...values)), high = number(Math.max(...values));
      return trace.name + " " + (low === high ? low : low + " to " + high);
    }).filter(Boolean).join("; ");
  }

  let waiting = 0;
  function describe() {
    waiting = 0;
    for (const chart of document.querySelectorAll(".chart[aria-label]")) {
      const plot = chart.querySelector(".js-plotly-plot");
      if (!plot || !plot.data) { continue; }
      chart.dataset.what = chart.dataset.what || chart.getAttribute("aria-label");
      const axis = plot.layout && plot.layout.yaxis && plot.layout.yaxis.title;
      chart.setAttribute("aria-label", [chart.dataset.what, axis && axis.text, described(plot)].filter(Boolean).join(": "));
    }
  }

  new MutationObserver(() => { waiting = waiting || window.setTimeout(describe, 300); })
    .observe(document.documentElement, { childList: true, subtree: true });
  new MutationObserver(label).observe(document.documentElement, { childList: true, subtree: true });

  /* Copies what a button says it copies. A lab beyond this machine has no HTTPS, where browsers lend no clipboard. */
  function copied(text) {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.appendChild(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button[data-copy]");
    if (button) { button.textContent = copied(button.dataset.copy) ? "Copied" : "Not copied: select the link"; }
  });
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector("details.joining[open]");
    if (event.key === "Escape" && open) { open.open = false; open.querySelector("summary").focus(); }
  });
})(window.qsimLab);
