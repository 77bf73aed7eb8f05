// The page: receives frames, statistics and x-rays from the demo, and shows them.

import { Controls } from "./controls.js";
import { Numbers } from "./numbers.js";
import { StackedPlot } from "./plots.js";
import { Steering } from "./steering.js";
import { Worlds } from "./worlds.js";

const find = (id) => document.getElementById(id);
const root = document.documentElement;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

const worlds = new Worlds(find("server-world"), find("client-world"));
const numbers = new Numbers(find("numbers"));
const plots = { down: new StackedPlot(find("plot-down")), up: new StackedPlot(find("plot-up")), fields: new StackedPlot(find("plot-fields")) };
const controls = new Controls(find("controls"), (wanted) => send({ controls: wanted }));

/** State of the page, exposed for tests and the console. */
const state = { connected: false, stats: null, xray: null, shownXray: null, frozen: false, paused: stillness.matches, worlds };
window.tightwire = state;

// Cards outside of the viewport are not drawn.

const visible = new Map();
const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    visible.set(target.id, isIntersecting);
    if (isIntersecting && target.id === "xray-card" && state.xray) showXray(state.xray);
  }
}, { rootMargin: "100px" });
for (const id of ["worlds", "plots", "xray-card"]) watcher.observe(find(id));

// Steering.

const steering = new Steering({
  pad: find("pad"),
  buttons: document.querySelectorAll("[data-action]"),
  camera: worlds.camera,
  isActive: () => state.connected && visible.get("worlds"),
  send: (pressed) => send({ steer: pressed }),
});
state.steering = steering;

// The connection.

let socket = null;
let wait = 250;

function connect() {
  socket = new WebSocket(`ws://${location.host}/live`);
  socket.binaryType = "arraybuffer";
  socket.addEventListener("open", () => {
    wait = 250;
    setConnected(true);
  });
  socket.addEventListener("message", (event) => {
    if (typeof event.data !== "string") {
      worlds.push(event.data);
      // Acks the frame: only then the demo sends the next one.
      return send({ seen: 1 });
    }
    const message = JSON.parse(event.data);
    if (message.stats) showStats(message.stats);
    if (message.xray) showXray(message.xray);
  });
  socket.addEventListener("close", () => {
    setConnected(false);
    setTimeout(connect, wait);
    wait = Math.min(wait * 2, 4000);
  });
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function setConnected(connected) {
  state.connected = connected;
  document.body.classList.toggle("connected", connected);
  document.body.classList.toggle("lost", !connected);
  const text = connected ? "Connected" : "Connection lost, trying again";
  // A screen reader announces the text whenever it is set.
  if (find("connection").textContent !== text) find("connection").textContent = text;
  find("lost").hidden = connected;
  if (!connected) controls.disable();
}

// The numbers.

function showStats(stats) {
  if (state.stats && state.stats.shown_client !== stats.shown_client) Object.values(plots).forEach((plot) => plot.clear());
  state.stats = stats;
  worlds.followed = stats.shown_client;
  worlds.isSteered = stats.is_steered;
  document.body.classList.toggle("steered", stats.is_steered);
  controls.show(stats.controls, stats.clients);
  showChat(stats.chat ?? []);
  numbers.show(stats);
  if (state.paused) return;
  for (const [name, plot] of Object.entries(plots)) plot.add(stats.seconds, stats[name], visible.get("plots"));
}

function showChat(lines) {
  const list = find("chat-lines");
  if (list.dataset.shown === lines.join("\n")) return;
  list.dataset.shown = lines.join("\n");
  list.replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
}

find("chat").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = find("chat-text");
  if (input.value.trim()) send({ say: input.value });
  input.value = "";
});

// The packet.

function showXray(xray) {
  state.xray = xray;
  if (state.frozen || !visible.get("xray-card")) return;
  state.shownXray = xray;
  drawXray(find("xray"), xray);
}

find("freeze").addEventListener("click", () => {
  state.frozen = !state.frozen;
  find("freeze").setAttribute("aria-pressed", String(state.frozen));
  find("freeze").textContent = state.frozen ? "Follow" : "Freeze";
  if (!state.frozen && state.xray) showXray(state.xray);
});

// The worlds.

let last = null;

function frame(now) {
  const passed = last === null ? 0 : Math.min((now - last) / 1000, 0.25);
  last = now;
  if (visible.get("worlds") && (!state.paused || worlds.drawn === 0)) worlds.draw(passed);
  requestAnimationFrame(frame);
}

setInterval(() => {
  const client = state.stats?.shown_client ?? 0;
  const behind = Math.round(worlds.behind() / 5) * 5;
  find("client-label").textContent = state.stats ? `Client ${client}, ${behind} ms behind` : "Client";
}, 500);

function setPaused(paused) {
  state.paused = paused;
  find("pause").textContent = paused ? "Play" : "Pause";
}

find("pause").addEventListener("click", () => setPaused(!state.paused));
find("closer").addEventListener("click", () => worlds.camera.zoom(0.85));
find("farther").addEventListener("click", () => worlds.camera.zoom(1.18));
const setStill = () => (worlds.camera.still = stillness.matches);
stillness.addEventListener("change", setStill);

// Light and dark.

const THEMES = ["system", "light", "dark"];
const THEME_NAMES = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function setTheme(theme) {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  find("theme").textContent = THEME_NAMES[theme];
  worlds.useColours(getComputedStyle(root));
  Object.values(plots).forEach((plot) => plot.draw());
}

function storedTheme() {
  // Throws where the browser is configured to store nothing.
  try {
    return THEMES.includes(localStorage.theme) ? localStorage.theme : "system";
  } catch {
    return "system";
  }
}

find("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "system") + 1) % THEMES.length];
  setTheme(next);
  try {
    localStorage.theme = next;
  } catch {
    // The theme then lasts until the page is closed.
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(root.dataset.theme ?? "system"));

setTheme(storedTheme());
setPaused(state.paused);
setStill();
controls.label();
connect();
requestAnimationFrame(frame);
