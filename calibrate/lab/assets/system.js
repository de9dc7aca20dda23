/* An application that moves: users think, wait for a processor, and wait for the drive. Each move of the stretch is a
   ball that glides to the next place; the place that is full first is coloured, and its frame is thick. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};

(function (lab) {
  "use strict";

  const SECONDS = 40, GLIDE_S = 0.4, NAMES = ["thinking", "at the cpu", "at the drive"], PAD = 8;
  const state = { run: null, time: 0, at: 0, present: [], gliding: [], playing: true, frame: 0, last: 0 };

  function restart() {
    Object.assign(state, { time: 0, at: 0, present: state.run.start.slice(), gliding: [] });
  }

  /* The middle of the n-th ball of a place: columns from the left. */
  function spot(box, n, radius) {
    const rows = Math.max(1, Math.floor(box.height / (2 * radius + 3)));
    return [box.left + radius + 4 + Math.floor(n / rows) * (2 * radius + 3), box.top + radius + 3 + (n % rows) * (2 * radius + 3)];
  }

  function draw(canvas) {
    const pen = lab.pen(canvas), width = canvas.clientWidth, height = canvas.clientHeight;
    const font = parseFloat(getComputedStyle(canvas).fontSize) || 16, count = state.present.length;
    const wide = (width - PAD * (count + 1)) / count, radius = Math.max(3, Math.min(7, wide / 26));
    const boxes = state.present.map((_, i) => ({ left: PAD + i * (wide + PAD), top: PAD, width: wide, height: height - 2.4 * font }));
    const most = boxes.map((b) => Math.floor((b.width - 8) / (2 * radius + 3)) * Math.max(1, Math.floor(b.height / (2 * radius + 3))));
    const said = [];
    pen.font = font + "px system-ui, sans-serif";
    state.present.forEach((present, i) => {
      const box = boxes[i], full = i === state.run.bottleneck, arriving = state.gliding.filter((g) => g.to === i).length;
      pen.strokeStyle = lab.ink(full ? "--here" : "--weak");
      pen.lineWidth = full ? 4 : 1.5;
      pen.strokeRect(box.left, box.top, box.width, box.height);
      pen.fillStyle = lab.ink(full ? "--here" : "--curve");
      for (let n = 0; n < Math.min(present - arriving, most[i]); n++) {
        const [x, y] = spot(box, n, radius);
        lab.ball(pen, x, y, radius);
      }
      pen.fillStyle = lab.ink("--text");
      const words = present + " " + NAMES[i];
      pen.fillText(words + (full && width > 36 * font ? ", full first" : ""), box.left + 2, height - 0.5 * font, box.width);
      said.push(words);
    });
    pen.fillStyle = lab.ink("--simulated");
    for (const glide of state.gliding) {
      const share = 1 - glide.left / GLIDE_S, [x0, y0] = spot(boxes[glide.from], Math.min(glide.place, most[glide.from] - 1), radius);
      const [x1, y1] = spot(boxes[glide.to], Math.min(state.present[glide.to] - 1, most[glide.to] - 1), radius);
      lab.ball(pen, x0 + (x1 - x0) * share, y0 + (y1 - y0) * share, radius);
    }
    canvas.dataset.said = said.join(", ");
    canvas.dataset.time = state.time.toFixed(4);
  }

  function advance(seconds) {
    const times = state.run.times, end = times[times.length - 1] || 1;
    state.time += seconds * end / SECONDS;
    for (const glide of state.gliding) { glide.left -= seconds; }
    state.gliding = state.gliding.filter((g) => g.left > 0);
    while (state.at < times.length && times[state.at] <= state.time) {
      const from = state.run.moves[state.at], to = (from + 1) % state.present.length;
      state.present[from] -= 1;
      state.gliding.push({ from: from, to: to, place: state.present[from], left: GLIDE_S });
      state.present[to] += 1;
      state.at += 1;
    }
    if (state.time >= end) { restart(); }
  }

  function step(now) {
    const canvas = document.getElementById("system-moving");
    if (!canvas || !state.run) { state.frame = 0; return; }
    if (state.playing) { advance(Math.min(0.1, (now - state.last) / 1000)); }
    state.last = now;
    draw(canvas);
    state.frame = window.requestAnimationFrame(step);
  }

  window.dash_clientside.lab.watch_system = function (run, clicks) {
    if (run && run !== state.run) { state.run = run; restart(); }
    state.playing = (clicks || 0) % 2 === (lab.isStill() ? 1 : 0);
    if (state.run && !state.frame) {
      state.last = performance.now();
      state.frame = window.requestAnimationFrame(step);
    }
    return [clicks || 0, state.playing ? "Pause" : "Play"];
  };
})(window.qsimLab);
