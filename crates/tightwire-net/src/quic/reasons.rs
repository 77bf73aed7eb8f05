//! Reasons for the end of a connection, from the errors of QUIC.

use quinn_proto::{ConnectionError, Side, TransportErrorCode};

use crate::reason::Reason;

/// Returns the reason for the loss of a connection, from the view of this side.
pub(super) fn reason_of(error: &ConnectionError, side: Side) -> Reason {
    match error {
        ConnectionError::ApplicationClosed(closed) => {
            validate_remote_reason(Reason::from_bytes(&closed.reason), side)
        }
        // Before the handshake is complete, QUIC does not carry the reason of an application (RFC
        // 9000, 10.2.3). A client ends it by leaving, a server only since the handshake takes too
        // long: the client may take it for complete when its last packets were lost.
        ConnectionError::ConnectionClosed(closed)
            if closed.error_code == TransportErrorCode::APPLICATION_ERROR =>
        {
            if side.is_server() {
                Reason::Left
            } else {
                Reason::TimedOut
            }
        }
        ConnectionError::ConnectionClosed(closed) => {
            let text = String::from_utf8_lossy(&closed.reason);
            of_code(closed.error_code, &format!("the other side reported: {text}"))
        }
        // Answers of two servers that have the certificate do not fit together: the first was
        // killed while this client connected, and the second took a copy of its first packet.
        ConnectionError::TransportError(error)
            if side.is_client() && error.code == TransportErrorCode::TRANSPORT_PARAMETER_ERROR =>
        {
            Reason::Forgotten
        }
        ConnectionError::TransportError(error) => of_code(error.code, &error.reason),
        ConnectionError::TimedOut => Reason::TimedOut,
        ConnectionError::Reset => Reason::Forgotten,
        ConnectionError::LocallyClosed => Reason::Left,
        other => Reason::failed(&other.to_string()),
    }
}

/// Validates the reason that the other side gave. A client can only give reasons that a client can
/// know: that a connection was kicked or timed out is for the server to say.
fn validate_remote_reason(reason: Reason, side: Side) -> Reason {
    let is_for_servers = matches!(
        reason,
        Reason::TimedOut
            | Reason::Full
            | Reason::Busy
            | Reason::Kicked(_)
            | Reason::ShuttingDown
            | Reason::Token(_)
            | Reason::TooSlow
            | Reason::Forgotten
            | Reason::Replaced
    );
    if side.is_server() && is_for_servers { Reason::Left } else { reason }
}

fn of_code(code: TransportErrorCode, text: &str) -> Reason {
    if code == TransportErrorCode::CONNECTION_REFUSED {
        return Reason::Busy;
    }
    let code = u64::from(code);
    let alert = code.checked_sub(CRYPTO_ERRORS).filter(|alert| *alert <= 255);
    match alert {
        Some(alert) if CERTIFICATE_ALERTS.contains(&alert) => {
            Reason::certificate(text_of_verifier(text))
        }
        Some(alert) => Reason::failed(&format!("TLS alert {alert}: {text}")),
        None => {
            let known = [name_of(code), text].into_iter().filter(|part| !part.is_empty());
            let said: Vec<_> = known.collect();
            Reason::failed(&format!("QUIC error {code:#x}: {}", said.join(", ")))
        }
    }
}

/// Returns the text of a certificate verifier without the names of types that TLS puts around it.
fn text_of_verifier(text: &str) -> &str {
    let inner = text.strip_prefix("invalid peer certificate: Other(OtherError(");
    inner.and_then(|inner| inner.strip_suffix("))")).unwrap_or(text)
}

/// Returns the name of an error of QUIC; nothing if the code is unknown.
fn name_of(code: u64) -> &'static str {
    usize::try_from(code).ok().and_then(|code| CODES.get(code)).copied().unwrap_or_default()
}

/// Errors of QUIC by their code (RFC 9000, 20.1).
const CODES: [&str; 17] = [
    "NO_ERROR",
    "INTERNAL_ERROR",
    "CONNECTION_REFUSED",
    "FLOW_CONTROL_ERROR",
    "STREAM_LIMIT_ERROR",
    "STREAM_STATE_ERROR",
    "FINAL_SIZE_ERROR",
    "FRAME_ENCODING_ERROR",
    "TRANSPORT_PARAMETER_ERROR",
    "CONNECTION_ID_LIMIT_ERROR",
    "PROTOCOL_VIOLATION",
    "INVALID_TOKEN",
    "APPLICATION_ERROR",
    "CRYPTO_BUFFER_EXCEEDED",
    "KEY_UPDATE_ERROR",
    "AEAD_LIMIT_REACHED",
    "NO_VIABLE_PATH",
];

/// First code of the TLS alerts in QUIC's errors (RFC 9001, 4.8).
const CRYPTO_ERRORS: u64 = 0x100;

/// bad_certificate, unsupported_certificate, certificate_revoked, certificate_expired,
/// certificate_unknown, unknown_ca, bad_certificate_status_response (RFC 8446, 6).
const CERTIFICATE_ALERTS: [u64; 7] = [42, 43, 44, 45, 46, 48, 113];

#[cfg(test)]
mod tests {
    use quinn_proto::TransportError;

    use super::*;

    #[test]
    fn only_clients_accept_packets_with_unknown_ids() {
        let code = TransportErrorCode::TRANSPORT_PARAMETER_ERROR;
        let error =
            TransportError { code, frame: None, reason: "CID authentication failure".into() };
        let error = ConnectionError::TransportError(error);
        assert_eq!(reason_of(&error, Side::Client), Reason::Forgotten);
        let failed = "QUIC error 0x8: TRANSPORT_PARAMETER_ERROR, CID authentication failure";
        assert_eq!(reason_of(&error, Side::Server), Reason::failed(failed));
    }

    #[test]
    fn the_text_of_a_refused_certificate_names_no_types() {
        let pinned = rustls::OtherError(std::sync::Arc::new(std::io::Error::other("pinned")));
        let error = rustls::Error::InvalidCertificate(rustls::CertificateError::Other(pinned));
        let text = error.to_string();
        assert!(!text_of_verifier(&text).contains("invalid peer certificate"), "{text}");
        let other = "invalid peer certificate: Expired";
        assert_eq!(text_of_verifier(other), other);
    }

    #[test]
    fn errors_of_quic_have_their_names() {
        let known = [
            TransportErrorCode::FLOW_CONTROL_ERROR,
            TransportErrorCode::STREAM_STATE_ERROR,
            TransportErrorCode::PROTOCOL_VIOLATION,
            TransportErrorCode::NO_VIABLE_PATH,
        ];
        // The library knows the same names.
        for code in known {
            assert_eq!(name_of(code.into()), format!("{code:?}"));
        }
        assert_eq!((name_of(0x11), name_of(u64::MAX)), ("", ""));
        let silent = of_code(TransportErrorCode::PROTOCOL_VIOLATION, "");
        assert_eq!(silent, Reason::failed("QUIC error 0xa: PROTOCOL_VIOLATION"));
    }
}
