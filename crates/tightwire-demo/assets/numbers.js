// Statistics of the demo as tiles: name, value and explanation.

const whole = (value) => Math.round(value).toLocaleString("en");
const milliseconds = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const bytes = (value) => `${whole(value)} B`;
/** Shows a dash for a value without data. */
const ifAny = (show) => (value) => (value > 0 ? show(value) : "–");

const TILES = [
  { key: "snapshot_bytes", name: "Snapshot size", show: ifAny(bytes),
    note: () => "on average",
    title: "Size of a packet that brings this client's world up to date" },
  { key: "ratio", name: "Smaller than raw", show: ifAny((value) => `${value.toFixed(value < 10 ? 1 : 0)}×`),
    note: (stats) => `raw is ${bytes(stats.raw_bytes)}`,
    title: "All objects whole, packed field by field as #[derive(Wire)] does, divided by a snapshot" },
  { key: "changed_objects", name: "Objects changed", show: whole,
    note: () => "in a snapshot, against its baseline",
    title: "Objects of a snapshot that differ from their baseline, the state that the client has acked" },
  { key: "snapshots_in_flight", name: "In flight", show: whole,
    note: () => "snapshots sent and not yet acked",
    title: "The longer the round trip, the older the baseline of a snapshot" },
  { key: "round_trip_ms", name: "Round trip", show: milliseconds,
    note: (stats) => `${stats.controls.round_trip_ms} ms configured`,
    title: "As the transport measures it: the link, its jitter, and waiting for the next tick" },
  { key: "loss", name: "Loss", show: (value) => `${(value * 100).toFixed(1)}%`,
    note: (stats) => `${(stats.controls.loss * 100).toFixed(0)}% configured`,
    title: "Packets that the link dropped in the last second, both directions" },
  { key: "snapshots_per_second", name: "Snapshots", show: (value) => `${value.toFixed(0)} /s`,
    note: (stats) => `${stats.controls.send_rate} asked for`,
    title: "Snapshots that this client decoded in the last second" },
  { key: "playback_delay_ms", name: "Playback delay", show: milliseconds,
    note: () => "held back to play smoothly",
    title: "How long the client holds states back, so that late packets still arrive in time" },
  { key: "error_mm", name: "Error", show: (value) => `${value.toFixed(value < 10 ? 2 : 1)} mm`,
    note: () => "shown vs. server position, same tick",
    title: "Mean distance of the client's cubes from the server's at the tick that the client shows" },
  { key: "lead_ms", name: "Input lead", show: milliseconds,
    note: () => "the own cube is ahead of the server",
    title: "The client stamps and predicts inputs for a tick that the server has not reached, so that they arrive in time" },
  { key: "margin_ms", name: "Input margin", show: milliseconds,
    note: () => "inputs arrive before their tick",
    title: "As the server measures it: the client's clock is steered by this number" },
  { key: "missing_inputs", name: "Missing inputs", show: (value) => `${(value * 100).toFixed(1)}%`,
    note: () => "of ticks; the last is repeated",
    title: "Ticks of the last second in which the server had no input of this client" },
  { key: "corrections_per_second", name: "Corrections", show: (value) => `${value.toFixed(0)} /s`,
    note: () => "predictions that were wrong",
    title: "Snapshots that differed from the predicted state of the own cube: none without contact, unless inputs are missing" },
  { key: "replayed_per_second", name: "Replayed ticks", show: (value) => `${whole(value)} /s`,
    note: () => "stepped again after a correction",
    title: "From the corrected tick to the present, with the inputs that were sent" },
  { key: "correction_mm", name: "Correction size", show: (value) => `${value.toFixed(value < 10 ? 1 : 0)} mm`,
    note: () => "largest that was seen, as it fades",
    title: "Largest distance of the shown own cube from the predicted one in the last second" },
  { key: "refused", name: "Refused", show: whole, alarm: true, note: () => "packets, must stay 0",
    title: "Packets that did not decode" },
  { key: "disagreements", name: "Disagreements", show: whole, alarm: true, note: () => "states, must stay 0",
    title: "Decoded states whose checksum differs from the server's" },
  { key: "cpu_us_per_tick", name: "Server CPU", show: (value) => `${whole(value)} µs`,
    note: () => "per tick, for everything",
    title: "Processor time of the server's thread for a tick: physics, snapshots of all clients, sending" },
];

export class Numbers {
  constructor(list) {
    this.values = TILES.map((tile) => {
      const box = document.createElement("div");
      box.className = "tile";
      box.title = tile.title;
      box.dataset.key = tile.key;
      const [name, value, note] = ["dt", "dd", "dd"].map((kind) => document.createElement(kind));
      name.textContent = tile.name;
      value.className = "number";
      value.textContent = "–";
      note.className = "note";
      box.append(name, value, note);
      list.append(box);
      return { tile, box, value, note };
    });
  }

  show(stats) {
    for (const { tile, box, value, note } of this.values) {
      const number = stats[tile.key];
      if (!Number.isFinite(number)) continue;
      value.textContent = tile.show(number);
      note.textContent = tile.note(stats);
      if (tile.alarm) box.classList.toggle("alarm", number > 0);
    }
  }
}
