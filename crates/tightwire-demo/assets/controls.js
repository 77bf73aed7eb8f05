// What can be changed while the demo runs. A change is sent at once; what holds comes back with the
// numbers, also when another page has changed it.

const SHOWN = {
  loss: (value) => `${value}%`,
  round_trip_ms: (value) => `${value} ms`,
  jitter_ms: (value) => `${value} ms`,
  send_rate: (value) => `${value} per second`,
};

/** How long an answer from before a change is not yet believed. */
const PATIENCE = 700;

export class Controls {
  constructor(form, send) {
    this.form = form;
    this.send = send;
    this.changed = -Infinity;
    this.held = null;
    form.addEventListener("input", () => {
      this.changed = performance.now();
      this.label();
      this.send(this.read());
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  read() {
    const value = (name) => Number(this.form.elements[name].value);
    return {
      loss: value("loss") / 100, round_trip_ms: value("round_trip_ms"), jitter_ms: value("jitter_ms"),
      send_rate: value("send_rate"), shown_client: value("shown_client"),
    };
  }

  /** Shows what holds, unless it was changed just now. */
  show(controls, clients) {
    const { form } = this;
    form.elements.all.disabled = false;
    const choice = form.elements.shown_client;
    while (choice.options.length > clients) choice.remove(clients);
    while (choice.options.length < clients) {
      const number = choice.options.length;
      choice.add(new Option(`Client ${number}`, number));
    }
    if (performance.now() - this.changed < PATIENCE) return;
    form.elements.loss.value = Math.round(controls.loss * 100);
    for (const name of ["round_trip_ms", "jitter_ms", "send_rate", "shown_client"]) {
      if (form.elements[name].value !== String(controls[name])) form.elements[name].value = controls[name];
    }
    this.label();
  }

  /** The demo cannot be reached: nothing would happen. */
  disable() {
    this.form.elements.all.disabled = true;
  }

  label() {
    for (const [name, words] of Object.entries(SHOWN)) {
      const input = this.form.elements[name];
      const text = words(input.value);
      input.setAttribute("aria-valuetext", text);
      this.form.querySelector(`output[for="${name}"]`).textContent = text;
    }
  }
}
