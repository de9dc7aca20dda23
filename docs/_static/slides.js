(function () {
  "use strict";
  const slides = Array.from(document.querySelectorAll(".slide"));
  let at = Math.min(slides.length, Math.max(1, Number(location.hash.slice(1)) || 1)) - 1;

  // The width of a reader's font decides how much a text fills: a slide that is too full is set in smaller letters,
  // never cut off, and one that is not half full in larger ones.
  const isFull = slide => slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth;
  const share = slide => (slide.lastElementChild.offsetTop + slide.lastElementChild.offsetHeight - slide.firstElementChild.offsetTop) / slide.clientHeight;
  const set = (slide, size) => Object.assign(slide.style, {zoom: size, width: 1280 / size + "px", height: 720 / size + "px"});
  slides.forEach(slide => {
    for (let size = 1; isFull(slide) && size > 0.5; size -= 0.04) set(slide, size);
    for (let size = 1; share(slide) < 0.52 && !isFull(slide) && size < 1.3; size += 0.04) set(slide, size);
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
