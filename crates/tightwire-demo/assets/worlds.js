// The server's world and the client's, side by side. Frames arrive at the demo's rate, and are
// interpolated at the screen's.

import { FLOATS, isWebglFast, webglCubes } from "./cubes.js";
import { flatCubes } from "./flat.js";
import { Camera } from "./camera.js";

const HEADER = 16;
const RECORD = 60;
const TICKS_PER_SECOND = 60;
/** Playback delay in ticks, so that the next frame has arrived when it is due. */
const BUFFERED_FRAMES = 2;
const MAX_FRAMES = 32;
/** Distance in metres from which on a motion is a teleport, and is not interpolated. */
const JUMP = 2;
/** Half sides of the cubes in metres, as in the demo's world. */
const HALF_SIDE = { cube: 0.16, player: 0.7 };
const PLAYER = 2;
const ON_CLIENT = 4;
const OWN = 8;

/** Parses a frame of the demo; null if it is malformed. */
export function parseFrame(buffer) {
  if (buffer.byteLength < HEADER) return null;
  const view = new DataView(buffer);
  const count = view.getUint32(8, true);
  if (buffer.byteLength !== HEADER + count * RECORD) return null;
  const floats = new Float32Array(buffer, HEADER);
  for (let at = 0; at < floats.length; at += RECORD / 4) {
    for (const from of [0, 3, 7, 10]) zUpToYUp(floats, at + from);
  }
  return {
    tick: view.getUint32(0, true),
    clientTick: view.getFloat32(4, true),
    count,
    floats,
    flags: new Uint32Array(buffer, HEADER),
  };
}

/** Converts a vector, or the axis of an orientation, from the demo's z-up to the renderer's y-up axes. */
function zUpToYUp(floats, at) {
  const y = floats[at + 1];
  floats[at + 1] = floats[at + 2];
  floats[at + 2] = -y;
}

export class Worlds {
  constructor(serverCanvas, clientCanvas) {
    this.camera = new Camera([serverCanvas, clientCanvas]);
    // With #webgl or #flat in the address, one of the two ways to draw can be chosen.
    const webgl = location.hash === "#webgl" || (location.hash !== "#flat" && isWebglFast());
    this.views = [serverCanvas, clientCanvas].map((canvas, which) => ({
      canvas,
      renderer: (webgl && webglCubes(canvas)) || flatCubes(canvas),
      // In a frame the server's seven numbers come first, then the client's.
      offset: which * 7,
      needs: which === 0 ? 0 : ON_CLIENT,
      instances: new Float32Array(0),
      count: 0,
    }));
    this.frames = [];
    this.tick = null;
    /** The player that the camera follows. */
    this.followed = 0;
    /** The page steers that player. */
    this.isSteered = false;
    this.drawn = 0;
    this.received = 0;
    this.warmth = new Float32Array(0);
    this.detail = Math.min(window.devicePixelRatio || 1, 2);
    this.slowness = 0;
    this.colours = null;
  }

  /** Adds a frame. A tick that goes back means that the demo restarted. */
  push(buffer) {
    const frame = parseFrame(buffer);
    if (!frame) return;
    const last = this.frames.at(-1);
    if (last && (frame.tick < last.tick || frame.count !== last.count)) this.frames = [];
    if (last && frame.tick === last.tick) this.frames.pop();
    this.frames.push(frame);
    if (this.frames.length > MAX_FRAMES) this.frames.shift();
    this.received++;
  }

  /** Returns how far the client is behind the server, in milliseconds. */
  behind() {
    const last = this.frames.at(-1);
    return last ? ((last.tick - last.clientTick) * 1000) / TICKS_PER_SECOND : 0;
  }

  /** Returns the place of the own cube in a view; null before there is one. */
  ownPlace(view) {
    const { instances, count } = this.views[view];
    for (let at = 0; at < count * FLOATS; at += FLOATS) {
      if (instances[at + 8] > 2.5) return [...instances.subarray(at, at + 3)];
    }
    return null;
  }

