/* The queue that moves: requests of one sample path arrive from the left, wait, and are served on the right. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};

(function () {
  "use strict";

  const SECONDS = 45; // how long the whole path takes to play
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  const state = { path: null, time: 0, playing: true, frame: 0, last: 0, clicks: 0 };

  function style(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function draw(canvas) {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const path = state.path, t = state.time;
    const rows = Math.min(path.servers, 8), gap = (height - 34) / rows;
    const radius = Math.max(6, Math.min(15, gap / 2 - 6));
    const desk = width - 4 * radius - 10, text = style("--text"), edge = style("--weak");
    const middle = 8 + (height - 34) / 2;
    let waiting = 0, present = 0;

    pen.lineWidth = 2;
    pen.strokeStyle = edge;
    for (let s = 0; s < rows; s++) {
      pen.strokeRect(desk - radius - 4, 8 + s * gap + gap / 2 - radius - 3, 2 * radius + 8, 2 * radius + 6);
    }
    for (let i = 0; i < path.arrival.length; i++) {
      if (path.arrival[i] > t || path.finish[i] <= t) { continue; }
      present += 1;
      let x = desk, y = 8 + (path.server[i] % rows) * gap + gap / 2;
      if (path.start[i] > t) {
        waiting += 1;
        x = desk - radius * 2 - 14 - waiting * (2 * radius + 4) + 2 * radius;
        y = middle;
        if (x < 2 * radius) { continue; }
      } else {
        const share = (t - path.start[i]) / (path.finish[i] - path.start[i] || 1);
        pen.fillStyle = edge;
        pen.fillRect(desk - radius - 4, y + radius + 4, (2 * radius + 8) * share, 3);
      }
      pen.beginPath();
      pen.fillStyle = COLOURS[i % COLOURS.length];
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.fillStyle = text;
    pen.font = "16px system-ui, sans-serif";
    pen.fillText("t = " + t.toFixed(1) + "   present N = " + present + "   waiting " + waiting, 8, height - 8);
    canvas.dataset.time = t.toFixed(3);
    canvas.dataset.present = String(present);
  }

  function step(now) {
    const canvas = document.getElementById("explore-queue");
    if (!canvas || !state.path) { state.frame = 0; return; }
    const end = state.path.arrival[state.path.arrival.length - 1] || 1;
    if (state.playing) {
      state.time += Math.min(0.1, (now - state.last) / 1000) * end / SECONDS;
      if (state.time > end) { state.time = 0; }
    }
    state.last = now;
    draw(canvas);
    state.frame = window.requestAnimationFrame(step);
  }

  window.dash_clientside.lab.animate = function (path, clicks) {
    if (path !== state.path) { state.path = path; state.time = 0; }
    const still = window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    state.playing = (clicks || 0) % 2 === (still ? 1 : 0);
    if (path && !state.frame) {
      state.last = performance.now();
      state.frame = window.requestAnimationFrame(step);
    }
    return [clicks || 0, state.playing ? "Pause" : "Play"];
  };
})();
