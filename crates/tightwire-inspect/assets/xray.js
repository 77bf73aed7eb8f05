// The x-ray of a packet: a ruler of its bits on which every field is a coloured span.
//
// drawXray(element, xray) draws into an element, and can be called again with the next packet: the
// selected field stays selected if that packet has it too. The script needs xray.css and nothing
// else, and works in a page that was opened from a file. Text of a packet never becomes markup.
"use strict";

var drawXray = (function () {
  const views = new WeakMap();
  const PAGE_ROWS = 100;
  const HUES = [212, 28, 158, 336, 262, 46, 188, 6, 96, 300, 232, 120];
  // Kinds of spans that belong to no field, those with the most contrast first.
  const NEUTRAL = ["header", "check", "transport", "padding"];
  const hues = new Map();

  /** The same name has the same colour in every packet and plot of a page. */
  function hue(name) {
    if (!hues.has(name)) hues.set(name, HUES[hues.size % HUES.length]);
    return hues.get(name);
  }

  /** `Cube[17].position[0]` of the group `Cube` is `Cube.position`. */
  function family(span) {
    const names = span.path.replace(/\[[^\]]*\]/g, "").split(".").filter(Boolean);
    const at = names.indexOf(span.group);
    // The path has no type whose name differs from its field's.
    const field = (at < 0 ? names.at(-1) : names[at + 1]) ?? "";
    if (!span.group) return field || span.kind;
    return field && field !== span.group ? `${span.group}.${field}` : span.group;
  }

  function isDark(element) {
    return getComputedStyle(element).getPropertyValue("--xray-dark").trim() === "1";
  }

  function fill(span, dark) {
    return colour(NEUTRAL.includes(span.kind) ? span.kind : span.family, dark);
  }

  function colour(name, dark) {
    const neutral = NEUTRAL.indexOf(name);
    if (neutral >= 0) return dark ? `hsl(212 10% ${38 - 6 * neutral}%)` : `hsl(212 14% ${76 + 5 * neutral}%)`;
    return dark ? `hsl(${hue(name)} 46% 42%)` : `hsl(${hue(name)} 68% 74%)`;
  }

  /** Text for a number of bits: whole ones stay whole. */
  function number(value) {
    return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
  }

  function bitsText(value) {
    return `${number(value)} ${value === 1 ? "bit" : "bits"}`;
  }

  /** Returns the valid spans of a packet, with every value of the right type. */
  function tidy(xray) {
    const text = (value) => (value === null || value === undefined ? "" : String(value));
    const spans = (Array.isArray(xray.spans) ? xray.spans : [])
      .filter((span) => Number.isFinite(span.start) && Number.isFinite(span.bits))
      .filter((span) => span.start >= 0 && span.bits >= 0)
      .map((span) => ({
        path: text(span.path), start: span.start, bits: span.bits, value: text(span.value),
        range: text(span.range), kind: text(span.kind), group: text(span.group),
      }));
    for (const span of spans) span.family = family(span);
    const bytes = (text(xray.bytes).match(/[0-9a-f]{2}/gi) ?? []).map((pair) => parseInt(pair, 16));
    const end = spans.reduce((most, span) => Math.max(most, span.start + span.bits), 0);
    const bits = Math.max(Number.isFinite(xray.bits) ? xray.bits : 0, end, bytes.length * 8);
    const refused = xray.refused ? text(xray.refused) : "";
    const refusedAt = Number.isFinite(xray.refused_at) ? xray.refused_at : endOfFields(spans);
    return { title: text(xray.title), time: xray.time, spans, bytes, bits, refused,
      refusedAt: refused ? refusedAt : -1 };
  }

  /** Returns the end of the last field. */
  function endOfFields(spans) {
    const last = spans.filter((span) => span.kind !== "padding").at(-1);
    return last ? last.start + last.bits : 0;
  }

  function make(name, className, parent, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  function build(element) {
    element.replaceChildren();
    element.classList.add("xray");
    const view = { element, selected: -1, pinned: false, page: 0, packet: tidy({}), lit: null };
    const head = make("div", "xray-head", element);
    view.title = make("span", "xray-title", head);
    view.size = make("span", "xray-size", head);
    view.refused = make("p", "xray-refused", element);
    view.ruler = make("div", "xray-ruler", element);
    view.ruler.tabIndex = 0;
    view.ruler.setAttribute("role", "slider");
    view.ruler.setAttribute("aria-label", "Fields of the packet; arrow keys go from one to the next");
    view.canvas = make("canvas", "", view.ruler);
    view.canvas.setAttribute("aria-hidden", "true");
    view.spacer = make("div", "xray-spacer", view.ruler);
    view.detail = make("dl", "xray-detail", element);
    view.legend = make("ul", "xray-legend", element);
    view.details = make("details", "xray-table", element);
    view.summary = make("summary", "", view.details);
    view.tableBox = make("div", "xray-table-box", view.details);

    view.ruler.addEventListener("scroll", () => paint(view));
    view.ruler.addEventListener("pointermove", (event) => {
      if (!view.pinned) select(view, spanAt(view, event));
    });
    view.ruler.addEventListener("pointerdown", (event) => {
      const at = spanAt(view, event);
      view.pinned = at >= 0 && !(view.pinned && at === view.selected);
      select(view, at);
    });
    view.ruler.addEventListener("keydown", (event) => onKey(view, event));
    view.details.addEventListener("toggle", () => table(view));
    new ResizeObserver(() => layout(view)).observe(view.ruler);
    // The colours are drawn, so a change of the theme must draw them again.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint(view));
    new MutationObserver(() => repaint(view))
      .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return view;
  }

  /** Sets the number of bits in a row, and the height of a row: few bits get room for their names. */
  function layout(view) {
    const gutter = 44;
    const width = Math.max(view.ruler.clientWidth - gutter - 8, 64);
    const small = view.packet.bits <= 512;
    const least = small ? 9 : 6;
    let columns = 16;
    while (columns < 128 && width / (columns * 2) >= least) columns *= 2;
    const rows = Math.max(Math.ceil(view.packet.bits / columns), 1);
    Object.assign(view, { gutter, columns, rows, cell: width / columns, row: small ? 44 : 20 });
    const most = parseFloat(getComputedStyle(view.ruler).maxHeight) || 400;
    view.height = Math.min(rows * view.row + 4, most);
    // The canvas covers the visible part and stays there; the spacer makes the ruler scroll.
    view.spacer.style.height = `${Math.max(rows * view.row + 4 - view.height, 0)}px`;
    const scale = window.devicePixelRatio || 1;
    view.canvas.style.height = `${view.height}px`;
    view.canvas.style.width = `${width + gutter + 8}px`;
    view.canvas.width = Math.round((width + gutter + 8) * scale);
    view.canvas.height = Math.round(view.height * scale);
    paint(view);
  }

  /** The first span that ends after a bit. */
  function firstAfter(spans, bit) {
    let low = 0;
    let high = spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle].start + spans[middle].bits > bit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  function paint(view) {
    const { packet, columns, cell, row, gutter, rows } = view;
    const context = view.canvas.getContext("2d");
    const scale = window.devicePixelRatio || 1;
    const dark = isDark(view.element);
    const top = view.ruler.scrollTop;
    const tall = row > 30;
    const style = getComputedStyle(view.element);
    const ink = style.color;
    const font = style.getPropertyValue("--xray-mono") || "monospace";
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, view.canvas.width, view.canvas.height);
    const firstRow = Math.floor(top / row);
    const lastRow = Math.min(Math.ceil((top + view.height) / row), rows) - 1;
    const rowTop = (index) => 2 + index * row - top + (tall ? 12 : 0);
    const height = tall ? row - 16 : row - 3;

    context.textBaseline = "middle";
    for (let index = firstRow; index <= lastRow; index++) {
      context.fillStyle = ink;
      context.globalAlpha = 0.6;
      context.font = `11px ${font}`;
      context.textAlign = "right";
      context.fillText(String(index * columns), gutter - 8, rowTop(index) + height / 2);
      if (tall) bytesAbove(view, context, index, rowTop(index) - 6, font);
      context.globalAlpha = 1;
    }

    const until = (lastRow + 1) * columns;
    for (let at = firstAfter(packet.spans, firstRow * columns); at < packet.spans.length; at++) {
      const span = packet.spans[at];
      if (span.start >= until) break;
      const faded = view.lit !== null && view.lit !== span.family;
      eachPiece(span, columns, (index, from, to) => {
        if (index < firstRow || index > lastRow) return;
        const x = gutter + from * cell;
        // A gap between neighbours, unless they are too narrow to lose it.
        const width = (to - from) * cell - ((to - from) * cell > 3 ? 1 : 0);
        context.globalAlpha = faded ? 0.25 : 1;
        context.fillStyle = fill(span, dark);
        if (width > 6) {
          context.beginPath();
          context.roundRect(x, rowTop(index), width, height, 3);
          context.fill();
        } else {
          context.fillRect(x, rowTop(index), Math.max(width, 0.5), height);
        }
        context.fillStyle = dark ? "#f2f5f8" : "#1a222c";
        label(context, span, x, rowTop(index), width, height, tall, font);
      });
    }
    context.globalAlpha = 1;
    if (packet.refused) markRefused(view, context, rowTop, height);
    outline(view, context, rowTop, height, ink);
  }

  /** A span as pieces of rows: the row, and where in it the piece begins and ends. */
  function eachPiece(span, columns, piece) {
    const end = span.start + span.bits;
    for (let index = Math.floor(span.start / columns); index * columns < end; index++) {
      const from = Math.max(span.start - index * columns, 0);
      piece(index, from, Math.min(end - index * columns, columns));
    }
  }

  function label(context, span, x, y, width, height, tall, font) {
    if (width < 24 || span.kind === "padding") return;
    const name = span.path.slice(span.path.lastIndexOf(".") + 1);
    context.textAlign = "left";
    context.font = `${tall ? 12 : 10}px ${font}`;
    const letter = tall ? 7.3 : 6.1;
    const room = Math.floor((width - 6) / letter);
    const whole = span.value && name.length + span.value.length + 1 <= room ? `${name} ${span.value}` : name;
    if (whole.length <= room) context.fillText(whole, x + 4, y + height / 2 + 0.5);
    else if (room >= 7) context.fillText(`${whole.slice(0, room - 1)}…`, x + 4, y + height / 2 + 0.5);
  }

  function bytesAbove(view, context, index, y, font) {
    context.font = `10px ${font}`;
    context.textAlign = "left";
    for (let byte = 0; byte < view.columns / 8; byte++) {
      const value = view.packet.bytes[(index * view.columns) / 8 + byte];
      if (value === undefined) return;
      context.fillText(value.toString(16).padStart(2, "0"), view.gutter + byte * 8 * view.cell + 1, y);
    }
  }

  function markRefused(view, context, rowTop, height) {
    const at = Math.min(view.packet.refusedAt, view.packet.bits);
    const index = Math.min(Math.floor(at / view.columns), view.rows - 1);
    const x = view.gutter + (at - index * view.columns) * view.cell;
    context.fillStyle = "#d6333f";
    context.fillRect(x - 1.5, rowTop(index) - 2, 3, height + 4);
    context.beginPath();
    context.moveTo(x - 6, rowTop(index) - 3);
    context.lineTo(x + 6, rowTop(index) - 3);
    context.lineTo(x, rowTop(index) + 4);
    context.fill();
  }

  function outline(view, context, rowTop, height, ink) {
    const span = view.packet.spans[view.selected];
    if (!span) return;
    context.strokeStyle = ink;
    context.lineWidth = 2;
    eachPiece(span, view.columns, (index, from, to) => {
      context.strokeRect(view.gutter + from * view.cell - 0.5, rowTop(index) - 1, Math.max((to - from) * view.cell, 1), height + 2);
    });
  }

  function spanAt(view, event) {
    const box = view.canvas.getBoundingClientRect();
    const column = (event.clientX - box.left - view.gutter) / view.cell;
    if (column < 0 || column >= view.columns) return -1;
    const index = Math.floor((event.clientY - box.top + view.ruler.scrollTop - 2) / view.row);
    const bit = index * view.columns + column;
    const at = firstAfter(view.packet.spans, bit);
    return view.packet.spans[at]?.start <= bit ? at : -1;
  }

  function onKey(view, event) {
    const spans = view.packet.spans;
    const now = spans[view.selected];
    const row = (step) => {
      if (!now) return 0;
      const at = firstAfter(spans, Math.max(now.start + now.bits / 2 + step * view.columns, 0));
      return Math.min(at, spans.length - 1);
    };
    const keys = {
      ArrowRight: () => view.selected + 1, ArrowLeft: () => view.selected - 1,
      ArrowDown: () => row(1), ArrowUp: () => row(-1),
      PageDown: () => row(8), PageUp: () => row(-8),
      Home: () => 0, End: () => spans.length - 1, Escape: () => -1,
    };
    if (!(event.key in keys) || spans.length === 0) return;
    event.preventDefault();
    const at = keys[event.key]();
    view.pinned = event.key !== "Escape";
    select(view, event.key === "Escape" ? -1 : Math.min(Math.max(at, 0), spans.length - 1));
    const chosen = spans[view.selected];
    if (!chosen) return;
    const top = Math.floor(chosen.start / view.columns) * view.row;
    if (top < view.ruler.scrollTop) view.ruler.scrollTop = top;
    if (top + view.row + 4 > view.ruler.scrollTop + view.height) view.ruler.scrollTop = top + view.row + 4 - view.height;
  }

  function select(view, at) {
    if (at === view.selected) return;
    view.selected = at;
    paint(view);
    describe(view);
  }

  /** Describes the selected field, on the page and for screen readers. */
  function describe(view) {
    const span = view.packet.spans[view.selected];
    const rows = span
      ? [["Field", span.path || span.kind], ["Value", span.value || "–"],
         ["Bits", `${bitsText(span.bits)} from bit ${number(span.start)}`],
         ["Type", type(span) || "–"], ["On the wire", wire(view.packet, span)]]
      : [["Field", "Point at a span, or choose one with the arrow keys."]];
    view.detail.replaceChildren();
    for (const [name, text] of rows) {
      const pair = make("div", "", view.detail);
      make("dt", "", pair, name);
      make("dd", "", pair, text);
    }
    view.ruler.setAttribute("aria-valuemin", "0");
    view.ruler.setAttribute("aria-valuemax", String(view.packet.spans.length));
    view.ruler.setAttribute("aria-valuenow", String(view.selected + 1));
    view.ruler.setAttribute("aria-valuetext", span
      ? `${span.path || span.kind}: ${span.value}, ${bitsText(span.bits)} from bit ${number(span.start)}, ${type(span)}`
      : "no field selected");
  }

  /** Returns the operation with its arguments. */
  function type(span) {
    return span.range.startsWith(span.kind) ? span.range : `${span.kind} ${span.range}`.trim();
  }

  /** Returns the bits of a field as text, first bit first, or why it has none of its own. */
  function wire(packet, span) {
    if (!Number.isInteger(span.start) || !Number.isInteger(span.bits)) return "shares its bits with its neighbours";
    if (span.bits === 0) return "nothing: there is only one such value";
    let text = "";
    for (let bit = span.start; bit < span.start + Math.min(span.bits, 64); bit++) {
      if (packet.bytes[bit >> 3] === undefined) break;
      if (bit % 8 === 0 && text) text += " ";
      text += (packet.bytes[bit >> 3] >> (bit & 7)) & 1;
    }
    return span.bits > 64 ? `${text} …` : text || "–";
  }

  function legend(view) {
    const totals = new Map();
    for (const span of view.packet.spans) {
      const name = span.kind === "padding" ? "padding" : span.family;
      const total = totals.get(name) ?? { bits: 0, span };
      total.bits += span.bits;
      totals.set(name, total);
    }
    const dark = isDark(view.element);
    const all = view.packet.bits || 1;
    const sorted = [...totals].sort((a, b) => b[1].bits - a[1].bits).slice(0, 14);
    view.legend.replaceChildren(...sorted.map(([name, total]) => {
      const item = make("li");
      make("span", "xray-swatch", item).style.background = fill(total.span, dark);
      make("span", "", item, name);
      make("span", "xray-share", item, `${bitsText(Math.round(total.bits * 10) / 10)} · ${((100 * total.bits) / all).toFixed(0)}%`);
      item.addEventListener("pointerenter", () => light(view, name));
      item.addEventListener("pointerleave", () => light(view, null));
      return item;
    }));
  }

  function light(view, name) {
    view.lit = name;
    paint(view);
  }

  /** The spans in words, a page at a time: a table of thousands of rows would be slow to read and to draw. */
  function table(view) {
    const spans = view.packet.spans;
    view.summary.textContent = `All ${spans.length} spans as a table`;
    if (!view.details.open) return view.tableBox.replaceChildren();
    const pages = Math.max(Math.ceil(spans.length / PAGE_ROWS), 1);
    view.page = Math.min(view.page, pages - 1);
    const grid = make("table");
    const head = make("tr", "", make("thead", "", grid));
    for (const name of ["Bit", "Bits", "Field", "Value", "Type"]) make("th", "", head, name).scope = "col";
    const body = make("tbody", "", grid);
    for (const span of spans.slice(view.page * PAGE_ROWS, (view.page + 1) * PAGE_ROWS)) {
      const line = make("tr", "", body);
      for (const text of [number(span.start), number(span.bits), span.path || span.kind, span.value, type(span)]) make("td", "", line, text);
    }
    // Kept when a page is turned, so that the button that was pressed keeps the focus.
    if (!view.pager?.isConnected) {
      view.pager = make("div", "xray-pager");
      view.pagerText = make("span", "");
      const step = (name, by) => {
        const button = make("button", "", null, name);
        button.type = "button";
        button.addEventListener("click", () => { view.page += by; table(view); });
        return button;
      };
      view.steps = [step("Earlier", -1), step("Later", 1)];
      view.pager.append(view.steps[0], view.pagerText, view.steps[1]);
      view.tableBox.replaceChildren(view.pager, grid);
    } else {
      view.tableBox.lastElementChild.replaceWith(grid);
    }
    view.pager.hidden = pages === 1;
    view.pagerText.textContent = `${view.page + 1} of ${pages}`;
    view.steps[0].disabled = view.page === 0;
    view.steps[1].disabled = view.page === pages - 1;
  }

  function repaint(view) {
    paint(view);
    legend(view);
  }

  function drawXray(element, xray) {
    let view = views.get(element);
    if (!view || !element.contains(view.ruler)) {
      view = build(element);
      views.set(element, view);
    }
    const before = view.packet.spans[view.selected];
    view.packet = tidy(xray ?? {});
    view.selected = before ? view.packet.spans.findIndex((span) => span.path === before.path && span.kind === before.kind) : -1;
    const packet = view.packet;
    view.title.textContent = packet.title;
    const bytes = Math.ceil(packet.bits / 8);
    const time = Number.isFinite(packet.time) ? ` · at ${packet.time.toFixed(3)} s` : "";
    view.size.textContent = `${bytes} ${bytes === 1 ? "byte" : "bytes"} · ${packet.spans.length} spans${time}`;
    view.refused.textContent = packet.refused ? `Refused: ${packet.refused}` : "";
    view.refused.hidden = !packet.refused;
    layout(view);
    describe(view);
    legend(view);
    table(view);
  }

  drawXray.colour = colour;
  return drawXray;
})();
