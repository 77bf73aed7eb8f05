// One camera for both worlds: it follows a player slowly and is turned by mouse, touch or keys.

import { FLOATS } from "./cubes.js";

export class Camera {
  constructor(canvases) {
    this.target = [0, 0.5, 0];
    this.yaw = 0.7;
    this.pitch = 0.66;
    this.distance = 17;
    this.started = false;
    this.still = false;
    // On the client's world the arrow keys steer.
    canvases.forEach((canvas, which) => this.listen(canvas, which === 0));
  }

  turn(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.min(Math.max(this.pitch + pitch, 0.08), 1.5);
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(this.distance * factor, 3), 60);
  }

  listen(canvas, hasArrows) {
    const fingers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      if (fingers.size === 1) {
        this.turn((before.clientX - event.clientX) * 0.008, (event.clientY - before.clientY) * 0.006);
      } else {
        const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
        const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
        this.zoom(apart(before) / Math.max(apart(event), 1));
      }
      fingers.set(event.pointerId, event);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    }
    canvas.addEventListener("wheel", (event) => {
      // The plain wheel belongs to the page, which is longer than the screen.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.003));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const arrows = {
        ArrowLeft: () => this.turn(0.1, 0), ArrowRight: () => this.turn(-0.1, 0),
        ArrowUp: () => this.turn(0, 0.07), ArrowDown: () => this.turn(0, -0.07),
      };
      const keys = {
        "+": () => this.zoom(0.88), "=": () => this.zoom(0.88), "-": () => this.zoom(1.14), ...(hasArrows && arrows),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  /** Drifts to a player, the first, the second and so on of those in a view, by a share of the way. */
  follow(view, player, share) {
    if (this.still && this.started) return;
    for (let at = 0; at < view.count * FLOATS; at += FLOATS) {
      if (view.instances[at + 8] < 1.5 || player-- > 0) continue;
      const step = this.started ? Math.min(share, 1) : 1;
      for (const axis of [0, 2]) this.target[axis] += (view.instances[at + axis] - this.target[axis]) * step;
      this.started = true;
      return;
    }
  }

  /** The eye, and the matrix from the world to the screen, column by column. */
  look(aspect) {
    const flat = Math.cos(this.pitch) * this.distance;
    const eye = [
      this.target[0] + Math.sin(this.yaw) * flat,
      this.target[1] + Math.sin(this.pitch) * this.distance,
      this.target[2] + Math.cos(this.yaw) * flat,
    ];
    const back = unit(eye.map((part, axis) => part - this.target[axis]));
    const right = unit([back[2], 0, -back[0]]);
    const up = cross(back, right);
    // A narrow screen sees as much from left to right as a square one.
    const zoom = 2.1 * Math.min(aspect, 1);
    const near = 0.5;
    const far = 400;
    const depth = (far + near) / (near - far);
    const columns = [0, 1, 2].map((axis) => [
      (right[axis] * zoom) / aspect, up[axis] * zoom, back[axis] * depth, -back[axis],
    ]);
    const place = [right, up, back].map((axis) => -(axis[0] * eye[0] + axis[1] * eye[1] + axis[2] * eye[2]));
    columns.push([
      (place[0] * zoom) / aspect, place[1] * zoom, place[2] * depth + (2 * far * near) / (near - far), -place[2],
    ]);
    return { eye, target: this.target, matrix: new Float32Array(columns.flat()) };
  }
}

function unit(v) {
  const length = Math.hypot(...v) || 1;
  return v.map((part) => part / length);
}

function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}
