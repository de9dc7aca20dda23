/* Light or dark: as the reader's system has it, until the reader says otherwise. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};

(function () {
  "use strict";

  function preferred() {
    return window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  window.dash_clientside.lab.theme = function (clicks, stored) {
    let chosen = stored === "dark" || stored === "light" ? stored : preferred();
    if (clicks) {
      chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    }
    document.documentElement.dataset.theme = chosen;
    return [chosen, chosen === "dark" ? "Light" : "Dark"];
  };
})();
