(function () {
  "use strict";
  const slides = Array.from(document.querySelectorAll(".slide"));
  let at = Math.min(slides.length, Math.max(1, Number(location.hash.slice(1)) || 1)) - 1;

  // A slide that is too full is set in smaller letters, never cut off.
  slides.forEach(slide => {
    for (let size = 1; (slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth) && size > 0.5; size -= 0.04) Object.assign(slide.style, {zoom: size, width: 1280 / size + "px", height: 720 / size + "px"});
  });
  document.querySelectorAll(".figure").forEach(plot => {
    const drawn = pictures[plot.dataset.picture];
    Plotly.newPlot(plot, drawn.data, Object.assign({}, drawn.layout, {width: plot.clientWidth, height: plot.clientHeight, font: {size: 18}}), {staticPlot: true});
  });

  function show(next) {
    at = Math.min(slides.length - 1, Math.max(0, next));
    slides.forEach((slide, i) => slide.classList.toggle("now", i === at));
    history.replaceState(null, "", "#" + (at + 1));
  }
  document.addEventListener("keydown", event => {
    const steps = {ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1, Home: -slides.length, End: slides.length};
    if (event.key in steps) { event.preventDefault(); document.body.classList.add("one"); show(at + steps[event.key]); }
    else if (event.key === "Escape") document.body.classList.remove("one");
  });
  if (location.hash) { document.body.classList.add("one"); show(at); }
})();
