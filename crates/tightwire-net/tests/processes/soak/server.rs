//! A server, which may be killed at any time.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tightwire::quic::{Certificate, Quic, Udp};
use tightwire::transport::{Reason, Transport};
use tightwire::{Server, SessionEvent};

use super::traffic::{Traffic, config, limits, messages};
use crate::process::{orders, print_line, resident};

/// With the certificate in this folder, which it makes if there is none.
pub(crate) fn run(folder: &Path, address: SocketAddr, idle_timeout: Duration) {
    let orders = orders();
    let certificate = certificate(folder);
    let socket = Udp::server(address).unwrap();
    let transport = Quic::listen(socket, &certificate, limits(idle_timeout)).unwrap();
    let mut server =
        Server::builder(config()).register(messages).open_to_anyone().build(transport).unwrap();
    print_line(&format!("{} {}", server.transport().address(), certificate.fingerprint()));
    let (mut traffic, start) = (Traffic::default(), Instant::now());
    let (mut connected, mut left, mut timed_out, mut others) = (0, 0, 0, 0);
    loop {
        server.receive(start.elapsed(), &mut traffic);
        server.transmit(start.elapsed());
        while let Some(event) = server.poll_event() {
            match event {
                SessionEvent::Connected { .. } => connected += 1,
                SessionEvent::Disconnected { peer, reason } => {
                    match reason {
                        Reason::Left => left += 1,
                        Reason::TimedOut => timed_out += 1,
                        _ => others += 1,
                    }
                    traffic.received.remove(&peer.unwrap());
                }
                _ => {}
            }
        }
        if orders.try_recv().is_ok() {
            let peers = server.peers().count();
            // A connection that QUIC still has has a time at which something is due.
            let is_idle = server.transport().next_time().is_none();
            let faults = server.messenger().faults().total();
            let Traffic { messages, wrong, received } = &traffic;
            print_line(&format!(
                "peers={peers} links={} received={} connected={connected} left={left} \
                 timed_out={timed_out} other_ends={others} messages={messages} wrong={wrong} \
                 faults={faults} rss_kib={}",
                usize::from(!is_idle),
                received.len(),
                resident(),
            ));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn certificate(folder: &Path) -> Certificate {
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.join(name));
    if let (Ok(chain), Ok(key)) = (fs::read_to_string(&chain), fs::read_to_string(&key)) {
        return Certificate::from_pem(&chain, &key).unwrap();
    }
    let made = Certificate::self_signed(["localhost"]).unwrap();
    fs::write(chain, made.chain_pem()).unwrap();
    fs::write(key, made.secret_key_pem()).unwrap();
    made
}
