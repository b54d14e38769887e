"use strict";
(() => {
  const { config, layers, specs } = JSON.parse(document.getElementById("specs").textContent);
  const options = { renderer: "svg", actions: false, config };
  const draw = (place) => {
    const spec = specs[place.id];
    if (!spec || place.dataset.drawn) return;
    place.dataset.drawn = "yes";
    const failed = (error) => { place.textContent = "This chart can't be drawn: " + error.message; place.dataset.drawn = "failed"; };
    const room = { name: "room", expr: "width" };
    vegaEmbed(place, { ...spec, params: [room], layer: structuredClone(layers[spec.layer]) }, options).then(() => { place.dataset.drawn = "done"; }, failed);
  };

  // What isn't folded is drawn at once, whether or not anybody scrolls there: printers and screenshots don't. Two hundred
  // points would take long, and are folded.
  const places = [...document.querySelectorAll(".chart")];
  const shown = () => places.filter((place) => !place.closest("details:not([open])")).forEach(draw);
  document.addEventListener("toggle", shown, true);
  shown();

  const table = document.getElementById("results");
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const raw = row.cells[column].dataset.value;
    return raw === undefined ? null : row.cells[column].classList.contains("text") ? raw : Number(raw);
  };
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (up ? 1 : -1));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }));

  const all = document.getElementById("all");
  const column = () => table.classList.toggle("all", all.checked);
  all.addEventListener("change", column);
  column();

  document.getElementById("copy").addEventListener("click", async () => {
    const shown = (cell) => cell.offsetParent !== null;
    const plain = (text) => text.replace(/\s+/g, " ").trim();
    const text = [...table.rows].map((row) => [...row.cells].filter(shown).map((cell) => plain(cell.textContent)).join("\t")).join("\n");
    const said = document.getElementById("copied");
    try { await navigator.clipboard.writeText(text); said.textContent = "copied"; }
    catch { said.textContent = "the browser doesn't allow it: mark the table and copy"; }
  });
})();
