/* Light or dark as the reader's system has it, large type where the screen is a projector's, until the reader says
   otherwise. Stored as words: "dark", "light large". */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.lab = window.dash_clientside.lab || {};
window.qsimLab = window.qsimLab || {};

(function (lab) {
  "use strict";

  const WIDE = 1600;

  lab.isDark = function (look) { return String(look).split(" ").includes("dark"); };
  lab.isLarge = function (look) { return String(look).split(" ").includes("large"); };

  function preferred() {
    const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
    return (dark ? "dark" : "light") + (window.innerWidth >= WIDE ? " large" : "");
  }

  window.dash_clientside.lab.theme = function (themeClicks, sizeClicks, stored) {
    const known = /^(dark|light)( large)?$/.test(stored) ? stored : preferred();
    const pressed = window.dash_clientside.callback_context.triggered_id;
    const dark = lab.isDark(known) !== (pressed === "theme-toggle" && themeClicks > 0);
    const large = lab.isLarge(known) !== (pressed === "size-toggle" && sizeClicks > 0);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.dataset.size = large ? "large" : "normal";
    return [(dark ? "dark" : "light") + (large ? " large" : ""), dark ? "Light" : "Dark", large ? "Smaller" : "Larger"];
  };
})(window.qsimLab);
