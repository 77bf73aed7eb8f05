//! The page of the demo: its files, and the WebSocket that updates it.
//!
//! The page is served to this machine only. But a browser on this machine also shows pages of other
//! sites, and these can send requests here. A request must therefore name this machine as its host,
//! which stops DNS rebinding, and a WebSocket must come from the page itself.
//!
//! The server uses `std::net` with a thread for each connection, and its own HTTP and WebSocket
//! frames: `axum` with its runtime is 40 crates for one local page. `tungstenite` is the client in
//! the tests, so that two implementations agree. The page gets the newest values without a queue,
//! and frames only as fast as it acknowledges them.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tightwire::inspect::{XRAY_SCRIPT, XRAY_STYLE};

use super::http::{self, Request, StatusCode};
use super::live::{Controls, Live, MAX_CHAT_CHARS, Pressed};
use super::shared::lock;
use super::websocket::{FrameError, Message, Opcode, Reader, accept_key, frame, refusal};

/// The running server of the page; dropping it stops the server.
#[derive(Debug)]
pub(crate) struct Web {
    address: SocketAddr,
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
}

/// Starts the server, in a thread of its own and one for each connection.
pub(crate) fn serve(listener: TcpListener, live: Arc<Live>) -> io::Result<Web> {
    serve_with_timeout(listener, live, IDLE_TIMEOUT)
}

/// Like `serve`, with a timeout for silent pages.
fn serve_with_timeout(
    listener: TcpListener,
    live: Arc<Live>,
    idle_timeout: Duration,
) -> io::Result<Web> {
    let address = listener.local_addr()?;
    let server = Arc::new(Server::new(live, idle_timeout));
    let accepting = server.clone();
    let thread =
        thread::Builder::new().name("web".into()).spawn(move || accepting.accept(&listener))?;
    Ok(Web { address, server, thread: Some(thread) })
}

