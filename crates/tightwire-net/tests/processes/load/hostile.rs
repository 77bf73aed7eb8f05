//! One who sends as much as it can.

use std::cell::RefCell;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use tightwire::Delivery;
use tightwire::quic::{Packet, Packets, Quic, QuicConfig, Socket, Trust, Udp};
use tightwire::{Client, SessionEvent};

use super::traffic::{Ask, Traffic, config, messages, token};
use crate::process::{become_idle, orders, print_line};

/// Sends until the order to stop, and prints how much was sent.
pub(crate) fn run(address: SocketAddr, trust: &Trust, kind: &str) {
    let orders = orders();
    let mut hostile = Hostile::new(address);
    let is_unconnected = ["spinning", "garbage"].contains(&kind);
    let mut insider = (!is_unconnected).then(|| Insider::connect(address, trust));
    print_line("ready");
    let _ = orders.recv();
    become_idle();
    print_line("begun");
    while orders.try_recv().is_err() {
        for _ in 0..256 {
            match &mut insider {
                None if kind == "spinning" => hostile.spin(),
                None => hostile.garbage(),
                Some(insider) if kind == "forged" => hostile.forged(&insider.copies.borrow()),
                Some(insider) => hostile.sent += insider.send_copy(),
            }
        }
        if let Some(insider) = &mut insider {
            let asks = if kind == "insider" { 2000 } else { 0 };
            insider.ask(asks);
        }
    }
    let (asked, end) = insider.map_or((0, None), |insider| (insider.asked, insider.end));
    let end = end.map_or(String::new(), |reason| format!(" {reason}"));
    print_line(&format!("datagrams={} messages={asked}{end}", hostile.sent));
}

/// An attacker with many ports.
struct Hostile {
    sockets: Vec<UdpSocket>,
    address: SocketAddr,
    random: u64,
    sent: u64,
}

impl Hostile {
    fn new(address: SocketAddr) -> Self {
        let open = |_| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self { sockets: (0..PORTS).map(open).collect(), address, random: 1, sent: 0 }
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn send(&mut self, bytes: &[u8]) {
        // Every other one from the same port.
        let port = (self.next() as usize % (2 * PORTS)).saturating_sub(PORTS);
        self.sent += u64::from(self.sockets[port].send_to(bytes, self.address).is_ok());
    }

    fn random_bytes(&mut self) -> [u8; 1200] {
        let mut bytes = [0; 1200];
        let seed = self.next();
        for (index, byte) in bytes.chunks_mut(8).enumerate() {
            let word = seed.wrapping_mul(2 * index as u64 + 1) ^ seed >> 7;
            byte.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Takes as much time as the others, and sends nothing.
    fn spin(&mut self) {
        core::hint::black_box(self.random_bytes());
    }

    fn garbage(&mut self) {
        let bytes = self.random_bytes();
        let length = 1 + self.next() as usize % 1200;
        self.send(&bytes[..length]);
    }

    /// Sends forged QUIC packets.
    fn forged(&mut self, copies: &[Vec<u8>]) {
        let mut bytes = self.random_bytes();
        match self.next() % 3 {
            // The first packet of somebody new, with ids of 8 bytes and no token.
            0 => {
                bytes[0] = 0xc0 | bytes[0] & 0x0f;
                bytes[1..6].copy_from_slice(&[0, 0, 0, 1, 8]);
                bytes[14] = 8;
                bytes[23] = 0;
                // The length of all that follows.
                bytes[24..26].copy_from_slice(&(0x4000u16 | (1200 - 26)).to_be_bytes());
                self.send(&bytes);
            }
            // A later one, for nobody.
            1 => {
                bytes[0] = 0x40 | bytes[0] & 0x3f;
                let length = 30 + self.next() as usize % 1000;
                self.send(&bytes[..length]);
            }
            // One that somebody has sent already.
            _ => {
                let which = self.next() as usize % copies.len();
                self.send(&copies[which]);
            }
        }
    }
}

/// An ordinary client that keeps copies of its packets.
struct Insider {
    client: Client<Traffic, Quic<Tap>>,
    traffic: Traffic,
    start: Instant,
    udp: Rc<RefCell<Udp>>,
    copies: Rc<RefCell<Vec<Vec<u8>>>>,
    address: SocketAddr,
    asked: u64,
    next_copy: usize,
    /// Reason for which the server ended the connection; `None` while it lasts.
    end: Option<String>,
}

impl Insider {
    fn connect(address: SocketAddr, trust: &Trust) -> Self {
        let udp = Rc::new(RefCell::new(Udp::client(address).unwrap()));
        let copies = Rc::default();
        let tap = Tap { udp: Rc::clone(&udp), copies: Rc::clone(&copies) };
        let start = Instant::now();
        let limits = QuicConfig::default();
        let transport =
            Quic::connect(tap, address, "localhost", trust, limits, Duration::ZERO).unwrap();
        let client = Client::builder(config()).register(messages).token(&token());
        let client = client.build(transport).unwrap();
        let traffic = Traffic::new(start);
        let mut insider = Self {
            client,
            traffic,
            start,
            udp,
            copies,
            address,
            asked: 0,
            next_copy: 0,
            end: None,
        };
        while insider.client.server().is_none() {
            insider.client.receive(insider.start.elapsed(), &mut insider.traffic);
            insider.client.transmit(insider.start.elapsed());
            assert!(insider.start.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..100 {
            insider.ask(1);
            thread::sleep(Duration::from_millis(1));
        }
        insider
    }

    /// Asks as much as this side lets it.
    fn ask(&mut self, asks: u32) {
        for number in 0..asks {
            let delivery = [Delivery::Reliable, Delivery::Unreliable][number as usize % 2];
            let sent = self.client.send(&Ask { number }, delivery);
            self.asked += u64::from(sent.is_ok());
        }
        self.client.receive(self.start.elapsed(), &mut self.traffic);
        self.client.transmit(self.start.elapsed());
        while let Some(event) = self.client.poll_event() {
            if let SessionEvent::Disconnected { reason, .. } = event {
                self.end = Some(reason.to_string());
            }
        }
    }

    /// Sends a packet again, from where it came.
    fn send_copy(&mut self) -> u64 {
        let copies = self.copies.borrow();
        self.next_copy = (self.next_copy + 1) % copies.len();
        let bytes = &copies[self.next_copy][..];
        let size = bytes.len();
        let packets = Packets { to: self.address, from: None, congestion: 0, bytes, size };
        u64::from(self.udp.borrow_mut().send(self.start.elapsed(), &packets))
    }
}

/// A socket of which the first packets are kept.
struct Tap {
    udp: Rc<RefCell<Udp>>,
    copies: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Socket for Tap {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        self.udp.borrow_mut().receive(now, take);
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        let mut copies = self.copies.borrow_mut();
        if copies.len() < 200 {
            copies.extend(packets.bytes.chunks(packets.size.max(1)).map(<[u8]>::to_vec));
        }
        self.udp.borrow_mut().send(now, packets)
    }

    fn address(&self) -> SocketAddr {
        self.udp.borrow().address()
    }

    fn max_packets(&self) -> usize {
        self.udp.borrow().max_packets()
    }

    fn finds_mtu(&self) -> bool {
        self.udp.borrow().finds_mtu()
    }
}

const PORTS: usize = 500;
