//! The page of the demo: its files, and the WebSocket that keeps it alive.
//!
//! It is served to this machine alone, but a browser on this machine also opens pages of strangers,
//! and they can send requests here. So a request must name this machine as its host, which a name
//! that was bent to 127.0.0.1 does not, and a WebSocket must come from the page itself.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use serde::Deserialize;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::live::{Controls, Live, MAX_SAID_CHARS};

/// Serves the page until it is dropped.
#[derive(Debug)]
pub(crate) struct Web {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts to serve, in a thread of its own.
pub(crate) fn serve(listener: TcpListener, live: Arc<Live>) -> io::Result<Web> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _context = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let (stop, stopped) = oneshot::channel();
    let thread = thread::Builder::new()
        .name("tightwire-web".into())
        .spawn(move || run(runtime, listener, live, stopped))?;
    Ok(Web { stop: Some(stop), thread: Some(thread) })
}

impl Drop for Web {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has said what went wrong, if anything did.
            let _ = thread.join();
        }
    }
}

fn run(
    runtime: Runtime,
    listener: tokio::net::TcpListener,
    live: Arc<Live>,
    stopped: oneshot::Receiver<()>,
) {
    // Controls are a few bytes, and act at once.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    runtime.block_on(async {
        tokio::select! {
            _ = stopped => {}
            // It never ends by itself.
            _ = axum::serve(listener, router(live)) => {}
        }
    });
    // Pages that are still there see the connection end, and say so.
    runtime.shutdown_background();
}

#[derive(Clone)]
struct Shared {
    live: Arc<Live>,
    pages: Arc<Semaphore>,
}

fn router(live: Arc<Live>) -> Router {
    let mut router = Router::new();
    for asset in ASSETS {
        router = router.route(
            asset.path,
            get(move || async move { ([(header::CONTENT_TYPE, asset.kind)], asset.text) }),
        );
    }
    router
        .route("/stats.json", get(stats))
        .route("/xray.json", get(xray))
        .route("/live", get(upgrade))
        .fallback(missing)
        .layer(middleware::from_fn(guard))
        .with_state(Shared { live, pages: Arc::new(Semaphore::new(MAX_PAGES)) })
}

/// Turns away who was sent here by another site, and tells the browser what the page may do.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = if host(request.headers()).is_some_and(is_this_machine) {
        next.run(request).await
    } else {
        let text = "The demo answers requests to this machine only: open http://127.0.0.1 with the \
                    port that it printed.\n";
        (StatusCode::MISDIRECTED_REQUEST, text).into_response()
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn missing(uri: Uri) -> Response {
    let known: Vec<_> = ASSETS.iter().map(|asset| asset.path).collect();
    let text = format!(
        "Nothing at {}. There are {}, /stats.json and /xray.json.\n",
        uri.path().chars().take(100).collect::<String>(),
        known.join(", "),
    );
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn stats(State(shared): State<Shared>) -> Response {
    json(shared.live.stats().value)
}

async fn xray(State(shared): State<Shared>) -> Response {
    json(shared.live.xray().value)
}

fn json(newest: Option<Arc<str>>) -> Response {
    match newest {
        Some(text) => {
            let text = Bytes::from_owner(Arc::<[u8]>::from(text));
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "Nothing yet: ask again in a second.\n")
            .into_response(),
    }
}

async fn upgrade(
    State(shared): State<Shared>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let own = host(&headers).map(|host| format!("http://{host}"));
    if origin.is_none() || origin != own.as_deref() {
        return (StatusCode::FORBIDDEN, "Only the demo's own page may steer it.\n").into_response();
    }
    let Ok(place) = shared.pages.try_acquire_owned() else {
        let text = format!("{MAX_PAGES} pages are open: close one.\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE).on_upgrade(
        move |mut socket| async move {
            let close = match talk(&mut socket, &shared.live).await {
                // Close frames have room for 123 bytes.
                Err(Ended::Wrong(reason)) => Some(CloseFrame {
                    code: close_code::POLICY,
                    reason: short(&reason, 123).into(),
                }),
                Err(Ended::Gone) | Ok(()) => None,
            };
            let _ = timeout(PATIENCE, socket.send(Message::Close(close))).await;
            drop(place);
        },
    )
}

/// Why a page is talked with no more.
enum Ended {
    /// It closed, or does not read what it is sent.
    Gone,
    /// It said something that makes no sense.
    Wrong(String),
}

/// What a page says.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Controls(Controls),
    Say(String),
}

/// Sends what is new, and takes what is said.
async fn talk(socket: &mut WebSocket, live: &Live) -> Result<(), Ended> {
    let (mut worlds, mut stats, mut xray) = (0, 0, 0);
    let mut last_xray: Option<Instant> = None;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => hear(&text, live)?,
                Some(Ok(Message::Binary(_))) => {
                    return Err(Ended::Wrong("a page sends text, not bytes".into()));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(Err(error)) => return Err(Ended::Wrong(error.to_string())),
            },
            now = ticks.tick() => {
                let newest = live.worlds();
                if let Some(value) = newest.value && newest.version != worlds {
                    worlds = newest.version;
                    send(socket, Message::Binary(Bytes::from_owner(value))).await?;
                }
                let newest = live.stats();
                if let Some(value) = newest.value && newest.version != stats {
                    stats = newest.version;
                    send(socket, Message::text(format!("{{\"stats\":{value}}}"))).await?;
                }
                let newest = live.xray();
                let due = last_xray.is_none_or(|last| now - last >= XRAY_EVERY);
                if let Some(value) = newest.value && newest.version != xray && due {
                    (xray, last_xray) = (newest.version, Some(now));
                    send(socket, Message::text(format!("{{\"xray\":{value}}}"))).await?;
                }
            }
        }
    }
}

