// Settings of the running demo. A change is sent at once; the current settings come back with the
// statistics, also when another page has changed them.

const SHOWN = {
  loss: (value) => `${value}%`,
  round_trip_ms: (value) => `${value} ms`,
  jitter_ms: (value) => `${value} ms`,
  send_rate: (value) => `${value} per second`,
};

/** Time after a change in which settings from the demo are ignored, in milliseconds: they may be older. */
const ECHO_DELAY_MS = 700;

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

  /** Shows the current settings, unless the user changed one just now. */
  show(controls, clients) {
    const { form } = this;
    form.elements.all.disabled = false;
    const choice = form.elements.shown_client;
    while (choice.options.length > clients) choice.remove(clients);
    while (choice.options.length < clients) {
      const number = choice.options.length;
      choice.add(new Option(`Client ${number}`, number));
    }
    if (performance.now() - this.changed < ECHO_DELAY_MS) return;
    form.elements.loss.value = Math.round(controls.loss * 100);
    for (const name of ["round_trip_ms", "jitter_ms", "send_rate", "shown_client"]) {
      if (form.elements[name].value !== String(controls[name])) form.elements[name].value = controls[name];
    }
    this.label();
  }

  /** Disables the controls while the demo cannot be reached. */
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
