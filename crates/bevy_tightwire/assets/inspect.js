// Asks the app for the bytes of its components and for a recent snapshot, and shows them. What they
// say is only ever text, never markup.
"use strict";

(function () {
  const find = (id) => document.getElementById(id);
  let before = null;

  async function load(path) {
    const response = await fetch(path);
    return response.ok ? response.json() : null;
  }

  function row(cells) {
    const line = document.createElement("tr");
    for (const cell of cells) line.insertCell().textContent = cell;
    return line;
  }

  function show(stats) {
    const seconds = before ? stats.seconds - before.seconds : 0;
    const names = Object.keys(stats.components);
    const all = names.reduce((sum, name) => sum + stats.components[name], 0);
    const lines = names
      .sort((one, other) => stats.components[other] - stats.components[one])
      .map((name) => {
        const bytes = stats.components[name];
        const more = before ? bytes - (before.components[name] ?? 0) : 0;
        const rate = seconds > 0 ? (more / seconds).toFixed(0) : "";
        const share = all > 0 ? `${((100 * bytes) / all).toFixed(1)} %` : "";
        return row([name, bytes.toFixed(0), rate, share]);
      });
    find("components").replaceChildren(...lines);
    find("state").textContent = `${stats.snapshots} snapshots, ${stats.bytes} bytes`;
    before = stats;
  }

  async function refresh() {
    try {
      const stats = await load("/stats.json");
      if (stats) show(stats);
      const xray = find("hold").checked ? null : await load("/xray.json");
      if (xray) drawXray(find("xray"), xray);
    } catch {
      find("state").textContent = "The app does not answer.";
    }
    setTimeout(refresh, 1000);
  }

  refresh();
})();
