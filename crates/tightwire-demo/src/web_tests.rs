#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};

use serde_json::Value;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Error, Message as Sent, WebSocket as Client, client};

use super::*;
use crate::game::{Action, Steer};
use crate::random::Random;
use crate::test_support::seed;

const CONTROLS: Controls =
    Controls { loss: 0.02, round_trip_ms: 100, jitter_ms: 10, send_rate: 60, shown_client: 0 };

struct Running {
    address: SocketAddr,
    live: Arc<Live>,
    web: Option<Web>,
}

fn server() -> Running {
    server_with(IDLE_TIMEOUT)
}

fn server_with(idle_timeout: Duration) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let live = Arc::new(Live::new(CONTROLS, 4));
    let web = Some(serve_with_timeout(listener, live.clone(), idle_timeout).unwrap());
    Running { address, live, web }
}

impl Running {
    /// Sends bytes, and returns the response until the server closes or pauses.
    fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        // The server may have closed the connection before it read all bytes.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get_as(&self, path: &str, host: &str) -> String {
        self.raw(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )
    }

    fn get(&self, path: &str) -> String {
        self.get_as(path, &self.address.to_string())
    }

    fn open_from(&self, origin: Option<&str>) -> Result<Client<TcpStream>, u16> {
        let mut request = format!("ws://{}/live", self.address).into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", origin.parse().unwrap());
        }
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        match client(request, stream) {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::HandshakeError::Failure(Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(other) => unreachable!("{other}"),
        }
    }

    fn open(&self) -> Client<TcpStream> {
        self.open_from(Some(&format!("http://{}", self.address))).unwrap()
    }

    /// Waits up to five seconds until a condition holds.
    fn wait(&self, what: &str, holds: impl Fn(&Live) -> bool) {
        for _ in 0..500 {
            if holds(&self.live) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        unreachable!("{what} did not happen in five seconds");
    }
}

