// Draws the cubes on an ordinary canvas, far to near, where there is no WebGL2.

import { FLOATS } from "./cubes.js";

const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1 ? 1 : -1, n & 2 ? 1 : -1, n & 4 ? 1 : -1]);
const FACES = [
  { corners: [0, 4, 6, 2], axis: 0, sign: -1 }, { corners: [1, 3, 7, 5], axis: 0, sign: 1 },
  { corners: [0, 1, 5, 4], axis: 1, sign: -1 }, { corners: [2, 6, 7, 3], axis: 1, sign: 1 },
  { corners: [0, 2, 3, 1], axis: 2, sign: -1 }, { corners: [4, 5, 7, 6], axis: 2, sign: 1 },
];

/** A renderer for a canvas. */
export function flatCubes(canvas) {
  const context = canvas.getContext("2d");
  return { kind: "2d", draw: (...all) => draw(context, ...all) };
}

function draw(context, instances, count, camera, colours) {
  const { width, height } = context.canvas;
  context.fillStyle = css(colours.ground, 1);
  context.fillRect(0, 0, width, height);
  const m = camera.matrix;
  const project = (x, y, z) => {
    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
    if (w < 0.1) return null;
    return [
      (0.5 + (m[0] * x + m[4] * y + m[8] * z + m[12]) / w / 2) * width,
      (0.5 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w / 2) * height,
      w,
    ];
  };

  const order = [];
  for (let at = 0; at < count; at++) {
    const from = at * FLOATS;
    const middle = project(instances[from], instances[from + 1], instances[from + 2]);
    if (middle) order.push([middle[2], from]);
  }
  order.sort((a, b) => b[0] - a[0]);
  for (const [, from] of order) cube(context, instances, from, project, camera.eye, colours);
}

function cube(context, instances, from, project, eye, colours) {
  const [x, y, z, qx, qy, qz, qw, half, look] = instances.subarray(from, from + FLOATS);
  const axes = [
    [1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy + qz * qw), 2 * (qx * qz - qy * qw)],
    [2 * (qx * qy - qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz + qx * qw)],
    [2 * (qx * qz + qy * qw), 2 * (qy * qz - qx * qw), 1 - 2 * (qx * qx + qy * qy)],
  ];
  const points = CORNERS.map((corner) => {
    const at = [x, y, z];
    for (let axis = 0; axis < 3; axis++) {
      for (let part = 0; part < 3; part++) at[part] += axes[axis][part] * corner[axis] * half;
    }
    return project(...at);
  });
  if (points.includes(null)) return;
  const colour = look > 1.5 ? colours.player
    : colours.asleep.map((part, at) => part + (colours.awake[at] - part) * Math.min(Math.max(look, 0), 1));
  for (const face of FACES) {
    const normal = axes[face.axis].map((part) => part * face.sign);
    const seen = (eye[0] - x) * normal[0] + (eye[1] - y) * normal[1] + (eye[2] - z) * normal[2];
    if (seen <= half) continue;
    context.fillStyle = css(colour, 0.66 + 0.3 * Math.max(normal[1], 0) + 0.1 * normal[0]);
    context.beginPath();
    face.corners.forEach((corner, at) => context[at ? "lineTo" : "moveTo"](points[corner][0], points[corner][1]));
    context.closePath();
    context.fill();
  }
}

function css(colour, lit) {
  return `rgb(${colour.map((part) => Math.min(Math.round(part * lit * 255), 255)).join(" ")})`;
}
