//! The page of the demo in a real browser, with the real demo behind it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Duration;

use serde_json::Value;

use crate::browser::{Browser, Graphics, http, wait_for};
use crate::common::{alone, demo};

/// The demo, until it is dropped.
struct Demo {
    process: Child,
    port: u16,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        Self::start_at(0, arguments)
    }

    fn start_at(port: u16, arguments: &[&str]) -> Self {
        let mut process =
            demo().args(["--port", &port.to_string()]).args(arguments).spawn().unwrap();
        let errors = process.stderr.take().unwrap();
        let (found, address) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once("http://127.0.0.1:") {
                    let digits = rest.chars().take_while(char::is_ascii_digit);
                    let _ = found.send(digits.collect::<String>());
                }
            }
        });
        let port = address.recv_timeout(Duration::from_secs(60)).expect("no address was printed");
        Self { process, port: port.parse().unwrap() }
    }

    /// Interrupts the demo as Ctrl-C does, and returns the summary that it prints.
    fn interrupt(mut self) -> Value {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let mut text = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn stats(&self) -> Value {
        serde_json::from_str(&http(self.port, "GET /stats.json")).unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Folder of the screenshots.
fn pictures() -> PathBuf {
    let folder = std::env::var_os("TIGHTWIRE_PICTURES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page"), PathBuf::from);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The numbers of all cubes of a world: 0 the server's, 1 the client's.
fn places(browser: &mut Browser, world: u32) -> Vec<f64> {
    let expression = format!(
        "Array.from(tightwire.worlds.views[{world}].instances).filter((_, at) => at % 9 < 3)"
    );
    let places = browser.evaluate(&expression);
    places.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn assert_both_worlds_move(browser: &mut Browser) {
    browser.wait_until("tightwire.worlds.drawn > 5 && tightwire.worlds.views[1].count > 100", 60);
    let drawn = browser.number("tightwire.worlds.drawn");
    let before = [0, 1].map(|world| places(browser, world));
    sleep(Duration::from_secs(2));
    assert!(browser.number("tightwire.worlds.drawn") > drawn, "nothing is drawn");
    for (world, before) in before.iter().enumerate() {
        let after = places(browser, world as u32);
        assert!(after.len() > 900 * 3, "{} numbers", after.len());
        let moved = before.iter().zip(&after).filter(|(a, b)| (**a - **b).abs() > 0.01).count();
        assert!(moved > 10, "world {world}: {moved} of {} numbers changed", after.len());
    }
}

/// Different colours in the middle of a world, as the screen has them.
fn colours_seen(browser: &mut Browser, canvas: &str) -> f64 {
    let expression = format!(
        "new Promise((done) => requestAnimationFrame(() => {{
            tightwire.worlds.draw(0);
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [128, 96];
            const context = copy.getContext('2d');
            context.drawImage(document.getElementById('{canvas}'), 0, 0, 128, 96);
            done(new Set(new Uint32Array(context.getImageData(0, 0, 128, 96).data.buffer)).size);
        }}))"
    );
    browser.number(&expression)
}

