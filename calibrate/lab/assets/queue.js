/* The queue that moves: requests of one sample path arrive from the left, wait, and are served on the right. In a
   closed system those that think stand on the left. A line in the plot of N(t) says where we are. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  const SECONDS = 60; // how long the whole path takes to play
  const ROWS = 8, THINK_SHARE = 0.22, PAD = 8;
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  const state = { path: null, time: 0, playing: true, frame: 0, last: 0 };

  const style = lab.ink = function (name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  };
  lab.isStill = function () {
    return window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  };

  /* A pen on a canvas whose points are the screen's. */
  const fitted = lab.pen = function (canvas) {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.lineWidth = 2;
    return pen;
  };

  /* Where everything stands: servers in columns of eight on the right, the one that waits first next to them. */
  function plan(path, width, height, font) {
    const rows = Math.min(path.servers, ROWS), columns = Math.ceil(path.servers / ROWS);
    const top = PAD, floor = height - 2 * font, gap = (floor - top) / rows;
    const radius = Math.max(5, Math.min(1.1 * font, gap / 2 - 5, width / 40));
    const step = 2 * radius + 16;
    return {
      radius: radius, middle: top + (floor - top) / 2, floor: floor, top: top,
      left: path.population === null ? PAD + 6 * font : width * THINK_SHARE,
      front: width - PAD - columns * step - radius - 6,
      server: (s) => [width - PAD - step / 2 - (columns - 1 - Math.floor(s / ROWS)) * step, top + (s % ROWS + 0.5) * gap],
    };
  }

  const ball = lab.ball = function (pen, x, y, radius, colour) {
    pen.beginPath();
    if (colour) { pen.fillStyle = colour; }
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
  };

  function thinkers(pen, places, count, width) {
    const radius = Math.max(3, places.radius * 0.6), step = 2 * radius + 5;
    const high = Math.max(1, Math.floor((places.floor - places.top) / step));
    for (let i = 0; i < count; i++) {
      const x = PAD + radius + Math.floor(i / high) * step;
      if (x > width * THINK_SHARE - 3 * radius) { break; }
      pen.beginPath();
      pen.arc(x, places.top + radius + (i % high) * step, radius, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  function draw(canvas) {
    const pen = fitted(canvas), width = canvas.clientWidth, height = canvas.clientHeight;
    const font = parseFloat(getComputedStyle(canvas).fontSize) || 16;
    const path = state.path, t = state.time, places = plan(path, width, height, font), radius = places.radius;
    const text = style("--text"), edge = style("--weak");
    let waiting = 0, served = 0, unseen = 0;
    pen.font = font + "px system-ui, sans-serif";
    pen.strokeStyle = edge;
    for (let s = 0; s < path.servers; s++) {
      const [x, y] = places.server(s);
      pen.strokeRect(x - radius - 4, y - radius - 3, 2 * radius + 8, 2 * radius + 6);
    }
    for (let i = 0; i < path.arrival.length; i++) {
      if (path.arrival[i] > t || path.finish[i] <= t) { continue; }
      if (path.start[i] > t) {
        const x = places.front - waiting * (2 * radius + 4);
        waiting += 1;
        if (x < places.left + 2.5 * font) { unseen += 1; continue; }
        ball(pen, x, places.middle, radius, COLOURS[i % COLOURS.length]);
      } else {
        const [x, y] = places.server(path.server[i]);
        served += 1;
        pen.fillStyle = edge;
        const share = (t - path.start[i]) / (path.finish[i] - path.start[i] || 1);
        pen.fillRect(x - radius - 4, y + radius + 3, (2 * radius + 8) * share, 4);
        ball(pen, x, y, radius, COLOURS[i % COLOURS.length]);
      }
    }
    pen.fillStyle = text;
    if (unseen) { pen.fillText("+" + unseen, places.left, places.middle + font / 3); }
    const said = ["present N = " + (waiting + served), waiting + " waiting", served + " in service"];
    if (path.population === null) {
      if (!unseen) { pen.fillText("arrivals →", PAD, places.middle + font / 3); }
    } else {
      const thinking = path.population - waiting - served;
      thinkers(pen, places, thinking, width);
      said.push(thinking + " thinking");
    }
    pen.fillText(said.join(width > 30 * font ? "    " : "  "), PAD, height - font * 0.5, width - 2 * PAD);
    canvas.dataset.said = said.join(", ");
    canvas.dataset.time = t.toFixed(3);
    canvas.dataset.present = String(waiting + served);
  }

  /* The same moment in the plot of N(t); a line of the page's own, since redrawing a plot is slow. */
  function follow() {
    const plot = document.querySelector("#explore-path .js-plotly-plot"), line = document.getElementById("explore-now");
    const axis = plot && plot._fullLayout && plot._fullLayout.xaxis;
    if (!line || !axis || !axis._length) { return; }
    const place = axis.d2p(state.time);
    line.hidden = !(place >= 0 && place <= axis._length);
    line.style.left = axis._offset + place + "px";
    line.style.top = plot._fullLayout.yaxis._offset + "px";
    line.style.height = plot._fullLayout.yaxis._length + "px";
  }

  function step(now) {
    const canvas = document.getElementById("explore-moving");
    if (!canvas || !state.path) { state.frame = 0; return; }
    const end = state.path.arrival[state.path.arrival.length - 1] || 1;
    if (state.playing) {
      state.time += Math.min(0.1, (now - state.last) / 1000) * end / SECONDS;
      if (state.time > end) { state.time = 0; }
    }
    state.last = now;
    draw(canvas);
    follow();
    state.frame = window.requestAnimationFrame(step);
  }

  window.dash_clientside.lab.animate = function (path, clicks) {
    if (path !== state.path) { state.path = path; state.time = 0; }
    state.playing = (clicks || 0) % 2 === (lab.isStill() ? 1 : 0);
    if (path && !state.frame) {
      state.last = performance.now();
      state.frame = window.requestAnimationFrame(step);
    }
    return [clicks || 0, state.playing ? "Pause" : "Play"];
  };
})(window.qsimLab);
