//! HTTP/1.1 as far as the page needs it: one request for a file per connection.
//!
//! Requests may come from any program on this machine, and from any site that its browser shows.
//! The head of a request is therefore limited in bytes and in time, and only a few headers are
//! kept.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The head of a request, as far as the server uses it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Request {
    /// Whether the method is `HEAD`: the response has no body.
    pub(crate) is_head: bool,
    /// Path without its query.
    pub(crate) path: String,
    pub(crate) host: Option<String>,
    pub(crate) origin: Option<String>,
    /// Value of `Sec-WebSocket-Key`; `None` unless the client asks for a WebSocket of version 13.
    pub(crate) websocket_key: Option<String>,
}

/// A status code with its reason phrase.
pub(crate) type StatusCode = &'static str;

pub(crate) const OK: StatusCode = "200 OK";
pub(crate) const BAD_REQUEST: StatusCode = "400 Bad Request";
pub(crate) const FORBIDDEN: StatusCode = "403 Forbidden";
pub(crate) const NOT_FOUND: StatusCode = "404 Not Found";
pub(crate) const NOT_ALLOWED: StatusCode = "405 Method Not Allowed";
pub(crate) const MISDIRECTED: StatusCode = "421 Misdirected Request";
pub(crate) const UPGRADE_REQUIRED: StatusCode = "426 Upgrade Required";
pub(crate) const TOO_LARGE: StatusCode = "431 Request Header Fields Too Large";
pub(crate) const UNAVAILABLE: StatusCode = "503 Service Unavailable";

impl Request {
    /// Reads the head of a request. `Ok(Err(_))` is the status for a request that cannot be served;
    /// an error means that the client is gone or took too long.
    pub(crate) fn read(stream: &mut TcpStream) -> io::Result<Result<Self, StatusCode>> {
        let deadline = Instant::now() + IO_TIMEOUT;
        let mut head = Vec::new();
        let mut piece = [0; 2048];
        loop {
            stream.set_read_timeout(Some(until(deadline)?))?;
            let length = stream.read(&mut piece)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The end mark may have begun in the piece before.
            let from = head.len().saturating_sub(END.len() - 1);
            head.extend_from_slice(&piece[..length]);
            let end = head[from..].windows(END.len()).position(|window| window == END);
            if let Some(end) = end {
                return Ok(Self::parse(&head[..from + end]));
            }
            if head.len() > MAX_HEAD {
                return Ok(Err(TOO_LARGE));
            }
        }
    }

    fn parse(head: &[u8]) -> Result<Self, StatusCode> {
        let text = std::str::from_utf8(head).map_err(|_| BAD_REQUEST)?;
        let (line, headers) = text.split_once("\r\n").unwrap_or((text, ""));
        let mut words = line.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(BAD_REQUEST);
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(BAD_REQUEST);
        }
        if !matches!(method, "GET" | "HEAD") {
            return Err(NOT_ALLOWED);
        }
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut request = Self { is_head: method == "HEAD", path, ..Self::default() };
        let (mut upgrade, mut version, mut key) = (None, None, None);
        for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
            let (name, value) = header.split_once(':').ok_or(BAD_REQUEST)?;
            let place = match name.to_ascii_lowercase().as_str() {
                "host" => &mut request.host,
                "origin" => &mut request.origin,
                "upgrade" => &mut upgrade,
                "sec-websocket-version" => &mut version,
                "sec-websocket-key" => &mut key,
                _ => continue,
            };
            // A repeated header is ambiguous: a proxy could check one value, and this server use
            // the other.
            if place.replace(value.trim().to_owned()).is_some() {
                return Err(BAD_REQUEST);
            }
        }
        let is_websocket = upgrade.is_some_and(|name| name.eq_ignore_ascii_case("websocket"));
        if is_websocket && version.as_deref() == Some("13") {
            request.websocket_key = key;
        }
        Ok(request)
    }
}

/// Writes a response, which announces the end of the connection.
pub(crate) fn respond(
    stream: &mut TcpStream,
    status: StatusCode,
    headers: &[(&str, &str)],
    body: &[u8],
    has_body: bool,
) -> io::Result<()> {
    let length = body.len().to_string();
    let framing = [("content-length", length.as_str()), ("connection", "close")];
    let mut bytes = head(status, headers.iter().chain(&framing));
    if has_body {
        bytes.extend_from_slice(body);
    }
    write_all(stream, &bytes)?;
    linger(stream);
    Ok(())
}

/// Returns a response up to its body.
pub(crate) fn head<'a>(
    status: StatusCode,
    headers: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    (text + "\r\n").into_bytes()
}

/// Writes all bytes within [`IO_TIMEOUT`], however slowly the client reads.
pub(crate) fn write_all(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + IO_TIMEOUT;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(until(deadline)?))?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            length => bytes = &bytes[length..],
        }
    }
    Ok(())
}

/// Closes a connection after the last written bytes were delivered. Closing a socket with unread
/// input resets the connection, and the client would lose the response.
pub(crate) fn linger(stream: &mut TcpStream) {
    let deadline = Instant::now() + LINGER;
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 4096];
    while let Ok(left) = until(deadline)
        && stream.set_read_timeout(Some(left)).is_ok()
        && stream.read(&mut rest).is_ok_and(|length| length > 0)
    {}
    let _ = stream.shutdown(Shutdown::Both);
}

/// Returns the time until a deadline, or an error after it.
fn until(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// End of a request head.
const END: &[u8] = b"\r\n\r\n";

/// Maximum length of a head, in bytes: a browser sends about one thousand.
const MAX_HEAD: usize = 16 << 10;

/// Time limit for sending a request, and for reading a response.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for closing the connection after the last response.
const LINGER: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<Request, StatusCode> {
        Request::parse(head.as_bytes())
    }

    #[test]
    fn a_request_has_a_path_and_the_headers_that_matter() {
        let head = "GET /live?x=1 HTTP/1.1\r\nHOST:  localhost:7777 \r\norigin: http://a\r\nX: y";
        let request = Request {
            path: "/live".into(),
            host: Some("localhost:7777".into()),
            origin: Some("http://a".into()),
            ..Request::default()
        };
        assert_eq!(parse(head), Ok(request));
        assert!(parse("HEAD / HTTP/1.0").is_ok_and(|request| request.is_head));
        let asks = "GET /live HTTP/1.1\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: abc\r\n";
        let key = |version: &str| {
            parse(&format!("{asks}Sec-WebSocket-Version: {version}")).map(|r| r.websocket_key)
        };
        assert_eq!(key("13"), Ok(Some("abc".into())));
        assert_eq!(key("8"), Ok(None));
    }

    #[test]
    fn invalid_requests_are_refused() {
        for head in ["", "GET /", "GET  / HTTP/1.1", "GET / HTTP/2", "GET http://a/ HTTP/1.1"] {
            assert_eq!(parse(head), Err(BAD_REQUEST), "{head:?}");
        }
        assert_eq!(parse("GET / HTTP/1.1\r\nno header"), Err(BAD_REQUEST));
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: a\r\nhost: b"), Err(BAD_REQUEST));
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1"), Err(BAD_REQUEST));
        assert_eq!(parse("POST / HTTP/1.1"), Err(NOT_ALLOWED));
    }
}