#[test]
fn the_page_shows_what_the_demo_does() {
    let _alone = alone();
    let demo = Demo::start(&[]);
    let mut browser = Browser::start(Graphics::Plain);
    browser.resize(1400, 900);
    browser.open(&demo.address());
    browser.wait_until("tightwire.connected && tightwire.stats !== null", 30);

    assert_both_worlds_move(&mut browser);
    for canvas in ["server-world", "client-world"] {
        let colours = colours_seen(&mut browser, canvas);
        assert!(colours > 50.0, "{canvas} shows {colours} colours");
    }
    let label = browser.text("document.getElementById('client-label').textContent");
    assert!(label.starts_with("Client 0, ") && label.ends_with(" ms behind"), "{label}");

    the_xray_shows_a_field(&mut browser);
    the_numbers_are_the_demos(&mut browser, &demo);
    the_keyboard_changes_settings_and_turns_the_worlds(&mut browser);
    the_keyboard_steers_the_own_cube(&mut browser);
    a_finger_steers_the_own_cube(&mut browser);
    the_loss_control_changes_the_loss(&mut browser, &demo);
    typed_chat_is_sent(&mut browser);
    take_pictures(&mut browser);
    assert_eq!(browser.problems(), [""; 0]);

    // Last, since a connection that is refused is an error at the console.
    let port = demo.port;
    drop(demo);
    browser.wait_until("!tightwire.connected && !document.getElementById('lost').hidden", 20);
    let status = browser.text("document.getElementById('connection').textContent");
    assert_eq!(status, "Connection lost, trying again");
    assert_eq!(browser.evaluate("document.getElementById('loss').matches(':disabled')"), true);

    let _again = Demo::start_at(port, &[]);
    browser.wait_until("tightwire.connected && document.getElementById('lost').hidden", 20);
    browser.wait_until("document.getElementById('loss').matches(':enabled')", 20);
    browser.evaluate("scrollTo(0, 0)");
    assert_both_worlds_move(&mut browser);
}

/// Goes through the spans by keyboard, and compares the first one that has a value with the demo's
/// data.
fn the_xray_shows_a_field(browser: &mut Browser) {
    browser.evaluate("document.getElementById('xray-card').scrollIntoView()");
    browser.wait_until("(tightwire.shownXray?.spans.length ?? 0) > 10", 30);
    browser.evaluate("document.getElementById('freeze').click()");
    browser.evaluate("document.querySelector('.xray-ruler').focus()");
    let wanted = browser.number(
        "tightwire.shownXray.spans.findIndex((span) => span.path && span.value && span.range)",
    );
    assert!(wanted >= 0.0, "no span has a value and a range");
    for _ in 0..=wanted as u32 {
        browser.press("ArrowRight");
    }
    let span = browser.evaluate(&format!("tightwire.shownXray.spans[{wanted}]"));
    let shown = browser.text("document.querySelector('.xray-detail').innerText");
    for part in ["path", "value", "range"] {
        let text = span[part].as_str().unwrap();
        assert!(shown.contains(text), "{shown:?} does not have the {part} {text:?}");
    }
    let spoken = browser.text("document.querySelector('.xray-ruler').ariaValueText");
    assert!(spoken.contains(span["value"].as_str().unwrap()), "{spoken}");
    browser.evaluate("document.querySelector('.xray-table').open = true");
    browser.wait_until("document.querySelectorAll('.xray-table tbody tr').length > 5", 20);
    browser.evaluate("document.querySelector('.xray-table').open = false");
    browser.evaluate("document.getElementById('freeze').click()");
}

/// Checks that the page showed a value between two that the demo served before and after.
fn the_numbers_are_the_demos(browser: &mut Browser, demo: &Demo) {
    let before = demo.stats();
    sleep(Duration::from_millis(500));
    let shown = browser.evaluate(
        "({stats: tightwire.stats, ratio: document.querySelector('[data-key=ratio] .number').textContent,
           size: document.querySelector('[data-key=snapshot_bytes] .number').textContent,
           down: document.querySelector('#plot-down output').textContent})",
    );
    sleep(Duration::from_millis(500));
    let after = demo.stats();
    let stats = &shown["stats"];
    let tick = |stats: &Value| stats["tick"].as_u64().unwrap();
    assert!(tick(&before) < tick(stats) && tick(stats) < tick(&after), "{stats}");
    for name in ["raw_bytes", "clients", "refused", "disagreements"] {
        assert_eq!(stats[name], after[name], "{name}");
    }
    assert_eq!(after["refused"], 0);
    assert_eq!(after["disagreements"], 0);

    let number = |name: &str| stats[name].as_f64().unwrap();
    let size = format!("{} B", number("snapshot_bytes").round());
    assert_eq!(shown["size"].as_str().unwrap().replace(',', ""), size);
    let digits = if number("ratio") < 10.0 { 1 } else { 0 };
    assert_eq!(shown["ratio"], format!("{:.digits$}×", number("ratio")));
    let parts = stats["down"].as_array().unwrap().iter();
    let sum: f64 = parts.map(|part| part["bytes_per_second"].as_f64().unwrap()).sum();
    let (value, unit) = shown["down"].as_str().unwrap().split_once(' ').unwrap();
    let scale = match unit {
        "B/s" => 1.0,
        "kB/s" => 1e3,
        _ => 1e6,
    };
    let down = value.parse::<f64>().unwrap() * scale;
    assert!((down - sum).abs() <= sum * 0.01 + 1.0, "{down} for {sum}");
}

