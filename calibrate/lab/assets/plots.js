/* Plots that the page draws itself. plotly is fetched when the first one is wanted: the rest of the page comes without. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  const CONFIG = { displaylogo: false, displayModeBar: false };
  const wanted = new Map(), followed = new WeakSet();
  let fetched = null;

  function plotly() {
    fetched = fetched || (window.Plotly ? Promise.resolve() : new Promise((done, failed) => {
      const script = document.createElement("script");
      script.onload = done;
      script.onerror = () => { fetched = null; failed(new Error("the plots cannot be fetched")); };
      script.src = window._dashPlotlyJSURL;
      document.body.appendChild(script);
    }));
    return fetched;
  }

  /* Draw what has a place that is shown; a place that is still to come is looked for again in the next frame. */
  function put() {
    for (const [id, figure] of wanted) {
      const place = document.querySelector("#" + id + " > div");
      if (!place || !place.offsetWidth) { continue; }
      wanted.delete(id);
      window.Plotly.react(place, figure.data, figure.layout, CONFIG);
      if (!followed.has(place)) {
        followed.add(place);
        new ResizeObserver(() => { if (place.offsetWidth) { window.Plotly.Plots.resize(place); } }).observe(place);
      }
    }
    if (!document.getElementById("run-status")) { wanted.clear(); }
    if (wanted.size) { window.requestAnimationFrame(put); }
  }

  lab.draw = function (id, figure) {
    wanted.set(id, figure);
    plotly().then(() => window.requestAnimationFrame(put));
  };
})(window.qsimLab);
