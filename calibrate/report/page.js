(function () {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = 520, paper = 720;
  let printing = false;

  function figureOf(plot, light) {
    let text = plot.nextElementSibling.textContent;
    if (dark.matches && !light) {
      text = text.replace(/"(#[0-9a-f]{6})"/gi, (whole, colour) => '"' + (darkColours[colour.toLowerCase()] || colour) + '"');
    }
    return JSON.parse(text);
  }

  // Room for a phone: smaller letters, and a legend of one column below, for which the figure grows.
  function fitted(figure, width) {
    if (width >= narrow) return figure;
    const layout = figure.layout;
    const entries = figure.data.filter(t => t.showlegend !== false && t.name && t.type !== "heatmap").length;
    layout.font = Object.assign({}, layout.font, {size: 12});
    layout.margin = Object.assign({}, layout.margin, {l: 50, r: 10});
    layout.height = Math.max(380, (layout.height || 520) - 120) + 19 * Math.max(0, entries - 2);
    if (layout.legend) layout.legend = Object.assign({}, layout.legend, {font: {size: 12}});
    (layout.annotations || []).forEach(note => { if (note.font) note.font.size = Math.min(note.font.size || 12, 12); });
    return figure;
  }

  function draw(plot) {
    const figure = fitted(figureOf(plot, printing), printing ? paper : plot.clientWidth);
    const layout = Object.assign({}, figure.layout, {autosize: true});
    if (printing) layout.width = paper;
    const config = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "toImage"]};
    plot.dataset.drawn = "yes";
    plot.style.minHeight = "";
    return Plotly.react(plot, figure.data, layout, config);
  }

  const plots = Array.from(document.querySelectorAll(".plot"));
  const redraw = () => plots.filter(plot => plot.dataset.drawn).forEach(draw);
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver(entries => entries.forEach(entry => {
      if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
    }), {rootMargin: "600px"});
    plots.forEach(plot => seen.observe(plot));
  } else {
    plots.forEach(draw);
  }
  dark.addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => {
    printing = true;
    plots.filter(plot => plot.offsetParent !== null).forEach(draw);
  });
  window.addEventListener("afterprint", () => { printing = false; redraw(); });

  document.addEventListener("click", event => {
    const button = event.target.closest("button[data-image]");
    if (!button) return;
    const plot = button.closest("figure").querySelector(".plot");
    const figure = figureOf(plot, true);
    Plotly.downloadImage(figure, {
      format: button.dataset.image, width: 1000, height: figure.layout.height || 520, filename: plot.dataset.name,
      scale: button.dataset.image === "png" ? 2 : 1,
    });
  });
})();