fn the_keyboard_changes_settings_and_turns_the_worlds(browser: &mut Browser) {
    browser.evaluate("scrollTo(0, 0); document.activeElement.blur()");
    let mut reached = Vec::new();
    for _ in 0..20 {
        browser.press("Tab");
        reached.push(browser.text("document.activeElement.id"));
        if reached.last().is_some_and(|id| id == "round_trip_ms") {
            break;
        }
    }
    for id in ["theme", "server-world", "client-world", "pause", "loss", "round_trip_ms"] {
        assert!(reached.iter().any(|reached| reached == id), "{id} is not among {reached:?}");
    }
    let yaw = browser.number("tightwire.worlds.camera.yaw");
    let before = browser.number("Number(document.getElementById('round_trip_ms').value)");
    browser.press("ArrowRight");
    let after = browser.number("Number(document.getElementById('round_trip_ms').value)");
    assert_eq!(after, before + 10.0);
    browser.wait_until(&format!("tightwire.stats.controls.round_trip_ms === {after}"), 20);
    browser.evaluate("document.getElementById('server-world').focus()");
    browser.press("ArrowLeft");
    assert_ne!(browser.number("tightwire.worlds.camera.yaw"), yaw, "the world was not turned");
}

/// The place of the own cube on the ground: in the server's world, and in the client's.
fn own_places(browser: &mut Browser) -> [[f64; 2]; 2] {
    [0, 1].map(|world| {
        let place = browser.evaluate(&format!("tightwire.worlds.ownPlace({world})"));
        [0, 2].map(|axis: usize| place[axis].as_f64().unwrap())
    })
}

fn distance(from: [f64; 2], to: [f64; 2]) -> f64 {
    (from[0] - to[0]).hypot(from[1] - to[1])
}

/// Fails unless the own cube moves in both worlds while `hold` is on, along a direction of the
/// screen, and stops after.
fn assert_steers(browser: &mut Browser, along: [f64; 2], mut hold: impl FnMut(&mut Browser, bool)) {
    hold(browser, true);
    browser.wait_until("tightwire.stats.is_steered", 20);
    // A machine that is busy draws late, and other cubes may be in the way.
    let start = own_places(browser);
    wait_for("the own cube moves a metre in both worlds", 20, || {
        let places = own_places(browser);
        let has_moved = start.iter().zip(places).all(|(start, place)| {
            (place[0] - start[0]) * along[0] + (place[1] - start[1]) * along[1] > 1.0
        });
        has_moved.then_some(())
    });
    hold(browser, false);
    wait_for("the own cube stops", 20, || {
        let before = own_places(browser)[1];
        sleep(Duration::from_millis(200));
        (distance(before, own_places(browser)[1]) < 0.1).then_some(())
    });
}

/// Whether the own cube is left of the middle of the world, as the screen shows it, and the
/// direction to the right there.
fn right_of_the_screen(browser: &mut Browser) -> (bool, [f64; 2]) {
    browser.evaluate("scrollTo(0, 0); document.activeElement.blur()");
    browser.wait_until("tightwire.worlds.ownPlace(1) !== null", 30);
    let yaw = browser.number("tightwire.worlds.camera.yaw");
    let right = [yaw.cos(), -yaw.sin()];
    let place = own_places(browser)[1];
    (place[0] * right[0] + place[1] * right[1] < 0.0, right)
}