impl Drop for Web {
    fn drop(&mut self) {
        self.server.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits in `accept`.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // Pages show that the connection has ended.
        for connection in lock(&self.server.connections).values() {
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }
}

/// State shared by the connection threads.
#[derive(Debug)]
struct Server {
    live: Arc<Live>,
    is_stopped: AtomicBool,
    /// Open connections by number, to be ended with the server. The numbers of older ones are
    /// smaller.
    connections: Mutex<BTreeMap<u64, Open>>,
    /// Open WebSockets.
    pages: AtomicUsize,
    /// Idle timeout of a page.
    idle_timeout: Duration,
}

/// A connection that is open.
#[derive(Debug)]
struct Open {
    stream: TcpStream,
    /// A whole request has come.
    has_request: bool,
}

impl Server {
    fn new(live: Arc<Live>, idle_timeout: Duration) -> Self {
        Self {
            live,
            is_stopped: AtomicBool::new(false),
            connections: Mutex::default(),
            pages: AtomicUsize::new(0),
            idle_timeout,
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for number in 0.. {
            let accepted = listener.accept();
            if self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            match accepted {
                Ok((stream, _)) => self.start(number, stream),
                // Most likely out of file descriptors: other connections have to close first.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Serves a connection in a thread of its own, unless there are too many.
    fn start(self: &Arc<Self>, number: u64, mut stream: TcpStream) {
        // Controls are a few bytes, and must not wait for more.
        let _ = stream.set_nodelay(true);
        let Ok(handle) = stream.try_clone() else { return };
        if !self.add(number, handle) {
            let response = http::head(http::UNAVAILABLE, &[("connection", "close")]);
            let _ = http::write_all(&mut stream, &response);
            return;
        }
        let server = self.clone();
        let end = EndOfConnection { server, number };
        // The connection is dropped if its thread cannot be started.
        let _ = thread::Builder::new().name("web connection".into()).spawn(move || {
            // A client that has gone needs no answer.
            let _ = end.server.serve(number, stream);
        });
    }

    /// Lists a connection; `false` if there are too many. Incomplete requests keep no client out:
    /// the oldest connection without a whole request is closed to make room.
    fn add(&self, number: u64, stream: TcpStream) -> bool {
        let mut connections = lock(&self.connections);
        if connections.len() >= MAX_CONNECTIONS {
            let oldest = connections.iter().find(|(_, open)| !open.has_request);
            let Some(oldest) = oldest.map(|(number, _)| *number) else { return false };
            if let Some(open) = connections.remove(&oldest) {
                let _ = open.stream.shutdown(Shutdown::Both);
            }
        }
        connections.insert(number, Open { stream, has_request: false });
        true
    }

    /// Answers one request.
    fn serve(&self, number: u64, mut stream: TcpStream) -> io::Result<()> {
        let read = Request::read(&mut stream)?;
        if let Some(open) = lock(&self.connections).get_mut(&number) {
            open.has_request = true;
        }
        let request = match read {
            Ok(request) => request,
            Err(status) => return http::respond(&mut stream, status, HEADERS, b"", true),
        };
        // DNS rebinding: a request for another host's name that resolves to 127.0.0.1 gets no
        // content.
        if !request.host.as_deref().is_some_and(is_this_machine) {
            let text = "The demo answers requests to this machine only: open http://127.0.0.1 with \
                        the port that it printed.\n";
            return answer(&mut stream, &request, http::MISDIRECTED, TEXT, text);
        }
        if let Some(asset) = ASSETS.iter().find(|asset| asset.path == request.path) {
            return answer(&mut stream, &request, http::OK, asset.kind, asset.text);
        }
        match request.path.as_str() {
            "/stats.json" => answer_json(&mut stream, &request, self.live.stats().value),
            "/xray.json" => answer_json(&mut stream, &request, self.live.xray().value),
            "/live" => self.upgrade(stream, &request),
            path => {
                let known: Vec<_> = ASSETS.iter().map(|asset| asset.path).collect();
                let text = format!(
                    "Nothing at {}. There are {}, /stats.json and /xray.json.\n",
                    path.chars().take(100).collect::<String>(),
                    known.join(", "),
                );
                answer(&mut stream, &request, http::NOT_FOUND, TEXT, &text)
            }
        }
    }

    /// Upgrades the connection to a WebSocket, for the demo's own page.
    fn upgrade(&self, mut stream: TcpStream, request: &Request) -> io::Result<()> {
        let own = request.host.as_ref().map(|host| format!("http://{host}"));
        if request.origin.is_none() || request.origin != own {
            let text = "Only the demo's own page may steer it.\n";
            return answer(&mut stream, request, http::FORBIDDEN, TEXT, text);
        }
        let Some(key) = request.websocket_key.as_deref().filter(|_| !request.is_head) else {
            let text = "Here is a WebSocket of version 13, and nothing else.\n";
            return answer(&mut stream, request, http::UPGRADE_REQUIRED, TEXT, text);
        };
        let Some(_place) = PageSlot::take(&self.pages) else {
            let text = format!("{MAX_PAGES} pages are open: close one.\n");
            return answer(&mut stream, request, http::UNAVAILABLE, TEXT, &text);
        };
        let accept = accept_key(key);
        let headers = [
            ("upgrade", "websocket"),
            ("connection", "upgrade"),
            ("sec-websocket-accept", accept.as_str()),
        ];
        http::write_all(&mut stream, &http::head("101 Switching Protocols", &headers))?;
        stream.set_read_timeout(None)?;
        let close = match serve_websocket(&mut stream, &self.live, self.idle_timeout) {
            Err(CloseReason::Invalid(reason)) => refusal(&reason),
            Err(CloseReason::Closed) | Ok(()) => frame(Opcode::Close, &[]),
        };
        let written = http::write_all(&mut stream, &close);
        http::linger(&mut stream);
        written
    }
}

/// Removes a connection from the list when its thread ends, by a panic too.
struct EndOfConnection {
    server: Arc<Server>,
    number: u64,
}

impl Drop for EndOfConnection {
    fn drop(&mut self) {
        lock(&self.server.connections).remove(&self.number);
    }
}

/// One of [`MAX_PAGES`] places; dropping it frees the place.
struct PageSlot<'s>(&'s AtomicUsize);

impl<'s> PageSlot<'s> {
    fn take(pages: &'s AtomicUsize) -> Option<Self> {
        let more = |open: usize| (open < MAX_PAGES).then_some(open + 1);
        pages.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(pages))
    }
}

impl Drop for PageSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(
    stream: &mut TcpStream,
    request: &Request,
    status: StatusCode,
    kind: &str,
    text: &str,
) -> io::Result<()> {
    let headers = [HEADERS, &[("content-type", kind)]].concat();
    http::respond(stream, status, &headers, text.as_bytes(), !request.is_head)
}

fn answer_json(
    stream: &mut TcpStream,
    request: &Request,
    newest: Option<Arc<str>>,
) -> io::Result<()> {
    match newest {
        Some(text) => answer(stream, request, http::OK, "application/json", &text),
        None => {
            let text = "Nothing yet: ask again in a second.\n";
            answer(stream, request, http::UNAVAILABLE, TEXT, text)
        }
    }
}

/// Reasons why a page's connection ends.
enum CloseReason {
    /// The page closed, does not read, or does not answer pings.
    Closed,
    /// The page sent an invalid message.
    Invalid(String),
}

impl From<io::Error> for CloseReason {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

/// A message from the page.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PageMessage {
    Controls(Controls),
    #[serde(rename = "say")]
    Chat(String),
    Steer(Pressed),
    /// Number of frames drawn since the last message.
    #[serde(rename = "seen")]
    FramesDrawn(u32),
}

/// Sends new values, and handles messages of the page.
fn serve_websocket(
    stream: &mut TcpStream,
    live: &Live,
    idle_timeout: Duration,
) -> Result<(), CloseReason> {
    // A page that says more than is taken here waits for it in its own socket.
    let (sender, heard) = mpsc::sync_channel(4);
    let reader = Reader::new(BufReader::new(stream.try_clone()?), MAX_MESSAGE);
    thread::Builder::new().name("web page".into()).spawn(move || listen(reader, &sender))?;
    let (mut worlds, mut stats, mut xray) = (0, 0, 0);
    let mut undrawn = 0_u32;
    let mut last_xray: Option<Instant> = None;
    let mut next = Instant::now();
    // Times of the last message and of the last ping.
    let (mut last_heard, mut last_ping) = (next, next);
    loop {
        let now = Instant::now();
        if now >= next {
            next = (next + TICK).max(now);
            // A browser answers pings by itself, also for a page that is not shown.
            if now - last_heard >= idle_timeout {
                return Err(CloseReason::Closed);
            }
            if now - last_heard.max(last_ping) >= idle_timeout / 4 {
                last_ping = now;
                http::write_all(stream, &frame(Opcode::Ping, &[]))?;
            }
            // Sockets buffer megabytes: a slow page would show a state that is seconds old.
            if undrawn < MAX_UNSEEN {
                let newest = live.worlds();
                if let Some(value) = newest.value
                    && newest.version != worlds
                {
                    worlds = newest.version;
                    undrawn += 1;
                    http::write_all(stream, &frame(Opcode::Binary, &value))?;
                }
                let newest = live.stats();
                if let Some(value) = newest.value
                    && newest.version != stats
                {
                    stats = newest.version;
                    send_text(stream, &format!("{{\"stats\":{value}}}"))?;
                }
                let newest = live.xray();
                let due = last_xray.is_none_or(|last| now - last >= XRAY_EVERY);
                if let Some(value) = newest.value
                    && newest.version != xray
                    && due
                {
                    (xray, last_xray) = (newest.version, Some(now));
                    send_text(stream, &format!("{{\"xray\":{value}}}"))?;
                }
            }
        }
        let message = heard.recv_timeout(next.saturating_duration_since(Instant::now()));
        if message.is_ok() {
            last_heard = Instant::now();
        }
        match message {
            Ok(Ok(Message::Text(text))) => match parse_message(&text)? {
                PageMessage::Controls(controls) => live.set_controls(controls),
                PageMessage::Chat(text) => live.queue_chat(text),
                PageMessage::Steer(pressed) => live.steer(pressed),
                PageMessage::FramesDrawn(frames) => undrawn = undrawn.saturating_sub(frames),
            },
            Ok(Ok(Message::Binary(_))) => {
                return Err(CloseReason::Invalid("a page sends text, not bytes".into()));
            }
            Ok(Ok(Message::Ping(payload))) => {
                http::write_all(stream, &frame(Opcode::Pong, &payload))?;
            }
            Ok(Ok(Message::Pong)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Ok(Message::Close)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(Err(FrameError::Io(_))) => return Err(CloseReason::Closed),
            Ok(Err(error)) => return Err(CloseReason::Invalid(error.to_string())),
        }
    }
}

/// Passes on the messages of a page, until the last one or the receiver is dropped.
fn listen(
    mut reader: Reader<BufReader<TcpStream>>,
    sender: &SyncSender<Result<Message, FrameError>>,
) {
    loop {
        let message = reader.next();
        let is_last = matches!(message, Ok(Message::Close) | Err(_));
        if sender.send(message).is_err() || is_last {
            return;
        }
    }
}

fn send_text(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    http::write_all(stream, &frame(Opcode::Text, text.as_bytes()))
}

fn parse_message(text: &str) -> Result<PageMessage, CloseReason> {
    serde_json::from_str(text).map_err(|error| CloseReason::Invalid(error.to_string()))
}

/// Returns whether a host, with or without a port, is a loopback name or address.
fn is_this_machine(host: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok() && !port.starts_with('+');
    if let Some((address, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_end = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return is_end && address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback());
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    port.is_none_or(is_port)
        && (name.eq_ignore_ascii_case("localhost")
            || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback()))
}

struct Asset {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[Asset] = &[
    Asset { path: "/", kind: HTML, text: include_str!("../assets/index.html") },
    Asset { path: "/page.css", kind: STYLE, text: include_str!("../assets/page.css") },
    Asset { path: "/xray.css", kind: STYLE, text: XRAY_STYLE },
    Asset { path: "/page.js", kind: SCRIPT, text: include_str!("../assets/page.js") },
    Asset { path: "/worlds.js", kind: SCRIPT, text: include_str!("../assets/worlds.js") },
    Asset { path: "/cubes.js", kind: SCRIPT, text: include_str!("../assets/cubes.js") },
    Asset { path: "/flat.js", kind: SCRIPT, text: include_str!("../assets/flat.js") },
    Asset { path: "/camera.js", kind: SCRIPT, text: include_str!("../assets/camera.js") },
    Asset { path: "/numbers.js", kind: SCRIPT, text: include_str!("../assets/numbers.js") },
    Asset { path: "/controls.js", kind: SCRIPT, text: include_str!("../assets/controls.js") },
    Asset { path: "/steering.js", kind: SCRIPT, text: include_str!("../assets/steering.js") },
    Asset { path: "/plots.js", kind: SCRIPT, text: include_str!("../assets/plots.js") },
    Asset { path: "/xray.js", kind: SCRIPT, text: XRAY_SCRIPT },
    Asset { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("../assets/icon.svg") },
];

/// Headers of every response. The page works offline, so it may load from its own origin only.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    // A newer binary has a newer page.
    ("cache-control", "no-store"),
];

/// Maximum number of open connections: all pages, while each loads its files.
const MAX_CONNECTIONS: usize = 64;

/// Maximum number of open pages.
const MAX_PAGES: usize = 8;

/// Idle timeout of a page that does not answer pings.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Frames that are on their way to a page.
const MAX_UNSEEN: u32 = 4;

/// Maximum length of a page's message, in bytes: a line of chat in its worst JSON, and some room.
const MAX_MESSAGE: usize = MAX_CHAT_CHARS * 12 + 1024;

/// Time between checks for new values: half of a frame, so that the frames' rhythm is kept.
const TICK: Duration = Duration::from_millis(8);

/// Time between x-rays: they are the largest messages, and a person reads few of them.
const XRAY_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