/// Returns the reason in the server's close frame.
fn close_reason(mut socket: Client<TcpStream>) -> String {
    loop {
        match socket.read() {
            Ok(Sent::Close(frame)) => return frame.unwrap().reason.to_string(),
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    }
}

fn controls_message(controls: &str) -> Sent {
    Sent::text(format!("{{\"controls\":{controls}}}"))
}

#[test]
fn the_page_and_the_files_that_it_names_are_served() {
    let server = server();
    server.live.publish_stats("{}".into());
    let page = server.get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    assert!(!page.contains("https://"), "it works without the network");
    let named = page.split(['"', '\'']).filter(|word| word.starts_with('/') && word.len() > 1);
    let named: Vec<_> = named.collect();
    assert!(named.contains(&"/page.js") && named.contains(&"/page.css"), "{named:?}");
    for path in named {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{path}: {answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{path}: {answer}");
        for imported in answer.split(" from \".").skip(1) {
            let path = imported.split('"').next().unwrap();
            assert!(server.get(path).starts_with("HTTP/1.1 200 OK"), "{path}");
        }
    }
    let missing = server.get("/admin");
    assert!(missing.starts_with("HTTP/1.1 404") && missing.contains("Nothing at /admin."));
}

#[test]
fn the_newest_stats_are_served_as_json() {
    let server = server();
    assert!(server.get("/stats.json").starts_with("HTTP/1.1 503"), "nothing yet");
    server.live.publish_stats("{\"tick\":1}".into());
    server.live.publish_stats("{\"tick\":2}".into());
    server.live.publish_xray("{\"bits\":8}".into());
    assert!(server.get("/stats.json").ends_with("\r\n\r\n{\"tick\":2}"));
    assert!(server.get("/xray.json").ends_with("\r\n\r\n{\"bits\":8}"));
}

#[test]
fn requests_of_other_sites_are_refused() {
    let server = server();
    server.live.publish_stats("{\"secret\":1}".into());
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost.evil",
        "[::2]:1",
        "",
        // Hosts that begin like a name or an address of this machine.
        "[::1]evil.example",
        "[::1]:7777.evil.example",
        "[::1]:",
        "[::1",
        "127.0.0.1:7777.evil.example",
        "localhost:evil.example",
        "localhost:",
        "localhost:+80",
        "localhost:65536",
        "user@localhost",
    ] {
        let answer = server.get_as("/stats.json", host);
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
        assert!(!answer.contains("secret"), "{host}: {answer}");
    }
    for host in ["127.0.0.1", "localhost:7777", "LocalHost", "[::1]:7777", "[::1]", "127.9.9.9"] {
        assert!(server.get_as("/stats.json", host).starts_with("HTTP/1.1 200"), "{host}");
    }
    assert!(server.raw(b"GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 421"), "without a host");
    for origin in [Some("http://evil.example"), Some("null"), Some("http://127.0.0.1:1"), None] {
        assert_eq!(server.open_from(origin).err(), Some(403), "{origin:?}");
    }
    server.open();
}

#[test]
fn a_page_is_sent_only_news() {
    let server = server();
    server.live.publish_worlds(vec![1, 2, 3]);
    server.live.publish_stats("{\"tick\":5}".into());
    server.live.publish_xray("{\"bits\":8}".into());
    let mut socket = server.open();
    assert_eq!(socket.read().unwrap(), Sent::binary(vec![1, 2, 3]));
    assert_eq!(socket.read().unwrap(), Sent::text("{\"stats\":{\"tick\":5}}"));
    assert_eq!(socket.read().unwrap(), Sent::text("{\"xray\":{\"bits\":8}}"));
    server.live.publish_worlds(vec![4]);
    assert_eq!(socket.read().unwrap(), Sent::binary(vec![4]), "what is old is not sent again");
}

#[test]
fn a_slow_page_skips_frames_and_gets_the_newest() {
    let server = server();
    let mut socket = server.open();
    for frame in 0..MAX_UNSEEN as u8 {
        server.live.publish_worlds(vec![frame]);
        assert_eq!(socket.read().unwrap(), Sent::binary(vec![frame]));
    }
    for frame in 100..110 {
        server.live.publish_worlds(vec![frame]);
        thread::sleep(TICK * 2);
    }
    socket.send(Sent::text(r#"{"seen":4000000000}"#)).unwrap();
    assert_eq!(socket.read().unwrap(), Sent::binary(vec![109]));
}

#[test]
fn a_page_sends_input_and_chat() {
    let server = server();
    let mut socket = server.open();
    let message =
        r#"{"loss":0.3,"round_trip_ms":250,"jitter_ms":0,"send_rate":20,"shown_client":2}"#;
    socket.send(controls_message(message)).unwrap();
    let wanted =
        Controls { loss: 0.3, round_trip_ms: 250, jitter_ms: 0, send_rate: 20, shown_client: 2 };
    server.wait("the change", |live| live.controls() == wanted);
    let message = r#"{"loss":1e300,"round_trip_ms":4000000000,"jitter_ms":9999,"send_rate":0,"shown_client":77}"#;
    socket.send(controls_message(message)).unwrap();
    let nearest =
        Controls { loss: 0.9, round_trip_ms: 2000, jitter_ms: 500, send_rate: 1, shown_client: 3 };
    server.wait("the nearest change that makes sense", |live| live.controls() == nearest);
    socket.send(Sent::text(r#"{"say":"hello"}"#)).unwrap();
    server.wait("the line", |live| live.take_chat() == ["hello"]);
    assert_eq!(server.live.steering(), None);
    socket.send(Sent::text(r#"{"steer":{"x":500,"y":-20,"gather":true,"blow":true}}"#)).unwrap();
    let steer = Steer { stick: [100, -20], action: Action::Blow };
    server.wait("the input", |live| live.steering() == Some(steer));
}

#[test]
fn invalid_messages_close_the_socket_with_the_reason() {
    let server = server();
    let closed = |message: Sent| {
        let mut socket = server.open();
        socket.send(message).unwrap();
        close_reason(socket)
    };
    let text = |text: &str| closed(Sent::text(text));
    assert!(text("hello").contains("expected value at line 1 column 1"));
    assert!(text("").contains("EOF"));
    assert!(text(r#"{"quit":1}"#).contains("unknown variant `quit`"));
    assert!(text(r#"{"controls":{"loss":0.1}}"#).contains("missing field"));
    assert!(text(r#"{"controls":null}"#).contains("invalid type"));
    assert!(text(r#"{"steer":{"x":1}}"#).contains("missing field"));
    let negative = r#"{"controls":{"loss":0,"round_trip_ms":-1,"jitter_ms":0,"send_rate":1,"shown_client":0}}"#;
    assert!(text(negative).contains("invalid value: integer `-1`"));
    let unknown = r#"{"controls":{"loss":0,"round_trip_ms":1,"jitter_ms":0,"send_rate":1,"shown_client":0,"root":1}}"#;
    assert!(text(unknown).contains("unknown field `root`"));
    assert!(text(&"[".repeat(2000)).contains("line 1"), "depth is not followed");
    assert!(closed(Sent::binary(vec![0; 16])).contains("text, not bytes"));
    // The message is short enough to be sent before the server closes the socket.
    let long = format!("{{\"say\":\"{}\"}}", "x".repeat(2 * MAX_MESSAGE));
    assert!(text(&long).contains("too long"));
    assert_eq!(server.live.controls(), CONTROLS);
    assert!(server.live.take_chat().is_empty());
    assert!(server.get("/").starts_with("HTTP/1.1 200"), "and others are served");
}

#[test]
fn garbage_is_survived() {
    let server = server();
    let mut random = Random::new(seed(1), 0);
    let garbage: Vec<u8> = (0..4096).map(|_| random.next() as u8).collect();
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X-A: b\r\n".repeat(10_000));
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(1_000_000));
    let requests =
        [&garbage[..], many.as_bytes(), long.as_bytes(), b"GET / HTTP/1.1\r\nHo", b"\0\0"];
    for request in requests {
        let answer = server.raw(request);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let path = server.get("/..%2f..%2fetc%2fpasswd");
    assert!(path.starts_with("HTTP/1.1 404"), "{path}");
    // Sends bytes after the upgrade that are not WebSocket frames.
    let socket = server.open();
    let mut stream = socket.get_ref().try_clone().unwrap();
    stream.write_all(&garbage).unwrap();
    close_reason(socket);
    assert!(server.get("/").starts_with("HTTP/1.1 200"));
}

#[test]
fn the_number_of_pages_is_limited() {
    let server = server();
    let mut pages: Vec<_> = (0..MAX_PAGES).map(|_| server.open()).collect();
    let own = format!("http://{}", server.address);
    assert_eq!(server.open_from(Some(&own)).err(), Some(503));
    pages.pop();
    let freed = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        server.open_from(Some(&own)).is_ok()
    });
    assert!(freed, "a page that went leaves its place to another");
}

#[test]
fn a_page_that_never_answers_is_closed() {
    let server = server_with(Duration::from_millis(300));
    // These pages never read from their sockets, so they answer no ping.
    let silent: Vec<_> = (0..MAX_PAGES - 1).map(|_| server.open()).collect();
    let mut answering = server.open();
    answering.get_ref().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let own = format!("http://{}", server.address);
    assert_eq!(server.open_from(Some(&own)).err(), Some(503));
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        // The library answers pings while it reads, as a browser does.
        let timed_out = matches!(answering.read(), Ok(_) | Err(Error::Io(_)));
        assert!(timed_out && answering.can_read(), "one that answers stays");
    }
    let again: Vec<_> = (0..silent.len()).map(|_| server.open_from(Some(&own))).collect();
    assert!(again.iter().all(Result::is_ok));
    assert_eq!(server.open_from(Some(&own)).err(), Some(503));
}

#[test]
fn incomplete_requests_do_not_block_others() {
    let server = server();
    let mut halves = Vec::new();
    for number in 0..1500 {
        // No file descriptors are left: the connections that are open suffice.
        let Ok(mut half) = TcpStream::connect(server.address) else { break };
        let _ = half.write_all(b"GET / HTTP/1.1\r\nHost: local");
        halves.push(half);
        if number % 100 == 99 {
            let answer = server.get("/stats.json");
            assert!(
                answer.starts_with("HTTP/1.1 503") && answer.contains("Nothing yet"),
                "{answer}"
            );
        }
    }
    assert!(halves.len() > 2 * MAX_CONNECTIONS);
    let open = lock(&server.web.as_ref().unwrap().server.connections).len();
    assert!(open <= MAX_CONNECTIONS, "{open}");
}

#[test]
fn the_number_of_connections_is_limited() {
    let server = server();
    // Each connection receives its response and stays open.
    let request = format!("GET /icon.svg HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let ask = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        stream
    };
    let open: Vec<_> = (0..MAX_CONNECTIONS).map(|_| ask()).collect();
    let response = server.get("/icon.svg");
    assert!(response.starts_with("HTTP/1.1 503"), "the next one is refused: {response}");
    drop(open);
    let freed = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        server.get("/icon.svg").starts_with("HTTP/1.1 200")
    });
    assert!(freed, "a connection that ended leaves its place to another");
}

#[test]
fn only_files_are_served() {
    let server = server();
    let host = server.address;
    let raw = |line: &str| server.raw(format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes());
    assert!(raw("POST / HTTP/1.1").starts_with("HTTP/1.1 405"));
    let head = raw("HEAD / HTTP/1.1");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    let plain = format!("GET /live HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\r\n");
    assert!(server.raw(plain.as_bytes()).starts_with("HTTP/1.1 426"));
    // Two Host headers: a proxy could check one and route by the other.
    let two = format!("GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n");
    assert!(server.raw(two.as_bytes()).starts_with("HTTP/1.1 400"));
}

#[test]
fn pings_are_answered() {
    let server = server();
    let mut socket = server.open();
    socket.send(Sent::Ping(vec![1, 2, 3].into())).unwrap();
    assert_eq!(socket.read().unwrap(), Sent::Pong(vec![1, 2, 3].into()));
}

#[test]
fn the_server_ends_when_it_is_dropped() {
    let mut server = server();
    server.live.publish_stats("{}".into());
    let mut socket = server.open();
    let first: Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    assert!(first["stats"].is_object());
    server.web = None;
    assert!(socket.read().is_err() || socket.read().is_err());
    TcpListener::bind(server.address).unwrap();
}
