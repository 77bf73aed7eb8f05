//! A headless Chromium, driven through its debugging protocol.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Error, Message, WebSocket, client};

/// A browser with one page; it ends when it is dropped.
pub(crate) struct Browser {
    process: Child,
    profile: PathBuf,
    socket: WebSocket<TcpStream>,
    calls: u64,
    problems: Vec<String>,
}

/// Graphics backend of the browser: there is no graphics card.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Graphics {
    /// Without WebGL.
    Plain,
    /// With WebGL, slowly.
    SoftwareGl,
}

impl Browser {
    pub(crate) fn start(graphics: Graphics) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let profile =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{}-{number}", id()));
        let _ = fs::remove_dir_all(&profile);
        let mut command = Command::new(path());
        command
            .args(["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-extensions", "--disable-background-networking", "--mute-audio"])
            .args(["--remote-debugging-port=0", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.display()));
        match graphics {
            Graphics::Plain => command.args(["--disable-gpu", "--disable-3d-apis"]),
            Graphics::SoftwareGl => {
                command.args(["--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
            }
        };
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let port_file = profile.join("DevToolsActivePort");
        let port = wait_for("the browser", 60, || {
            fs::read_to_string(&port_file).ok()?.lines().next()?.parse::<u16>().ok()
        });
        let page = http(port, "PUT /json/new?about:blank");
        let page: Value = serde_json::from_str(&page).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (socket, _) = client(page["webSocketDebuggerUrl"].as_str().unwrap(), stream).unwrap();
        let mut browser = Self { process, profile, socket, calls: 0, problems: Vec::new() };
        for domain in ["Runtime", "Log", "Page"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command and waits for the response; events meanwhile are checked for problems.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let request = json!({"id": self.calls, "method": method, "params": params});
        self.socket.send(Message::text(request.to_string())).unwrap();
        loop {
            let message = match self.socket.read() {
                // A signal, as of a child that ended, interrupts a read that has a timeout.
                Err(Error::Io(error)) if error.kind() == ErrorKind::Interrupted => continue,
                message => message.unwrap(),
            };
            let Ok(text) = message.to_text() else { continue };
            let Ok(mut message) = serde_json::from_str::<Value>(text) else { continue };
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        let is_problem = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                matches!(params["type"].as_str(), Some("error" | "warning" | "assert"))
            }
            Some("Log.entryAdded") => params["entry"]["level"] == "error",
            _ => false,
        };
        if is_problem {
            self.problems.push(params.to_string());
        }
    }

    /// Returns the console errors so far.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        self.evaluate("0");
        self.problems.clone()
    }

    pub(crate) fn open(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
        self.wait_until("document.readyState === 'complete'", 30);
    }

    /// The value of an expression, after its promise.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.evaluate(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}, not a number"))
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}, not a text")).into()
    }

    pub(crate) fn wait_until(&mut self, expression: &str, seconds: u64) {
        wait_for(expression, seconds, || (self.evaluate(expression) == true).then_some(()));
    }

    /// Presses and releases a key, as `ArrowRight`.
    pub(crate) fn press(&mut self, key: &str) {
        self.hold(key, true);
        self.hold(key, false);
    }

    /// Presses or releases a key.
    pub(crate) fn hold(&mut self, key: &str, is_down: bool) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "KeyA" => 65,
            "KeyD" => 68,
            other => panic!("the key {other} has no code here"),
        };
        let kind = if is_down { "rawKeyDown" } else { "keyUp" };
        let params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", params);
    }

    /// Has the page shown on a screen for fingers, or for a mouse.
    pub(crate) fn touch(&mut self, is_on: bool) {
        self.call("Emulation.setTouchEmulationEnabled", json!({"enabled": is_on}));
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let params = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", params);
    }

    /// Asks the page for `light` or `dark`.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Writes the visible part, or the whole page, as a PNG.
    pub(crate) fn screenshot(&mut self, path: &Path, is_whole: bool) {
        let mut params = json!({"format": "png"});
        if is_whole {
            let size = "({x: 0, y: 0, scale: 1, width: innerWidth, \
                        height: document.documentElement.scrollHeight})";
            params["clip"] = self.evaluate(size);
            params["captureBeyondViewport"] = true.into();
        }
        let picture = self.call("Page.captureScreenshot", params);
        let picture = base64(picture["data"].as_str().unwrap());
        assert!(picture.starts_with(b"\x89PNG"));
        fs::write(path, picture).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // Its children may still be writing.
        for _ in 0..20 {
            if fs::remove_dir_all(&self.profile).is_ok() {
                break;
            }
            sleep(Duration::from_millis(100));
        }
    }
}

/// Chromium under one of its names; `./ci.sh test` installs it.
fn path() -> PathBuf {
    if let Some(path) = std::env::var_os("TIGHTWIRE_CHROMIUM") {
        return path.into();
    }
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
        .expect("needs chromium: run ./ci.sh test, or name it in TIGHTWIRE_CHROMIUM")
}

/// The body of an answer.
pub(crate) fn http(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!("{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = String::new();
    // The browser leaves the connection open after all, so the length decides.
    let mut piece = [0; 4096];
    loop {
        let length = match stream.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            length => length.unwrap(),
        };
        answer += std::str::from_utf8(&piece[..length]).unwrap();
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let wanted = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())?.ok()
        });
        if length == 0 || wanted.is_some_and(|wanted| body.len() >= wanted) {
            return body.to_owned();
        }
    }
}

/// Tries again until there is something.
pub(crate) fn wait_for<T>(what: &str, seconds: u64, mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        if let Some(value) = attempt() {
            return value;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("not within {seconds} seconds: {what}");
}

fn base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.bytes() {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
