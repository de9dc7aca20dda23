(function () {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const onPaper = document.documentElement.classList.contains("paper");
  const narrow = 520, paper = onPaper ? 680 : 720, sheet = onPaper ? 290 : 390;
  let printing = onPaper, views = {};

  const darkened = colour => darkColours[colour.toLowerCase()] || colour;

  // A shade is stronger on a dark page, where a faint one would not be seen.
  function darkShade(whole, red, green, blue, opacity) {
    const hex = [red, green, blue].map(part => Number(part).toString(16).padStart(2, "0")).join("");
    const parts = darkened("#" + hex).match(/[0-9a-f]{2}/gi).map(part => parseInt(part, 16));
    return "rgba(" + parts.join(", ") + ", " + Math.min(1, 2 * opacity) + ")";
  }

  function figureOf(plot, light) {
    let text = views[plot.dataset.view].figure;
    if (dark.matches && !light) {
      text = text.replace(/"(#[0-9a-f]{6})"/gi, (whole, colour) => '"' + darkened(colour) + '"');
      text = text.replace(/rgba\((\d+), (\d+), (\d+), ([\d.]+)\)/g, darkShade);
    }
    return JSON.parse(text);
  }

  // How many lines the legend below takes: its entries stand in columns as wide as the longest of them.
  function legendRows(figure, width, letters) {
    const names = figure.data.filter(t => t.showlegend !== false && t.name && t.type !== "heatmap").map(t => t.name.length);
    if (figure.layout.showlegend === false || names.length < 2) return 0;
    const columns = Math.max(1, Math.floor((width - 90) / (45 + 0.55 * letters * Math.max(...names))));
    return Math.ceil(names.length / columns);
  }

  // A long title stands in two lines, broken at the space that is nearest to its middle.
  function inLines(title) {
    const text = title && title.text || "";
    const spaces = Array.from(text.matchAll(/ /g), found => found.index).filter(() => text.length > 28);
    if (!spaces.length) return title;
    const middle = spaces.reduce((best, at) => Math.abs(at - text.length / 2) < Math.abs(best - text.length / 2) ? at : best);
    return Object.assign({}, title, {text: text.slice(0, middle) + "<br>" + text.slice(middle + 1)});
  }

  // On a phone the names of rows stand in lines of at most 14 letters or so, and those of the legend in lines of 40.
  function inShortLines(text, most = 14) {
    const lines = [""];
    text.split(" ").forEach(word => {
      const line = lines[lines.length - 1];
      if (line && line.length + word.length >= most) lines.push(word);
      else lines[lines.length - 1] = line ? line + " " + word : word;
    });
    return lines.join("<br>");
  }

  // Of ticks that were chosen, one that would run into the last labelled one keeps no label.
  function thinned(axis, width, letters) {
    const texts = axis.ticktext;
    if (axis.tickmode !== "array" || !texts || texts.length < 2) return;
    const at = axis.tickvals.map(value => axis.type === "log" ? Math.log10(value) : value);
    const longest = Math.max(...texts.map(text => text.length)), span = Math.max(...at) - Math.min(...at);
    const least = 1.1 * span * (0.6 * letters * longest + 8) / width;
    let last = -Infinity;
    axis.ticktext = texts.map((text, i) => {
      if (at[i] - last < least) return "";
      last = at[i];
      return text;
    });
  }

  // A figure grows with its legend, so that the curves are not pressed together; on a phone letters are smaller.
  function fitted(figure, width) {
    const layout = figure.layout, small = width < narrow, letters = small ? 12 : printing ? 11 : 16;
    const height = (layout.height || 520) - (small ? 120 : 0);
    const more = Math.max(0, legendRows(figure, width, letters) - 2) * (printing ? 1.9 : 1.6) * letters;
    layout.height = Math.max(small ? 380 : 0, height) + more;
    figure.more = more;
    layout.legend = Object.assign({}, layout.legend, {maxheight: 1, tracegroupgap: 0});
    if (!small) return figure;
    const rows = Object.keys(layout).filter(name => name.startsWith("yaxis") && layout[name].ticktext);
    const names = rows.flatMap(name => (layout[name].ticktext = layout[name].ticktext.map(text => inShortLines(text))).join("<br>").split("<br>"));
    const left = 50 + 6 * Math.max(0, ...names.map(name => name.length - 6));
    Object.keys(layout).filter(name => name.startsWith("xaxis")).forEach(name => {
      layout[name].title = inLines(layout[name].title);
      if (layout[name].type === "log") Object.assign(layout[name], {nticks: 0, minorloglabels: "none"});
      thinned(layout[name], width - left, letters);
    });
    figure.data.forEach(trace => { if (trace.name) trace.name = inShortLines(trace.name, 40); });
    layout.font = Object.assign({}, layout.font, {size: letters});
    layout.margin = Object.assign({}, layout.margin, {l: 50, r: 10});
    layout.legend.font = {size: letters};
    (layout.annotations || []).forEach(note => { if (note.font) note.font.size = Math.min(note.font.size || 12, 12); });
    return figure;
  }

  // On paper a plot is low, and its letters are small, so that the titles of its axes have room.
  function onSheet(layout) {
    layout.font = Object.assign({}, layout.font, {size: 12});
    layout.legend = Object.assign({}, layout.legend, {font: {size: 11}});
    Object.keys(layout).filter(name => /^[xy]axis/.test(name)).forEach(name => {
      const title = layout[name].title;
      layout[name] = Object.assign({}, layout[name], {tickfont: {size: 11}});
      if (title) layout[name].title = Object.assign({}, typeof title === "string" ? {text: title} : title, {font: {size: 12}});
    });
  }

  function draw(plot) {
    const figure = fitted(figureOf(plot, printing), printing ? paper : plot.clientWidth);
    const layout = Object.assign({}, figure.layout, {autosize: true});
    if (printing) {
      const bare = layout.height - figure.more;
      const height = Math.min(bare, onPaper ? sheet : Math.max(sheet, 0.75 * bare)) + figure.more;
      Object.assign(layout, {width: paper, height});
      onSheet(layout);
    }
    const config = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "toImage"]};
    plot.dataset.drawn = "yes";
    plot.style.minHeight = "";
    return Plotly.react(plot, figure.data, layout, config);
  }

  // The library, the figures and the tables come packed; a browser that cannot unpack still has the tables to read.
  async function unpacked(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), letter => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  async function unpack() {
    views = JSON.parse(await unpacked("views"));
    const library = document.createElement("script");
    library.textContent = await unpacked("plotly");
    document.head.append(library);
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type: "text/csv;charset=utf-8"}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const plots = Array.from(document.querySelectorAll(".plot"));
  const redraw = () => plots.filter(plot => plot.dataset.drawn).forEach(draw);
  function drawAll() {
    if ("IntersectionObserver" in window && !onPaper) {
      const seen = new IntersectionObserver(entries => entries.forEach(entry => {
        if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
      }), {rootMargin: "600px"});
      plots.forEach(plot => seen.observe(plot));
    } else {
      plots.forEach(draw);
    }
  }
  unpack().then(drawAll).catch(error => plots.forEach(plot => {
    plot.textContent = "The plot cannot be drawn by this browser (" + error.message + "); every number is in the tables.";
  }));
  dark.addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => {
    if (onPaper) return;
    printing = true;
    plots.filter(plot => plot.offsetParent !== null).forEach(draw);
  });
  window.addEventListener("afterprint", () => { printing = onPaper; redraw(); });

  document.addEventListener("click", event => {
    const button = event.target.closest("button[data-image], button[data-table]");
    if (!button) return;
    if (button.dataset.table) { save(button.dataset.name + ".csv", views[button.dataset.table].csv); return; }
    const plot = button.closest("figure").querySelector(".plot");
    const figure = fitted(figureOf(plot, true), 1000);
    Plotly.downloadImage(figure, {
      format: button.dataset.image, width: 1000, height: figure.layout.height || 520, filename: plot.dataset.name,
      scale: button.dataset.image === "png" ? 2 : 1,
    });
  });
})();
