// Draws each figure of the page, in the colours of the page, when it comes into view.
"use strict";

// The slides are white, and all but one are hidden, so that their boxes have no size.
const onSlides = () => document.querySelector(".reveal") !== null;

const dark = () => {
  const chosen = onSlides() ? "light" : document.body.dataset.theme;
  return chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
};

const coloured = (layout, small) => {
  const ink = dark() ? "#d5d8de" : "#25292f";
  const grid = dark() ? "#3a3f47" : "#e3e6ea";
  const next = structuredClone(layout);
  delete next.template;
  Object.assign(next, {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, size: small ? 9 : 14 },
    autosize: true,
    margin: small ? { l: 8, r: 8, t: 8, b: 8 } : { l: 70, r: 20, t: 30, b: 60 },
  });
  delete next.width;
  delete next.height;
  for (const key of Object.keys(next).filter((k) => /^[xy]axis/.test(k))) {
    Object.assign(next[key], { gridcolor: grid, zerolinecolor: grid, linecolor: grid });
    if (small) Object.assign(next[key], { showticklabels: false, title: { text: "" }, ticks: "" });
  }
  if (small) Object.assign(next, { showlegend: false, title: { text: "" }, annotations: [] });
  return next;
};

// Beside a plot on a phone nothing has room: the legend goes below it, and the figure grows by its lines.
const narrowed = (layout, data, box) => {
  const named = data.filter((trace) => trace.name && trace.showlegend !== false).length;
  const listed = layout.showlegend === false || named < 2 ? 0 : named;
  box.style.height = `${26 + 1.25 * listed}rem`;
  const below = { orientation: "h", yref: "container", yanchor: "bottom", y: 0, x: 0, maxheight: 1, tracegroupgap: 0 };
  for (const key of Object.keys(layout).filter((k) => /^[xy]axis/.test(k))) layout[key].automargin = true;
  return Object.assign(layout, { legend: below, font: { ...layout.font, size: 12 }, margin: { l: 45, r: 10, t: 30, b: 45 } });
};

const draw = (box) => {
  const picture = window.pictures[box.dataset.picture];
  const small = box.classList.contains("small");
  const options = small || onSlides() ? { staticPlot: true, responsive: true } : { displaylogo: false, responsive: true };
  const data = structuredClone(picture.data);
  if (small) data.filter((trace) => "showscale" in trace || trace.type === "heatmap").forEach((t) => (t.showscale = false));
  const layout = coloured(picture.layout, small);
  if (onSlides()) Object.assign(layout, { width: 1150, height: 400, font: { ...layout.font, size: 18 } });
  const narrow = !small && !onSlides() && box.clientWidth < 520;
  if (!narrow) box.style.height = "";
  Plotly.react(box, data, narrow ? narrowed(layout, data, box) : layout, options);
};

addEventListener("DOMContentLoaded", () => {
  const boxes = [...document.querySelectorAll("[data-picture]")];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target);
      entry.target.dataset.drawn = "";
    }
  }, { rootMargin: "400px" });
  if (onSlides()) {
    boxes.forEach(draw);
    return;
  }
  boxes.forEach((box) => seen.observe(box));
  const again = () => boxes.filter((box) => "drawn" in box.dataset).forEach(draw);
  new MutationObserver(again).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
});
