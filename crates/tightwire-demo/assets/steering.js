// Steering of the shown client's cube, by keys or by a pad for fingers.

const DIRECTIONS = {
  KeyW: [0, 1], KeyA: [-1, 0], KeyS: [0, -1], KeyD: [1, 0],
  ArrowUp: [0, 1], ArrowLeft: [-1, 0], ArrowDown: [0, -1], ArrowRight: [1, 0],
};
const ACTIONS = { Space: "blow", KeyE: "gather" };

/** Time between repetitions, in milliseconds: the camera may turn, and the demo drops old input. */
const REPEAT_MS = 100;

export class Steering {
  /** `send` gets each input; keys count while `isActive` returns true. */
  constructor({ pad, buttons, camera, isActive, send }) {
    Object.assign(this, { camera, isActive, send });
    this.keys = new Set();
    this.held = { blow: false, gather: false };
    /** Position of the finger on the pad, from -1 to 1. */
    this.stick = [0, 0];
    this.timer = null;
    addEventListener("keydown", (event) => this.press(event));
    addEventListener("keyup", (event) => this.release(event.code));
    addEventListener("blur", () => this.releaseAll());
    document.addEventListener("visibilitychange", () => this.releaseAll());
    this.listenToPad(pad);
    for (const button of buttons) this.listenToButton(button);
  }

  press(event) {
    if (!(event.code in DIRECTIONS || event.code in ACTIONS) || !this.isMine(event)) return;
    event.preventDefault();
    if (this.keys.has(event.code)) return;
    this.keys.add(event.code);
    this.update();
  }

  /** Whether a key steers, and is not for the control that has the focus. */
  isMine({ code, target, ctrlKey, metaKey, altKey }) {
    if (ctrlKey || metaKey || altKey || !this.isActive()) return false;
    const focus = target instanceof Element ? target : document.body;
    if (focus.closest("input[type=text], select")) return false;
    if (code.startsWith("Arrow")) return !focus.closest("input, .xray-ruler, #server-world");
    return code !== "Space" || !focus.closest("button, summary, input, a");
  }

  release(code) {
    if (this.keys.delete(code)) this.update();
  }

  releaseAll() {
    const wasHeld = this.isHeld();
    this.keys.clear();
    this.stick = [0, 0];
    this.held = { blow: false, gather: false };
    if (wasHeld) this.update();
  }

  listenToPad(pad) {
    const knob = pad.querySelector(".knob");
    const follow = (event) => {
      const box = pad.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 2 - 1;
      const y = 1 - ((event.clientY - box.top) / box.height) * 2;
      const scale = 1 / Math.max(Math.hypot(x, y), 1);
      this.stick = [x * scale, y * scale];
      knob.style.transform = `translate(${this.stick[0] * 50}%, ${-this.stick[1] * 50}%)`;
      this.update();
    };
    pad.addEventListener("pointerdown", (event) => {
      pad.setPointerCapture(event.pointerId);
      follow(event);
    });
    pad.addEventListener("pointermove", (event) => pad.hasPointerCapture(event.pointerId) && follow(event));
    for (const name of ["pointerup", "pointercancel"]) {
      pad.addEventListener(name, () => {
        this.stick = [0, 0];
        knob.style.transform = "";
        this.update();
      });
    }
  }

  listenToButton(button) {
    const set = (isHeld) => {
      this.held[button.dataset.action] = isHeld;
      this.update();
    };
    button.addEventListener("pointerdown", () => set(true));
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) button.addEventListener(name, () => set(false));
  }

  /** Returns the wanted direction on the screen, at most 1 long. */
  direction() {
    let [x, y] = this.stick;
    for (const key of this.keys) {
      x += DIRECTIONS[key]?.[0] ?? 0;
      y += DIRECTIONS[key]?.[1] ?? 0;
    }
    const scale = 1 / Math.max(Math.hypot(x, y), 1);
    return [x * scale, y * scale];
  }

  isHeld() {
    return this.keys.size > 0 || this.held.blow || this.held.gather || this.stick.some((part) => part !== 0);
  }

  /** Sends the input now, and again while something is held. */
  update() {
    const [right, up] = this.direction();
    const { yaw } = this.camera;
    const action = (name) => this.held[name] || [...this.keys].some((key) => ACTIONS[key] === name);
    this.send({
      x: Math.round((right * Math.cos(yaw) - up * Math.sin(yaw)) * 100),
      y: Math.round((right * Math.sin(yaw) + up * Math.cos(yaw)) * 100),
      gather: action("gather"),
      blow: action("blow"),
    });
    clearTimeout(this.timer);
    if (this.isHeld()) this.timer = setTimeout(() => this.update(), REPEAT_MS);
  }
}
