/* Copies what a button says it copies. A lab beyond this machine has no HTTPS, where browsers lend no clipboard. */
(function () {
  "use strict";

  function copied(text) {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.appendChild(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button[data-copy]");
    if (button) { button.textContent = copied(button.dataset.copy) ? "Copied" : "Not copied: select the link"; }
  });
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector("details.joining[open]");
    if (event.key === "Escape" && open) { open.open = false; open.querySelector("summary").focus(); }
  });
})();