  /** Draws the world at the playback time, between two frames; `passed` is in seconds since the last call. */
  draw(passed) {
    const newest = this.frames.at(-1);
    if (!newest || !this.colours) return;
    const wanted = newest.tick - BUFFERED_FRAMES;
    const now = this.tick === null ? wanted : this.tick + passed * TICKS_PER_SECOND;
    // Small differences are corrected gradually, large ones at once.
    this.tick = Math.abs(now - wanted) > 15 ? wanted : now + (wanted - now) * Math.min(passed * 3, 1);

    const next = this.frames.findIndex((frame) => frame.tick > this.tick);
    const to = next < 0 ? newest : this.frames[next];
    const from = next < 0 ? newest : this.frames[Math.max(next - 1, 0)];
    const share = to === from ? 0 : Math.min(Math.max((this.tick - from.tick) / (to.tick - from.tick), 0), 1);
    this.warm(to, passed);
    for (const view of this.views) this.fill(view, from, to, share);
    const followed = this.views[1].count > 0 ? this.views[1] : this.views[0];
    this.camera.follow(followed, this.followed, passed * (this.isSteered ? 4 : 0.8));
    for (const view of this.views) this.show(view);
    this.drawn++;
    this.adapt(passed);
  }

  /** Fades the colours of cubes that wake or fall asleep. */
  warm(frame, passed) {
    if (this.warmth.length !== frame.count) this.warmth = new Float32Array(frame.count);
    const step = Math.min(passed * 5, 1);
    for (let cube = 0; cube < frame.count; cube++) {
      const awake = frame.flags[cube * 15 + 14] & 1;
      this.warmth[cube] += (awake - this.warmth[cube]) * step;
    }
  }

  fill(view, from, to, share) {
    if (view.instances.length !== to.count * FLOATS) view.instances = new Float32Array(to.count * FLOATS);
    const out = view.instances;
    let at = 0;
    for (let cube = 0; cube < to.count; cube++) {
      const flags = to.flags[cube * 15 + 14];
      if ((flags & view.needs) !== view.needs) continue;
      const base = cube * 15 + view.offset;
      const a = from.floats;
      const b = to.floats;
      const moved = Math.abs(a[base] - b[base]) + Math.abs(a[base + 1] - b[base + 1]) + Math.abs(a[base + 2] - b[base + 2]);
      const onClient = (from.flags[cube * 15 + 14] & view.needs) === view.needs;
      const part = moved > JUMP || !onClient ? 1 : share;
      for (let axis = 0; axis < 3; axis++) out[at + axis] = a[base + axis] + (b[base + axis] - a[base + axis]) * part;
      mixTurn(out, at + 3, a, b, base + 3, part);
      out[at + 7] = flags & PLAYER ? HALF_SIDE.player : HALF_SIDE.cube;
      out[at + 8] = flags & OWN ? 3 : flags & PLAYER ? 2 : this.warmth[cube];
      at += FLOATS;
    }
    view.count = at / FLOATS;
  }

  show(view) {
    const { canvas } = view;
    const width = Math.max(Math.round(canvas.clientWidth * this.detail), 1);
    const height = Math.max(Math.round(canvas.clientHeight * this.detail), 1);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const camera = this.camera.look(width / height);
    view.renderer.draw(view.instances, view.count, camera, this.colours);
  }

  /** Lowers the resolution where drawing is slow, as without a graphics card. */
  adapt(passed) {
    this.slowness += (passed - this.slowness) * 0.05;
    if (this.slowness > 0.045 && this.detail > 0.8 && this.drawn % 10 === 0) this.detail *= 0.85;
  }

  /** Sets the colours from the theme of the page. */
  useColours(style) {
    const colour = (name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
    };
    this.colours = {
      sky: colour("--sky"), ground: colour("--ground"), line: colour("--ground-line"),
      asleep: colour("--cube-asleep"), awake: colour("--cube-awake"), player: colour("--cube-player"),
      own: colour("--cube-own"),
      shade: Number(style.getPropertyValue("--shade")),
    };
  }
}

/** Interpolates two orientations, the shorter way round. */
function mixTurn(out, at, a, b, base, share) {
  const dot = a[base] * b[base] + a[base + 1] * b[base + 1] + a[base + 2] * b[base + 2] + a[base + 3] * b[base + 3];
  const sign = dot < 0 ? -1 : 1;
  let length = 0;
  for (let part = 0; part < 4; part++) {
    const value = a[base + part] * (1 - share) + b[base + part] * share * sign;
    out[at + part] = value;
    length += value * value;
  }
  length = Math.sqrt(length) || 1;
  for (let part = 0; part < 4; part++) out[at + part] /= length;
}
