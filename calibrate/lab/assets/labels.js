/* Sliders and number boxes carry the name of their row, for those who hear the page. */
(function () {
  "use strict";

  function label() {
    for (const row of document.querySelectorAll(".control[aria-label]")) {
      for (const part of row.querySelectorAll("[role=slider], input")) {
        if (!part.hasAttribute("aria-label")) { part.setAttribute("aria-label", row.getAttribute("aria-label")); }
      }
    }
  }

  new MutationObserver(label).observe(document.documentElement, { childList: true, subtree: true });
})();
