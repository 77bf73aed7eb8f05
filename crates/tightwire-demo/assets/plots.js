// A stacked plot of the last half minute, with a legend of the current values.

const SECONDS = 30;

/** Bytes per second in words. */
export function rate(bytes) {
  if (bytes >= 999_500) return `${(bytes / 1e6).toFixed(2)} MB/s`;
  return bytes >= 999.5 ? `${(bytes / 1e3).toFixed(bytes >= 99_950 ? 0 : 1)} kB/s` : `${bytes.toFixed(0)} B/s`;
}

export class StackedPlot {
  /** Draws into a figure that has a canvas, a list for the legend and an output for the sum. */
  constructor(figure) {
    this.canvas = figure.querySelector("canvas");
    this.list = figure.querySelector("ul");
    this.sum = figure.querySelector("output");
    this.samples = [];
    this.names = [];
    this.items = new Map();
    this.max = 1;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Adds a sample, a list of `{ name, bytes_per_second }` at a time in seconds; draws it if the plot is visible. */
  add(seconds, parts, isVisible) {
    if (this.samples.length && seconds < this.samples.at(-1).seconds) this.clear();
    const values = new Map();
    for (const { name, bytes_per_second: bytes } of parts ?? []) {
      values.set(name, Math.max(Number(bytes) || 0, 0));
      if (!this.names.includes(name)) this.names.push(name);
    }
    this.samples.push({ seconds, values });
    while (this.samples[0].seconds < seconds - SECONDS - 1) this.samples.shift();
    this.legend(values);
    if (isVisible) this.draw();
  }

  /** Drops all samples, since another client or another demo is shown. */
  clear() {
    this.samples = [];
    this.names = [];
    this.items.clear();
    this.list.replaceChildren();
  }

  legend(values) {
    let sum = 0;
    for (const name of this.names) {
      const value = values.get(name) ?? 0;
      sum += value;
      if (!this.items.has(name)) this.items.set(name, this.item(name));
      this.items.get(name).lastElementChild.textContent = rate(value);
    }
    this.sum.textContent = rate(sum);
  }

  item(name) {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    const label = document.createElement("span");
    label.textContent = name;
    const value = document.createElement("span");
    value.className = "value";
    item.append(swatch, label, value);
    this.list.append(item);
    return item;
  }

  draw() {
    const { canvas, samples, names } = this;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0 || height === 0) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const dark = style.getPropertyValue("--dark").trim() === "1";

    const sums = samples.map(({ values }) => [...values.values()].reduce((sum, value) => sum + value, 0));
    const highest = Math.max(...sums, 90);
    // The scale grows at once, and shrinks only below a third.
    if (highest > this.max || highest < this.max / 3) this.max = roundUp(highest * 1.1);
    const area = { left: 58, right: width - 6, top: 8, bottom: height - 20 };
    const end = samples.at(-1)?.seconds ?? 0;
    const x = (seconds) => area.right - ((end - seconds) / SECONDS) * (area.right - area.left);
    const y = (value) => area.bottom - (value / this.max) * (area.bottom - area.top);

    this.axes(context, area, y, style);
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.right - area.left, height);
    context.clip();
    const base = new Float64Array(samples.length);
    for (const name of names) {
      context.beginPath();
      samples.forEach((sample, at) => context.lineTo(x(sample.seconds), y(base[at] + (sample.values.get(name) ?? 0))));
      for (let at = samples.length - 1; at >= 0; at--) context.lineTo(x(samples[at].seconds), y(base[at]));
      context.closePath();
      const colour = drawXray.colour(name, dark);
      context.fillStyle = colour;
      context.fill();
      samples.forEach((sample, at) => (base[at] += sample.values.get(name) ?? 0));
      this.items.get(name).firstElementChild.style.background = colour;
    }
    context.restore();
  }

  axes(context, area, y, style) {
    context.font = `11px ${style.fontFamily}`;
    context.fillStyle = style.getPropertyValue("--quiet");
    context.strokeStyle = style.getPropertyValue("--line");
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const share of [0, 0.5, 1]) {
      const line = Math.round(y(this.max * share)) + 0.5;
      context.beginPath();
      context.moveTo(area.left, line);
      context.lineTo(area.right, line);
      context.stroke();
      context.fillText(share === 0 ? "0" : rate(this.max * share).replace(/\.0 /, " "), area.left - 6, line);
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText(`${SECONDS} s ago`, area.left, area.bottom + 15);
    context.textAlign = "right";
    context.fillText("now", area.right, area.bottom + 15);
  }
}

/** The next of 1, 2, 3, 4, 5, 6, 8 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 3, 4, 5, 6, 8].find((step) => step * power >= value) ?? 10);
}
