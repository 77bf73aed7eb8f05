// Draws the cubes on a 2D canvas, far to near, for machines without a graphics card: there, it is
// much faster than WebGL, which the processor would emulate.

import { FLOATS } from "./cubes.js";

/** The corners of a face, in order around it: bit 0 of a corner is x, bit 1 y, bit 2 z. */
const FACES = [
  { corners: [0, 4, 6, 2], axis: 0, sign: -1 }, { corners: [1, 3, 7, 5], axis: 0, sign: 1 },
  { corners: [0, 1, 5, 4], axis: 1, sign: -1 }, { corners: [2, 6, 7, 3], axis: 1, sign: 1 },
  { corners: [0, 2, 3, 1], axis: 2, sign: -1 }, { corners: [4, 5, 7, 6], axis: 2, sign: 1 },
];
/** Number of steps of light and of colour, so that few colours are formatted as text. */
const STEPS = 24;
const GRID = 2;
const GRID_LINES = 14;

/** A renderer for a canvas. */
export function flatCubes(canvas) {
  // Without a graphics card, `willReadFrequently` is faster: the canvas stays in main memory.
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  const view = { context, paints: new Map(), colours: null, x: new Float64Array(8), y: new Float64Array(8) };
  return { kind: "2d", draw: (...all) => draw(view, ...all) };
}

function draw(view, instances, count, camera, colours) {
  const { context } = view;
  if (view.colours !== colours) Object.assign(view, { colours, paints: new Map() });
  context.fillStyle = css(colours.ground, 1);
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
  lines(context, camera, css(colours.line, 1));

  const m = camera.matrix;
  const order = [];
  for (let from = 0; from < count * FLOATS; from += FLOATS) {
    const depth = m[3] * instances[from] + m[7] * instances[from + 1] + m[11] * instances[from + 2] + m[15];
    if (depth > 1) order.push({ depth, from });
  }
  order.sort((a, b) => b.depth - a.depth);
  context.fillStyle = `rgb(0 0 0 / ${colours.shade})`;
  for (const { from } of order) shadow(context, instances, from, m);
  for (const { from } of order) cube(view, instances, from, camera);
}

/** Draws the grid of the ground around the camera's target. */
function lines(context, camera, colour) {
  const m = camera.matrix;
  const { width, height } = context.canvas;
  const [midX, midZ] = [camera.target[0], camera.target[2]].map((at) => Math.round(at / GRID) * GRID);
  const reach = GRID * GRID_LINES;
  const segment = (x, z, alongX) => {
    // In pieces, so that those behind the camera can be left out.
    let drawing = false;
    for (let at = -reach; at <= reach; at += GRID) {
      const px = alongX ? midX + at : x;
      const pz = alongX ? z : midZ + at;
      const w = m[3] * px + m[11] * pz + m[15];
      if (w < 0.5) { drawing = false; continue; }
      const sx = (0.5 + (m[0] * px + m[8] * pz + m[12]) / w / 2) * width;
      const sy = (0.5 - (m[1] * px + m[9] * pz + m[13]) / w / 2) * height;
      context[drawing ? "lineTo" : "moveTo"](sx, sy);
      drawing = true;
    }
  };
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = -reach; at <= reach; at += GRID) {
    segment(midX + at, 0, false);
    segment(0, midZ + at, true);
  }
  context.stroke();
}

/** Draws a cube's shadow: a square on the ground, away from the sun. */
function shadow(context, instances, from, m) {
  const { width, height } = context.canvas;
  const half = instances[from + 7];
  const lift = instances[from + 1];
  const x = instances[from] - lift * 0.52;
  const z = instances[from + 2] - lift * 0.45;
  context.beginPath();
  for (const [dx, dz] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
    const px = x + dx * half;
    const pz = z + dz * half;
    const w = m[3] * px + m[11] * pz + m[15];
    context.lineTo((0.5 + (m[0] * px + m[8] * pz + m[12]) / w / 2) * width, (0.5 - (m[1] * px + m[9] * pz + m[13]) / w / 2) * height);
  }
  context.fill();
}

function cube(view, instances, from, camera) {
  const { context, x: xs, y: ys } = view;
  const { width, height } = context.canvas;
  const { matrix: m, eye } = camera;
  const [x, y, z, qx, qy, qz, qw, half, look] = instances.subarray(from, from + FLOATS);
  const axes = [
    [1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy + qz * qw), 2 * (qx * qz - qy * qw)],
    [2 * (qx * qy - qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz + qx * qw)],
    [2 * (qx * qz + qy * qw), 2 * (qy * qz - qx * qw), 1 - 2 * (qx * qx + qy * qy)],
  ];
  // The three axes in clip space: corners are sums of them, and only corners are divided by w.
  const seen = axes.map(([ax, ay, az]) => [0, 1, 3].map((row) => half * (m[row] * ax + m[row + 4] * ay + m[row + 8] * az)));
  const middle = [0, 1, 3].map((row) => m[row] * x + m[row + 4] * y + m[row + 8] * z + m[row + 12]);
  for (let corner = 0; corner < 8; corner++) {
    const [a, b, c] = [corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1];
    const at = (row) => middle[row] + a * seen[0][row] + b * seen[1][row] + c * seen[2][row];
    const w = Math.max(at(2), 0.1);
    xs[corner] = (0.5 + at(0) / w / 2) * width;
    ys[corner] = (0.5 - at(1) / w / 2) * height;
  }
  for (const { corners, axis, sign } of FACES) {
    const [nx, ny, nz] = axes[axis];
    const facing = sign * ((eye[0] - x) * nx + (eye[1] - y) * ny + (eye[2] - z) * nz);
    if (facing <= half) continue;
    context.fillStyle = paint(view, look, 0.74 + sign * (0.16 * ny + 0.1 * nx + 0.06 * nz) + 0.12 * Math.max(sign * ny, 0));
    context.beginPath();
    for (const corner of corners) context.lineTo(xs[corner], ys[corner]);
    context.fill();
  }
}

function paint(view, look, lit) {
  const warm = look > 1.5 ? STEPS + Math.round(look) - 1 : Math.round(Math.min(Math.max(look, 0), 1) * STEPS);
  const light = Math.round(lit * STEPS);
  const key = warm * 64 + light;
  if (!view.paints.has(key)) {
    const { asleep, awake, player, own } = view.colours;
    const colour = warm > STEPS ? [player, own][warm - STEPS - 1] : asleep.map((part, at) => part + ((awake[at] - part) * warm) / STEPS);
    view.paints.set(key, css(colour, light / STEPS));
  }
  return view.paints.get(key);
}

function css(colour, lit) {
  return `rgb(${colour.map((part) => Math.min(Math.round(part * lit * 255), 255)).join(" ")})`;
}