fn the_keyboard_steers_the_own_cube(browser: &mut Browser) {
    assert_eq!(browser.evaluate("tightwire.stats.is_steered"), false);
    // Towards the middle: cubes are driven back from the edge.
    let (is_left, right) = right_of_the_screen(browser);
    let (key, sign) = if is_left { ("KeyD", 1.0) } else { ("KeyA", -1.0) };
    let along = right.map(|part| part * sign);
    assert_steers(browser, along, |browser, is_down| browser.hold(key, is_down));
    let hint = browser.text("document.getElementById('steer-hint').innerText");
    assert!(hint.starts_with("You steer the green cube with"), "{hint}");
    // A key that is typed does not steer.
    browser.evaluate("document.getElementById('chat-text').focus({ preventScroll: true })");
    browser.hold("KeyD", true);
    assert_eq!(browser.number("tightwire.steering.keys.size"), 0.0);
    browser.hold("KeyD", false);
}

fn a_finger_steers_the_own_cube(browser: &mut Browser) {
    assert_eq!(browser.number("document.getElementById('pad').offsetWidth"), 0.0, "for fingers");
    browser.touch(true);
    browser.wait_until("document.getElementById('pad').offsetWidth > 80", 20);
    let (is_left, right) = right_of_the_screen(browser);
    let sign = if is_left { 1.0 } else { -1.0 };
    let pad = browser.evaluate("document.getElementById('pad').getBoundingClientRect().toJSON()");
    let side = |name: &str| pad[name].as_f64().unwrap();
    let x = (side("left") + side("right") + sign * 0.8 * side("width")) / 2.0;
    let y = (side("top") + side("bottom")) / 2.0;
    assert_steers(browser, right.map(|part| part * sign), |browser, is_down| {
        let (kind, fingers) = match is_down {
            true => ("touchStart", serde_json::json!([{"x": x, "y": y}])),
            false => ("touchEnd", serde_json::json!([])),
        };
        let params = serde_json::json!({"type": kind, "touchPoints": fingers});
        browser.call("Input.dispatchTouchEvent", params);
    });
    browser.touch(false);
}

fn the_loss_control_changes_the_loss(browser: &mut Browser, demo: &Demo) {
    assert!(demo.stats()["loss"].as_f64().unwrap() < 0.15);
    browser.evaluate(
        "{ const slider = document.getElementById('loss'); slider.value = 30;
           slider.dispatchEvent(new Event('input', { bubbles: true })); }",
    );
    assert_eq!(browser.text("document.querySelector('output[for=loss]').textContent"), "30%");
    browser.wait_until("tightwire.stats.controls.loss === 0.3", 20);
    browser.wait_until("Math.abs(tightwire.stats.loss - 0.3) < 0.08", 20);
    assert!((demo.stats()["loss"].as_f64().unwrap() - 0.3).abs() < 0.15);
    // The slider stays where it was put: values of the demo do not move it back.
    sleep(Duration::from_secs(1));
    assert_eq!(browser.text("document.getElementById('loss').value"), "30");
    assert_both_worlds_move(browser);
}

fn typed_chat_is_sent(browser: &mut Browser) {
    browser.evaluate("document.getElementById('chat-text').focus()");
    browser.call("Input.insertText", serde_json::json!({"text": "<b>hello</b> from a test"}));
    browser.evaluate("document.getElementById('chat').requestSubmit()");
    let line =
        "document.getElementById('chat-lines').innerText.includes('<b>hello</b> from a test')";
    browser.wait_until(line, 20);
    assert_eq!(browser.text("document.getElementById('chat-text').value"), "");
}