/// A page that does not read holds up nobody but itself, and not for ever.
async fn send(socket: &mut WebSocket, message: Message) -> Result<(), Ended> {
    match timeout(PATIENCE, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Ended::Gone),
    }
}

fn hear(text: &str, live: &Live) -> Result<(), Ended> {
    match serde_json::from_str(text) {
        Ok(Said::Controls(controls)) => live.set_controls(controls),
        Ok(Said::Say(text)) => live.say(text),
        Err(error) => return Err(Ended::Wrong(error.to_string())),
    }
    Ok(())
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// Whether a host, with or without a port, can be nothing but this machine.
fn is_this_machine(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest
            .split_once(']')
            .is_some_and(|(address, _)| address.parse().is_ok_and(|a: Ipv6Addr| a.is_loopback()));
    }
    let name = host.split_once(':').map_or(host, |(name, _port)| name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
}

/// The beginning of a text, of at most so many bytes.
fn short(text: &str, bytes: usize) -> &str {
    let ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    &text[..ends.take_while(|end| *end <= bytes).last().unwrap_or(0)]
}

struct Asset {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[Asset] = &[
    Asset { path: "/", kind: HTML, text: include_str!("../../assets/index.html") },
    Asset { path: "/page.css", kind: STYLE, text: include_str!("../../assets/page.css") },
    Asset { path: "/xray.css", kind: STYLE, text: include_str!("../../assets/xray.css") },
    Asset { path: "/page.js", kind: SCRIPT, text: include_str!("../../assets/page.js") },
    Asset { path: "/worlds.js", kind: SCRIPT, text: include_str!("../../assets/worlds.js") },
    Asset { path: "/cubes.js", kind: SCRIPT, text: include_str!("../../assets/cubes.js") },
    Asset { path: "/flat.js", kind: SCRIPT, text: include_str!("../../assets/flat.js") },
    Asset { path: "/camera.js", kind: SCRIPT, text: include_str!("../../assets/camera.js") },
    Asset { path: "/numbers.js", kind: SCRIPT, text: include_str!("../../assets/numbers.js") },
    Asset { path: "/controls.js", kind: SCRIPT, text: include_str!("../../assets/controls.js") },
    Asset { path: "/plots.js", kind: SCRIPT, text: include_str!("../../assets/plots.js") },
    Asset { path: "/xray.js", kind: SCRIPT, text: include_str!("../../assets/xray.js") },
    Asset { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("../../assets/icon.svg") },
];

/// The page works without the network, so it may reach nothing but where it came from.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // A newer binary brings a newer page.
    (header::CACHE_CONTROL, "no-store"),
];

/// Pages that are served at a time.
const MAX_PAGES: usize = 8;

/// The longest message of a page: a line of chat in its worst JSON, and some room.
const MAX_MESSAGE: usize = MAX_SAID_CHARS * 12 + 1024;

/// How often it is looked whether there is something new. Twice as often as frames come, so that
/// their rhythm is kept.
const TICK: Duration = Duration::from_millis(8);

/// Nobody reads x-rays faster, and they are the largest messages.
const XRAY_EVERY: Duration = Duration::from_secs(1);

/// How long a page may leave a message unread.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
