/* The plots of a run, drawn in the browser from the events of the lab. */
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  const LINE_BYTES = 64;

  const number = (value) => String(Number(value.toPrecision(3)));

  /* The colours of the page's style. */
  lab.colours = function (theme) {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue("--" + name).trim();
    return { size: lab.isLarge(theme) ? 21 : 16, text: of("text"), grid: of("edge"), line: of("weak"), ground: of("ground"),
             blue: of("curve"), red: of("here"), green: of("simulated"), band: of("band"), orange: "#E69F00", purple: "#CC79A7" };
  };

  lab.escaped = function (text) {
    return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
  };

  function axis(c, title, more) {
    return Object.assign({ title: { text: title, font: { size: c.size } }, gridcolor: c.grid, linecolor: c.line, zerolinecolor: c.line,
      showline: true, ticks: "outside", automargin: true, rangemode: "tozero", fixedrange: true }, more || {});
  }

  function layout(c, x, y, more) {
    return Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { size: c.size, color: c.text },
      margin: { l: 60, r: 16, t: 2.5 * c.size, b: 3.3 * c.size }, xaxis: x, yaxis: y, dragmode: false, hovermode: "closest",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: c.size - 2 } },
      hoverlabel: { bgcolor: c.ground, font: { color: c.text } },
    }, more || {});
  }

  /* Units that keep numbers short, from the largest value that there is. */
  function throughputUnit(state) {
    if (state.opened && state.opened.load_kind === "injected_delay") {
      return { title: "bandwidth (GB/s)", factor: LINE_BYTES / 1e9 };
    }
    const top = Math.max(0, ...state.points.map((p) => p.throughput_per_s));
    const scale = top >= 1e6 ? ["M ", 1e-6] : top >= 1e3 ? ["k ", 1e-3] : ["", 1];
    return { title: "throughput (" + scale[0] + "requests/s)", factor: scale[1] };
  }

  function latencyUnit(state) {
    const values = state.points.map((p) => p.latency_s).sort((a, b) => a - b);
    const middle = values.length ? values[Math.floor(values.length / 2)] : 1;
    const unit = middle >= 1 ? ["s", 1] : middle >= 1e-3 ? ["ms", 1e3] : middle >= 1e-6 ? ["µs", 1e6] : ["ns", 1e9];
    return { title: "response time (" + unit[0] + ")", factor: unit[1] };
  }

  /* A delay of zero has no place on a logarithmic axis: it stands a step before the smallest other one, and what is
     less than that one stands between the two. */
  function smallest(state) {
    const positive = state.opened.loads.filter((n) => n > 0);
    return state.opened.loads.some((n) => n <= 0) ? Math.min(...positive, 1e9) : 0;
  }

  lab.place = function (state, load) {
    const least = smallest(state);
    return load < least ? (least + load) / 2 : load;
  };

  lab.loadAt = function (state, place) {
    const least = smallest(state);
    return place < least ? Math.max(0, 2 * place - least) : place;
  };

  function loadAxis(state, c) {
    if (!state.opened) { return axis(c, "load"); }
    const places = state.opened.loads.map((n) => lab.place(state, n));
    const low = Math.log10(Math.min(...places)), high = Math.log10(Math.max(...places));
    const room = 0.06 * (high - low || 1);
    return axis(c, state.opened.load_name, { type: "log", range: [low - room, high + room], tickmode: "array",
      tickvals: places, ticktext: state.opened.loads.map((n) => String(Number(n.toPrecision(4)))), rangemode: "normal" });
  }

  function band(x, low, high, c) {
    return { type: "scatter", mode: "lines", x: x.concat(x.slice().reverse()), y: high.concat(low.slice().reverse()),
      fill: "toself", fillcolor: c.band, line: { width: 0 }, hoverinfo: "skip", name: "its 90 % band" };
  }

  function upright(x, colour, dash) {
    return { type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: { color: colour, width: 3, dash: dash } };
  }

  /* What the model was calibrated on: every point until it sealed its prediction, and then those it names. */
  const CALIBRATED = "calibrated on", HELD_OUT = "held out";
  function isHeldOut(state, load) { return Boolean(state.sealed) && !state.sealed.used.includes(load); }

  function looks(c, heldOut) {
    return heldOut ? { size: 13, symbol: "circle", color: c.red, line: { color: c.ground, width: 1 } }
      : { size: 12, symbol: "square-open", color: c.text, line: { color: c.text, width: 3 } };
  }

  function measured(state, x, y, c) {
    return [false, true].map((heldOut) => {
      const rows = state.points.filter((p) => isHeldOut(state, p.load) === heldOut);
      return { type: "scatter", mode: "markers", x: rows.map(x), y: rows.map(y), customdata: rows.map((p) => p.seq),
        name: "measured, " + (heldOut ? HELD_OUT : CALIBRATED), marker: looks(c, heldOut), cliponaxis: false };
    }).filter((trace) => trace.x.length);
  }

  lab.throughputFigure = function (state, mine, knee, theme) {
    const c = lab.colours(theme), unit = throughputUnit(state), traces = [], shapes = [];
    const at = (rows) => rows.map((r) => lab.place(state, r.load));
    if (state.curve) {
      const curve = state.curve, x = at(curve), of = (name) => curve.map((r) => r[name] * unit.factor);
      traces.push(band(x, of("throughput_low_per_s"), of("throughput_high_per_s"), c));
      traces.push({ type: "scatter", mode: "lines", x: x, y: of("throughput_per_s"), name: "predicted",
        line: { color: c.blue, width: 3 } });
    }
    traces.push(...measured(state, (p) => lab.place(state, p.load), (p) => p.throughput_per_s * unit.factor, c));
    const guess = mine && mine.run === state.run ? mine.knee : knee;
    if (guess > 0 && state.run) {
      shapes.push(upright(lab.place(state, guess), c.green, "dot"));
      traces.push({ type: "scatter", mode: "lines", x: [null], y: [null], name: "your guess: " + guess,
        line: { color: c.green, width: 3, dash: "dot" } });
    }
    if (state.revealed) {
      const knee = state.revealed.knee, rows = state.revealed.leaderboard.filter((r) => r.knee > 0);
      if (knee.load > 0) {
        shapes.push(upright(lab.place(state, knee.load), c.orange, "solid"));
        if (knee.low > 0 && knee.high > 0) {
          shapes.push({ type: "rect", x0: lab.place(state, knee.low), x1: lab.place(state, knee.high), y0: 0, y1: 1, yref: "paper", line: { width: 0 },
            fillcolor: c.orange, opacity: 0.18 });
        }
        traces.push({ type: "scatter", mode: "lines", x: [null], y: [null], line: { color: c.orange, width: 3 },
          name: "measured knee: " + number(knee.load) });
      }
      traces.push({ type: "scatter", mode: "markers", x: rows.map((r) => lab.place(state, r.knee)),
        y: rows.map(() => 0), cliponaxis: false,
        text: rows.map((r) => lab.escaped(r.name) + ": " + r.knee), hovertemplate: "%{text}<extra></extra>", name: "all guesses",
        marker: { symbol: "triangle-up", size: 18, color: c.purple } });
    }
    const y = axis(c, unit.title, state.points.length ? {} : { range: [0, 1], showticklabels: false });
    return { data: traces, layout: layout(c, loadAxis(state, c), y, { shapes: shapes }) };
  };

  lab.latencyFigure = function (state, theme) {
    const c = lab.colours(theme), unit = throughputUnit(state), time = latencyUnit(state), traces = [];
    if (state.curve) {
      const curve = state.curve;
      traces.push({ type: "scatter", mode: "lines", x: curve.map((r) => r.throughput_per_s * unit.factor),
        y: curve.map((r) => r.response_time_s * time.factor), name: "predicted", line: { color: c.blue, width: 3 } });
    }
    traces.push(...measured(state, (p) => p.throughput_per_s * unit.factor, (p) => p.latency_s * time.factor, c));
    const blank = state.points.length ? {} : { range: [0, 1], showticklabels: false };
    const spread = state.points.map((p) => p.latency_s);
    const log = spread.length && Math.max(...spread) > 12 * Math.min(...spread) ? { type: "log", rangemode: "normal", dtick: 1 } : {};
    return { data: traces, layout: layout(c, axis(c, unit.title, blank), axis(c, time.title, Object.assign({}, blank, log))) };
  };

  lab.residualFigure = function (state, theme) {
    const c = lab.colours(theme), traces = [];
    for (const [words, key, symbol, colour] of [["throughput", "throughput_pct", "circle", c.blue],
      ["response time", "response_pct", "diamond", c.red]]) {
      for (const heldOut of [true, false]) {
        const rows = state.revealed.residuals.filter((r) => r.held_out === heldOut), shade = heldOut ? colour : c.text;
        traces.push({ type: "scatter", mode: "markers", name: words + ", " + (heldOut ? HELD_OUT : CALIBRATED),
          x: rows.map((r) => lab.place(state, r.load)), y: rows.map((r) => r[key]),
          marker: { size: 13, color: shade, symbol: symbol + (heldOut ? "" : "-open"), line: { color: shade, width: 2 } } });
      }
    }
    const y = axis(c, "prediction too high by (%)", { rangemode: "normal", zeroline: true });
    return { data: traces, layout: layout(c, loadAxis(state, c), y) };
  };
})(window.qsimLab);