fn take_pictures(browser: &mut Browser) {
    browser.evaluate(
        "{ const slider = document.getElementById('loss'); slider.value = 2;
           slider.dispatchEvent(new Event('input', { bubbles: true })); document.activeElement.blur(); }",
    );
    for (width, height) in [(1400, 900), (390, 844)] {
        browser.resize(width, height);
        browser.touch(width < 600);
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            browser.evaluate("scrollTo(0, 0)");
            sleep(Duration::from_secs(1));
            let name = format!("{width}x{height}-{scheme}");
            browser.screenshot(&pictures().join(format!("{name}.png")), false);
            // The whole page is drawn as far as it was seen once.
            browser.evaluate("document.getElementById('xray-card').scrollIntoView()");
            sleep(Duration::from_secs(1));
            browser.screenshot(&pictures().join(format!("{name}-whole.png")), true);
        }
        let overflow = browser.number("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow <= 0.0, "at {width} the page is {overflow} pixels too wide");
    }
}

#[test]
fn the_worlds_are_drawn_with_webgl_too() {
    let _alone = alone();
    let demo = Demo::start(&[]);
    let mut browser = Browser::start(Graphics::SoftwareGl);
    browser.resize(700, 500);
    browser.open(&format!("{}#webgl", demo.address()));
    browser.wait_until("tightwire.connected && tightwire.stats !== null", 60);
    assert_eq!(browser.text("tightwire.worlds.views[0].renderer.kind"), "webgl2");
    assert_both_worlds_move(&mut browser);
    let colours = colours_seen(&mut browser, "server-world");
    assert!(colours > 50.0, "{colours} colours");
    browser.screenshot(&pictures().join("webgl.png"), false);
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn the_page_ends_with_the_numbers_of_the_summary() {
    let _alone = alone();
    // A browser can take long to start, so the demo ends when the page has enough readings.
    let mut browser = Browser::start(Graphics::Plain);
    browser.resize(1400, 900);
    let demo = Demo::start(&["--json"]);
    browser.open(&demo.address());
    browser.wait_until("tightwire.stats !== null", 60);
    // The numbers are of the last second: as many seconds, as many readings.
    browser.evaluate(
        "{ window.readings = []; setInterval(() => tightwire.connected && readings.push(tightwire.stats), 1000); }",
    );
    browser.wait_until("readings.length >= 10", 60);
    let summary = demo.interrupt();
    browser.wait_until("!tightwire.connected", 30);
    let last = browser.evaluate("tightwire.stats");
    let client = &summary["clients"][0];

    assert_eq!(last["raw_bytes"], summary["raw_bytes"]);
    assert_eq!(last["clients"], summary["clients"].as_array().unwrap().len());
    for name in ["refused", "disagreements"] {
        assert_eq!((&last[name], &client[name]), (&0.into(), &0.into()), "{name}");
        let shown = format!("document.querySelector('[data-key={name}] .number').textContent");
        assert_eq!(browser.text(&shown), "0");
    }
    let (end, shown) = (summary["seconds"].as_f64().unwrap(), last["seconds"].as_f64().unwrap());
    assert!((end - shown).abs() < 2.0, "it ended after {end} seconds, on the page after {shown}");
    // The page came later, and the seconds before it were calmer or busier.
    let mut mean = |name: &str| {
        let sum = format!("readings.reduce((sum, stats) => sum + {name}, 0) / readings.length");
        browser.number(&sum)
    };
    let down = "stats.down.reduce((sum, part) => sum + part.bytes_per_second, 0)";
    for (name, shown, within) in [
        ("down_bytes_per_second", mean(down), 0.4),
        ("snapshot_bytes", mean("stats.snapshot_bytes"), 0.4),
    ] {
        let said = client[name].as_f64().unwrap();
        assert!((said / shown - 1.0).abs() < within, "{name} is {said}, and {shown} on the page");
    }
    // The round trip is that of the end, and moves when the machine is busy: it is among those shown.
    let mut shown = |pick: &str| {
        browser.number(&format!(
            "Math.{pick}(tightwire.stats.round_trip_ms, ...readings.map((stats) => stats.round_trip_ms))"
        ))
    };
    let (least, most) = (0.7 * shown("min"), 1.3 * shown("max"));
    let end = client["round_trip_ms"].as_f64().unwrap();
    assert!((least..most).contains(&end), "round trip of {end} ms, shown {least} to {most} ms");
}
