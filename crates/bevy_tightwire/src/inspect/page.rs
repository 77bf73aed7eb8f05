//! The page: its files, and the newest values as JSON.
//!
//! It is served to this machine only. A browser on this machine also shows pages of other sites,
//! and these can send requests here: a request must name this machine as its host, which stops DNS
//! rebinding, and no response can be read by another origin. The page asks for new values, so that
//! a thread that answers one request at a time is enough.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tightwire::inspect::{XRAY_SCRIPT, XRAY_STYLE};

use super::{Shared, lock};

/// The running server of the page; dropping it stops the server.
#[derive(Debug)]
pub(super) struct Page {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    /// Starts the server in a thread of its own.
    pub(super) fn serve(address: SocketAddr, shared: &Arc<Mutex<Shared>>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (stop, shared) = (is_stopped.clone(), shared.clone());
        let thread = thread::Builder::new().name("tightwire page".into()).spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                match stream {
                    // A browser that has gone needs no answer.
                    Ok(stream) => drop(answer(stream, &shared)),
                    // Most likely out of file descriptors: others have to be closed first.
                    Err(_) => thread::sleep(PATIENCE / 10),
                }
            }
        })?;
        Ok(Self { address, is_stopped, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Time for which a browser is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Longest request, in bytes.
const MAX_REQUEST: usize = 8 << 10;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answers one request.
fn answer(mut stream: TcpStream, shared: &Mutex<Shared>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read(&mut stream)?;
    let (status, kind, body) = respond(&request, shared);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{HEADERS}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.shutdown(Shutdown::Write)
}

/// Headers of every response. The page loads from its own origin only.
const HEADERS: &str = "content-security-policy: default-src 'none'; script-src 'self'; \
    style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'\r\nx-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n\
    cross-origin-resource-policy: same-origin\r\ncache-control: no-store\r\nconnection: close\r\n";

/// Reads the head of a request.
fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let size = stream.read(&mut buffer)?;
        if size == 0 || request.len() + size > MAX_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.extend_from_slice(&buffer[..size]);
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

/// Returns status, type and body of the response to a request.
fn respond(request: &str, shared: &Mutex<Shared>) -> (&'static str, &'static str, String) {
    let mut lines = request.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    if !host.is_some_and(is_this_machine) {
        let text = "Only requests to this machine are answered.\n";
        return ("421 Misdirected Request", TEXT, text.into());
    }
    if method != "GET" {
        return ("405 Method Not Allowed", TEXT, "Only GET.\n".into());
    }
    let ready = |text: &String| match text.is_empty() {
        true => ("503 Service Unavailable", TEXT, "Nothing yet.\n".into()),
        false => ("200 OK", JSON, text.clone()),
    };
    match path {
        "/" => ("200 OK", HTML, include_str!("../../assets/inspect.html").into()),
        "/inspect.css" => ("200 OK", STYLE, include_str!("../../assets/inspect.css").into()),
        "/inspect.js" => ("200 OK", SCRIPT, include_str!("../../assets/inspect.js").into()),
        "/xray.css" => ("200 OK", STYLE, XRAY_STYLE.into()),
        "/xray.js" => ("200 OK", SCRIPT, XRAY_SCRIPT.into()),
        "/stats.json" => ready(&lock(shared).page.stats),
        "/xray.json" => ready(&lock(shared).page.xray),
        _ => ("404 Not Found", TEXT, "There are /, /stats.json and /xray.json.\n".into()),
    }
}

/// Whether a host, with or without a port, is this machine.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> &'static str {
        respond(request, &Mutex::default()).0
    }

    #[test]
    fn only_this_machine_is_answered() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n"), "200 OK");
        assert_eq!(status("GET /xray.js HTTP/1.1\r\nhost: localhost\r\n\r\n"), "200 OK");
        let refused = "421 Misdirected Request";
        assert_eq!(status("GET / HTTP/1.1\r\nHost: game.example:80\r\n\r\n"), refused);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1.game.example\r\n\r\n"), refused);
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), refused);
    }

    #[test]
    fn there_is_nothing_else_and_nothing_to_change() {
        assert_eq!(status("GET /etc HTTP/1.1\r\nHost: localhost\r\n\r\n"), "404 Not Found");
        assert_eq!(status("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "405 Method Not Allowed");
        let early = "GET /stats.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(status(early), "503 Service Unavailable");
    }
}
