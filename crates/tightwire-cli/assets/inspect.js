// The page of a capture: totals, plots, and the x-rays of some packets. What a packet says is only ever
// text, never markup.
"use strict";

(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const whole = new Intl.NumberFormat("en");

  /** The same name has the same colour everywhere on the page, in x-rays too. */
  function colour(name) {
    if (name === "?") return "var(--neutral)";
    return `light-dark(${drawXray.colour(name, false)}, ${drawXray.colour(name, true)})`;
  }

  /** What a field stands beside: `Message.Input.stick[]` is part of `Input`. */
  function groupOf(path) {
    const names = path.replace(/\[\]/g, "").split(".");
    const kind = names.find((name) => data.types.some((type) => type.name === name && name !== names[0]));
    return kind ?? (names.length > 2 ? names[1] : names[0]);
  }

  /** The end of a path, which says enough in its place. */
  function shortPath(path) {
    return path.split(".").filter((name) => !/^\d+$/.test(name)).slice(-2).join(".");
  }

  function make(name, className, parent, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  function bytes(count) {
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      if (count >= size) return `${(count / size).toFixed(count < 100 * size ? 1 : 0)} ${unit}`;
    }
    return `${Math.round(count)} B`;
  }

  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  function heading() {
    document.title = data.capture;
    byId("name").textContent = data.capture;
    byId("meaning").textContent = data.game
      ? `${data.game} ${data.version}, protection ${data.protection}` : "read by a schema";
    byId("meaning").textContent += ` · ${data.counted}`;
    const facts = [["Packets", whole.format(data.packets)], ["Bytes", bytes(data.bytes)], ["Seconds", data.seconds.toFixed(1)]];
    if (data.seconds > 0) facts.push(["Bytes per second", bytes(data.bytes / data.seconds)]);
    if (data.packets > 0) facts.push(["Mean packet", bytes(data.bytes / data.packets)]);
    facts.push(["Refused", whole.format(data.refused), data.refused > 0 ? "alarm" : ""]);
    if (data.skipped) facts.push(["Without a datagram", whole.format(data.skipped)]);
    if (data.other_ports) facts.push(["Of other ports", whole.format(data.other_ports)]);
    for (const [name, value, className] of facts) {
      const pair = make("div", "", byId("facts"));
      make("dt", "", pair, name);
      make("dd", className ?? "", pair, value);
    }
    for (const note of data.notes) make("p", "note", byId("notes"), note);
  }

  /** A table of columns with names; a column may be a number, a name or a bar. */
  function table(parent, columns, rows) {
    const grid = make("table", "", parent);
    const head = make("tr", "", make("thead", "", grid));
    for (const [name, kind] of columns) make("th", kind === "number" ? kind : "", head, name).scope = "col";
    const body = make("tbody", "", grid);
    for (const row of rows) {
      const line = make("tr", "", body);
      row.forEach((cell, at) => {
        const kind = columns[at][1];
        if (kind !== "bar") return make("td", kind, line, cell);
        const bar = make("div", "", make("td", kind, line));
        bar.style.width = `${100 * cell.share}%`;
        bar.style.background = colour(cell.name);
      });
    }
  }

  function types() {
    const most = Math.max(...data.types.map((type) => type.bytes), 1);
    table(byId("types"),
      [["Type", "name"], ["Packets", "number"], ["Bytes", "number"], ["Mean", "number"], ["Share", "number"], ["", "bar"]],
      data.types.map((type) => [type.name === "?" ? "not let in" : type.name, whole.format(type.packets), whole.format(type.bytes),
        (type.bytes / type.packets).toFixed(1), percent(type.bytes / (data.bytes || 1)), { share: type.bytes / most, name: type.name }]));
  }

  function timeline() {
    const { step, names, bytes: steps } = data.timeline;
    const box = byId("timeline");
    if (steps.length < 2) return make("p", "", box, "Too short to plot.");
    const totals = steps.map((parts) => parts.reduce((sum, part) => sum + part, 0));
    const most = Math.max(...totals, 1);
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", `0 0 ${steps.length} 100`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Bytes per second over ${data.seconds.toFixed(1)} seconds, at most ${bytes(most / step)} per second`);
    const base = steps.map(() => 0);
    const last = steps[0].length - 1;
    const used = [];
    for (let kind = 0; kind <= last; kind++) {
      if (!steps.some((parts) => parts[kind] > 0)) continue;
      const name = kind === last ? "?" : names[kind];
      let outline = "";
      steps.forEach((parts, at) => {
        const from = 100 - (100 * base[at]) / most;
        base[at] += parts[kind];
        const to = 100 - (100 * base[at]) / most;
        if (parts[kind] > 0) outline += `M${at} ${from}V${to}H${at + 1}V${from}Z`;
      });
      const path = document.createElementNS(space, "path");
      path.setAttribute("d", outline);
      path.style.fill = name === "?" ? "var(--quiet)" : colour(name);
      svg.append(path);
      used.push(name);
    }
    make("p", "", box, `up to ${bytes(most / step)} per second, in steps of ${step < 1 ? `${Math.round(1000 * step)} ms` : `${step} s`}`);
    box.append(svg);
    const legend = make("ul", "legend", box);
    for (const name of used) {
      const item = make("li", "", legend);
      make("span", "swatch", item).style.background = name === "?" ? "var(--quiet)" : colour(name);
      make("span", "", item, name === "?" ? "other, or not let in" : name);
    }
  }

  /** Rectangles as square as they can be: rows of the largest first, each along the shorter side. */
  function squarify(items, box, place) {
    let rest = items.filter((item) => item.size > 0);
    let { x, y, w, h } = box;
    while (rest.length > 0) {
      const sum = rest.reduce((total, item) => total + item.size, 0);
      const scale = (w * h) / sum;
      const side = Math.min(w, h);
      const worst = (row, area) => Math.max(...row.map((item) => {
        const other = (item.size * scale * side) / area;
        return Math.max(other / (area / side), area / side / other);
      }));
      let count = 1;
      let area = rest[0].size * scale;
      while (count < rest.length) {
        const more = area + rest[count].size * scale;
        if (worst(rest.slice(0, count + 1), more) > worst(rest.slice(0, count), area)) break;
        area = more;
        count++;
      }
      const thick = area / side;
      let at = 0;
      for (const item of rest.slice(0, count)) {
        const length = (item.size * scale) / thick;
        place(item, w >= h ? { x, y: y + at, w: thick, h: length } : { x: x + at, y, w: length, h: thick });
        at += length;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
      rest = rest.slice(count);
    }
  }

  function treemap() {
    const box = byId("treemap");
    const draw = () => {
      box.replaceChildren();
      const groups = new Map();
      for (const field of data.fields) {
        const name = groupOf(field.path);
        const group = groups.get(name) ?? { name, size: 0, items: [] };
        group.size += field.bits;
        group.items.push({ size: field.bits, field });
        groups.set(name, group);
      }
      const sorted = [...groups.values()].sort((a, b) => b.size - a.size);
      squarify(sorted, { x: 0, y: 0, w: box.clientWidth, h: box.clientHeight }, (group, outer) => {
        squarify(group.items, outer, ({ field }, inner) => {
          if (inner.w < 2 || inner.h < 2) return;
          const tile = make("div", "", box);
          Object.assign(tile.style, { left: `${inner.x}px`, top: `${inner.y}px`, width: `${inner.w}px`, height: `${inner.h}px`,
            background: colour(field.colour) });
          tile.title = `${field.path}: ${percent(field.share)}, ${whole.format(Math.round(field.bits))} bits, ${whole.format(field.count)} times, ${(field.bits / (field.count || 1)).toFixed(1)} each`;
          if (inner.w < 44 || inner.h < 22) return;
          make("span", "", tile, inner.w > 110 ? shortPath(field.path) : field.path.slice(field.path.lastIndexOf(".") + 1));
          if (inner.h > 40) make("span", "", tile, percent(field.share));
        });
      });
    };
    new ResizeObserver(draw).observe(box);
  }

  function fields() {
    byId("fields-summary").textContent = `All ${data.fields.length} fields as a table`;
    const most = Math.max(...data.fields.map((field) => field.bits), 1);
    const draw = () => {
      const wanted = byId("filter").value.toLowerCase();
      const shown = data.fields.filter((field) => field.path.toLowerCase().includes(wanted)).slice(0, 1000);
      byId("fields").replaceChildren();
      table(byId("fields"),
        [["Field", "name"], ["Times", "number"], ["Bits", "number"], ["Mean", "number"], ["Share", "number"], ["", "bar"]],
        shown.map((field) => [field.path, whole.format(field.count), whole.format(Math.round(field.bits)),
          (field.bits / (field.count || 1)).toFixed(1), percent(field.share), { share: field.bits / most, name: field.colour }]));
    };
    byId("filter").addEventListener("input", draw);
    draw();
  }

  function refusals() {
    if (data.refusals.length === 0) return;
    byId("refused-section").hidden = false;
    table(byId("refused"), [["Packets", "number"], ["Reason", "reason"], ["The first", "number"]],
      data.refusals.map((reason) => [whole.format(reason.count), reason.reason, reason.packets.join(", ")]));
  }

  function packets() {
    const shown = data.shown;
    byId("chosen").textContent = shown.length === data.packets
      ? `All ${whole.format(data.packets)} packets.`
      : `${whole.format(shown.length)} of ${whole.format(data.packets)} packets: the first, the largest and the refused ones. The totals above are of all.`;
    if (shown.length === 0) return;
    const grid = make("table", "", byId("packets"));
    const head = make("tr", "", make("thead", "", grid));
    for (const [name, kind] of [["Packet", "number"], ["Seconds", "number"], ["Type", ""], ["Bytes", "number"]]) make("th", kind, head, name).scope = "col";
    const body = make("tbody", "", grid);
    const rows = shown.map((packet, at) => {
      const row = make("tr", "", body);
      row.setAttribute("role", "option");
      row.id = `packet-${at}`;
      make("td", "number", row, whole.format(packet.packet));
      make("td", "number", row, packet.time.toFixed(3));
      const type = make("td", "", row, packet.type === "?" ? "not let in" : packet.type);
      if (packet.refused) make("span", "alarm", type, " refused");
      make("div", "way", type, `${packet.from} → ${packet.to}`);
      make("td", "number", row, whole.format(packet.bytes));
      row.addEventListener("click", () => choose(at));
      return row;
    });
    let chosen = -1;
    function choose(at) {
      rows.forEach((row, other) => row.setAttribute("aria-selected", String(other === at)));
      chosen = at;
      byId("packets").setAttribute("aria-activedescendant", rows[at].id);
      drawXray(byId("xray"), shown[at].xray);
    }
    byId("packets").addEventListener("keydown", (event) => {
      const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(Math.min(Math.max(to, 0), rows.length - 1));
      rows[chosen].scrollIntoView({ block: "nearest" });
    });
    choose(0);
  }

  heading();
  types();
  timeline();
  treemap();
  fields();
  refusals();
  packets();
})();
