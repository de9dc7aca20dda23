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
             blue: of("curve"), red: of("here"), green: of("simulated"), band: of("band"), orange: "#E69F00" };
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
      legend: { orientation: "h", yref: "container", y: 1, yanchor: "top", x: 0, font: { size: c.size - 2 } },
      hoverlabel: { bgcolor: c.ground, font: { color: c.text } },
    }, more || {});
  }

  /* Units that keep numbers short, from the largest value that there is. */
  function throughputUnit(state) {
    if (state.opened && state.opened.load_kind === "injected_delay") {
      return { title: "bandwidth (GB/s)", factor: LINE_BYTES / 1e9 };
    }
    const top = Math.max(0, ...lab.shown(state).map((p) => p.throughput_per_s));
    const scale = top >= 1e6 ? ["M ", 1e-6] : top >= 1e3 ? ["k ", 1e-3] : ["", 1];
    return { title: "throughput (" + scale[0] + "requests/s)", factor: scale[1] };
  }

  function latencyUnit(state) {
    const values = lab.shown(state).map((p) => p.latency_s).sort((a, b) => a - b);
    const middle = values.length ? values[Math.floor(values.length / 2)] : 1;
    const unit = middle >= 1 ? ["s", 1] : middle >= 1e-3 ? ["ms", 1e3] : middle >= 1e-6 ? ["µs", 1e6] : ["ns", 1e9];
    return { title: "response time (" + unit[0] + ")", factor: unit[1] };
  }

  /* Ticks of a logarithmic axis of times, in the units that people say. */
  function decades(c, seconds, factor) {
    const low = Math.floor(Math.log10(Math.min(...seconds))), high = Math.ceil(Math.log10(Math.max(...seconds)));
    const powers = Array.from({ length: high - low + 1 }, (_, i) => low + i), units = ["ns", "µs", "ms", "s"];
    const text = (power) => {
      const unit = Math.min(3, Math.max(0, Math.floor(power / 3) + 3));
      return 10 ** (power - 3 * (unit - 3)) + " " + units[unit];
    };
    return { type: "log", rangemode: "normal", title: { text: "response time", font: { size: c.size } }, tickmode: "array",
             tickvals: powers.map((power) => factor * 10 ** power), ticktext: powers.map(text) };
  }

  /* A known queue under arrivals: a linear axis of rates, and response times instead of throughputs. */
  lab.isQueue = function (state) { return Boolean(state.opened && state.opened.theory); };
  function scaled(state, place) { return lab.isQueue(state) ? place : Math.log10(place); }
  function unscaled(state, value) { return lab.isQueue(state) ? value : 10 ** value; }

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

  function ends(state) {
    const places = state.opened.loads.map((n) => scaled(state, lab.place(state, n)));
    if (lab.isQueue(state)) { return [0, state.opened.theory.at(-1).load * 1.05]; }
    const low = Math.min(...places), high = Math.max(...places), room = 0.06 * (high - low || 1);
    return [low - room, high + room];
  }

  /* A load that the axis does not reach stands at its edge. */
  function inside(state, load) {
    const [low, high] = ends(state);
    return Math.min(unscaled(state, high), Math.max(unscaled(state, low), load));
  }

  /* Who guessed what, as marks with names under the axis: a triangle is a person, a diamond the model. A name stands in
     the highest row where it covers no other; without room the mark stays, and the table has the name. */
  const ROWS = 6;
  lab.PERSON = "▲"; lab.MODEL = "◆";
  function labels(state, rows, c) {
    const [low, high] = ends(state), results = document.querySelector(".results");
    const width = Math.max(200, (results ? results.clientWidth : 800) - 80), taken = Array.from({ length: ROWS }, () => []);
    const shown = [], placeOf = (row) => scaled(state, lab.place(state, row.load));
    const isOff = (row) => placeOf(row) < low || placeOf(row) > high;
    for (const row of [...rows.filter(isOff), ...rows.filter((r) => !isOff(r))]) {
      const place = placeOf(row), at = Math.min(high, Math.max(low, place));
      const x = width * (at - low) / (high - low), mark = row.is_model ? lab.MODEL : lab.PERSON;
      const off = place < low ? " ← " + number(row.load) : place > high ? " → " + number(row.load) : "";
      const name = (row.is_model ? "model" : row.name.length > 14 ? row.name.slice(0, 13) + "…" : row.name) +
        (lab.hasDouble(state, row.name) ? " ≈" : "") + off;
      const left = x > 0.7 * width, long = (name.length + 3) * 0.58 * c.size;
      const span = left ? [x - long, x + c.size] : [x - c.size, x + long];
      const level = taken.findIndex((used) => used.every(([a, b]) => b < span[0] || a > span[1]));
      if (level >= 0) { taken[level].push(span); }
      shown.push({ x: at, y: 0, yref: "paper", yanchor: "top", showarrow: false,
        yshift: -(1.7 + 1.35 * Math.max(0, level)) * c.size, xanchor: left ? "right" : "left", xshift: (left ? 1 : -1) * c.size / 2,
        text: level < 0 ? mark : left ? lab.escaped(name) + " " + mark : mark + " " + lab.escaped(name),
        hovertext: lab.escaped(lab.named(state, row.name)) + ": " + number(row.load), font: { size: c.size, color: row.is_model ? c.blue : c.text } });
    }
    return shown;
  }

  function loadAxis(state, c) {
    if (!state.opened) { return axis(c, "load"); }
    const places = state.opened.loads.map((n) => lab.place(state, n));
    if (lab.isQueue(state)) { return axis(c, "arrivals a second", { range: ends(state), nticks: 7 }); }
    return axis(c, state.opened.load_name, { type: "log", range: ends(state), tickmode: "array",
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
    }).concat(running(state, x, y, c)).filter((trace) => trace.x.length);
  }

  function running(state, x, y, c) {
    const rows = lab.running(state);
    return { type: "scatter", mode: "lines+markers", x: rows.map(x), y: rows.map(y), name: "running, by the kernel's counters",
      line: { color: c.line, width: 1, dash: "dot" }, marker: { size: 12, symbol: "diamond-open", color: c.line, line: { width: 2 } } };
  }

  /* The curve of theory, once the measurement has begun: before, it would answer the question. */
  function theory(state, x, y, name, c) {
    if (state.phase === "open") { return []; }
    return [{ type: "scatter", mode: "lines", x: state.opened.theory.map(x), y: state.opened.theory.map(y), name: name,
      line: { color: c.line, width: 2, dash: "dash" } }];
  }

  /* The exact curve of a known device, once it is revealed. */
  function truth(state, x, y, c) {
    const rows = state.revealed && state.revealed.truth || [];
    return rows.length ? [{ type: "scatter", mode: "lines", x: rows.map(x), y: rows.map(y), name: "the truth, X = min(N, c) / S",
      line: { color: c.line, width: 3, dash: "dash" } }] : [];
  }

  /* How far 95 % of runs of so many requests are from the mean. */
  function chances(traces, state, factor) {
    const by = new Map(state.points.map((p) => [p.seq, p.queue && p.queue.chance]));
    for (const trace of traces) {
      const spread = (trace.customdata || []).map((seq) => (by.get(seq) || 0) * factor);
      if (spread.some((value) => value > 0)) {
        trace.error_y = { type: "data", array: spread, thickness: 1.5, width: 5 };
        trace.name = "measured; bars: 95 % of such runs";
      }
    }
    return traces;
  }

  lab.throughputFigure = function (state, mine, knee, theme) {
    const queue = lab.isQueue(state), c = lab.colours(theme), traces = [], shapes = [];
    const unit = queue ? responseUnit(state) : throughputUnit(state);
    const [low, middle, high] = queue ? ["response_time_low_s", "response_time_s", "response_time_high_s"]
      : ["throughput_low_per_s", "throughput_per_s", "throughput_high_per_s"];
    const at = (rows) => rows.map((r) => lab.place(state, r.load));
    if (state.sealed) {
      const curve = state.sealed.curve, x = at(curve), most = Math.max(...curve.map((r) => r[high] || r[middle]));
      const of = (name) => curve.map((r) => (r[name] === null ? most : r[name]) * unit.factor);  // an open end
      traces.push(band(x, of(low), of(high), c));
      traces.push({ type: "scatter", mode: "lines", x: x, y: of(middle), line: { color: c.blue, width: 3 },
        name: queue ? "predicted from a closed test" : "predicted" });
    }
    if (queue) {
      traces.push(...theory(state, (r) => r.load, (r) => r.response_time_s * unit.factor, "theory", c));
      traces.push(...chances(measured(state, (p) => p.throughput_per_s, (p) => p.latency_s * unit.factor, c), state, unit.factor));
    } else {
      traces.push(...truth(state, (r) => lab.place(state, r.load), (r) => r.throughput_per_s * unit.factor, c));
      traces.push(...measured(state, (p) => lab.place(state, p.load), (p) => p.throughput_per_s * unit.factor, c));
    }
    const guess = mine && mine.run === state.run ? mine.knee : knee;
    if (guess > 0 && state.run) {
      shapes.push(upright(lab.place(state, inside(state, guess)), c.green, "dot"));
      traces.push({ type: "scatter", mode: "lines", x: [null], y: [null], name: "your guess: " + guess,
        line: { color: c.green, width: 3, dash: "dot" } });
    }
    let names = [];
    if (state.revealed) {
      const judged = state.revealed.judged;
      if (judged.load > 0) {
        shapes.push(upright(lab.place(state, inside(state, judged.load)), c.orange, "solid"));
        traces.push({ type: "scatter", mode: "lines", x: [null], y: [null], line: { color: c.orange, width: 3 },
          name: state.opened.quantity + ", " + judged.standard + ": " + number(judged.load) });
      }
      names = labels(state, state.revealed.leaderboard.filter((r) => r.load > 0), c);
    }
    const y = axis(c, unit.title, queue ? { range: [0, unit.top] } : lab.shown(state).length ? {} : { range: [0, 1], showticklabels: false });
    const x = loadAxis(state, c);
    if (names.length) { x.title.standoff = 1.4 * c.size - Math.min(...names.map((a) => a.yshift)) - 1.7 * c.size; }
    return { data: traces, layout: layout(c, x, y, { shapes: shapes, annotations: names }) };
  };

  /* The response time of a known queue in milliseconds, up to what its curve or its points reach at 90 % of the peak. */
  function responseUnit(state) {
    const rows = state.opened.theory.filter((r) => r.rho <= 0.92);
    return { title: "response time (ms)", factor: 1e3,
             top: 1.4e3 * Math.max(...rows.map((r) => r.response_time_s), ...state.points.map((p) => 0.75 * p.latency_s)) };
  }

  lab.waitingFigure = function (state, theme) {
    const c = lab.colours(theme), points = state.points.filter((p) => p.queue);
    const rows = state.opened.theory.filter((r) => r.rho <= 0.92);
    const top = 1.4 * Math.max(...rows.map((r) => r.waiting), ...points.map((p) => 0.75 * p.queue.waiting));
    const traces = theory(state, (r) => r.rho, (r) => r.waiting, "theory", c);
    traces.push(...measured(state, (p) => p.queue.rho, (p) => p.queue.waiting, c));
    return { data: traces, layout: layout(c, axis(c, "utilization ρ = λS/c", { range: [0, 1] }),
      axis(c, "number waiting Lq", { range: [0, top] })) };
  };

  lab.latencyFigure = function (state, theme) {
    if (lab.isQueue(state)) { return lab.waitingFigure(state, theme); }
    const c = lab.colours(theme), unit = throughputUnit(state), time = latencyUnit(state), traces = [];
    if (state.sealed) {
      const curve = state.sealed.curve;
      traces.push({ type: "scatter", mode: "lines", x: curve.map((r) => r.throughput_per_s * unit.factor),
        y: curve.map((r) => r.response_time_s * time.factor), name: "predicted", line: { color: c.blue, width: 3 } });
    }
    traces.push(...truth(state, (r) => r.throughput_per_s * unit.factor, (r) => r.response_time_s * time.factor, c));
    traces.push(...measured(state, (p) => p.throughput_per_s * unit.factor, (p) => p.latency_s * time.factor, c));
    const blank = lab.shown(state).length ? {} : { range: [0, 1], showticklabels: false };
    const spread = lab.shown(state).map((p) => p.latency_s);
    const log = spread.length && Math.max(...spread) > 12 * Math.min(...spread) ? decades(c, spread, time.factor) : {};
    return { data: traces, layout: layout(c, axis(c, unit.title, blank), axis(c, time.title, Object.assign({}, blank, log))) };
  };
})(window.qsimLab);
