//! One message to a thousand peers, compared with a plain copy of its bytes for each peer.

use crate::harness::{Length, median, median_ratio};
use std::hint::black_box;
use std::time::Instant;
use tightwire::message::{Messenger, MessengerConfig};
use tightwire::{Delivery, Message, PeerId, Wire};

const PEERS: usize = 1000;
const MTU: usize = 1200;

/// Lengths of the messages, in bytes.
const SIZES: [usize; 2] = [100, 1000];

/// A message of exactly the bytes of its data.
#[derive(Wire, Message, Default)]
struct Blob {
    #[wire(max_len = 1200)]
    data: Vec<u8>,
}

/// Results per peer; the ratios are to the copies of the same round.
pub struct Row {
    pub bytes: usize,
    pub copy_ns: f64,
    pub broadcast_ns: f64,
    pub broadcast_copies: f64,
    /// Ratio with the end of the frame, which hands the batches to the transport and reclaims their
    /// memory.
    pub frame_copies: f64,
}

/// The messenger, and as many separate buffers of the same size.
struct Pair {
    messenger: Messenger<()>,
    peers: Vec<PeerId>,
    blob: Blob,
    bytes: Vec<u8>,
    buffers: Vec<Vec<u8>>,
}

impl Pair {
    fn new(size: usize) -> Self {
        let mut messenger = Messenger::builder(MessengerConfig::default())
            .send_only::<Blob>()
            .build()
            .expect("one message");
        let peers = (0..PEERS).map(|_| messenger.add_peer(MTU)).collect();
        let data: Vec<u8> = (0..size - 2).map(|place| place as u8).collect();
        let buffers = (0..PEERS).map(|_| Vec::with_capacity(2048)).collect();
        Self { messenger, peers, blob: Blob { data }, bytes: vec![7; size], buffers }
    }

    fn copy(&mut self) -> f64 {
        let start = Instant::now();
        let bytes = black_box(&self.bytes[..]);
        for buffer in &mut self.buffers {
            buffer.clear();
            buffer.extend_from_slice(bytes);
        }
        black_box(&mut self.buffers);
        start.elapsed().as_nanos() as f64
    }

    /// Returns the time of the broadcast, and that of the whole frame.
    fn broadcast(&mut self) -> (f64, f64) {
        let Self { messenger, blob, .. } = self;
        let start = Instant::now();
        let sent = messenger.broadcast(None, black_box(blob), Delivery::Reliable);
        let broadcast = start.elapsed();
        black_box(sent.expect("it is written"));
        messenger.end_frame(|_, _, batch| {
            black_box(batch);
            Ok(())
        });
        (broadcast.as_nanos() as f64, start.elapsed().as_nanos() as f64)
    }

    /// Panics unless every peer gets the message, with as many bytes as are copied.
    fn check(&mut self) {
        let Self { messenger, peers, blob, bytes, .. } = self;
        let sent = messenger.broadcast(None, blob, Delivery::Reliable);
        assert_eq!(sent.expect("it is written").sent, PEERS);
        let mut got = Vec::new();
        messenger.end_frame(|peer, _, batch| {
            assert_eq!(batch.len(), 2 + 5 + bytes.len(), "the headers and the message");
            assert_eq!(tightwire::decode::<Blob>(&batch[7..]).expect("it reads").data, blob.data);
            got.push(peer);
            Ok(())
        });
        assert!(got == *peers, "once to everybody");
    }
}

pub fn measure(length: Length) -> (Vec<Row>, usize) {
    let mut pairs = SIZES.map(Pair::new);
    let mut times = [const { [const { Vec::new() }; 3] }; SIZES.len()];
    pairs.iter_mut().for_each(Pair::check);
    let start = Instant::now();
    let mut rounds = 0;
    while !length.is_reached(rounds, start) {
        for (pair, [copies, broadcasts, frames]) in pairs.iter_mut().zip(&mut times) {
            // Each runs once untimed, to warm up its caches.
            pair.copy();
            copies.push(pair.copy());
            pair.broadcast();
            let (broadcast, frame) = pair.broadcast();
            broadcasts.push(broadcast);
            frames.push(frame);
        }
        rounds += 1;
    }
    let rows = SIZES.into_iter().zip(times).map(|(bytes, [copies, broadcasts, frames])| Row {
        bytes,
        broadcast_copies: median_ratio(&broadcasts, &copies),
        frame_copies: median_ratio(&frames, &copies),
        copy_ns: median(copies) / PEERS as f64,
        broadcast_ns: median(broadcasts) / PEERS as f64,
    });
    (rows.collect(), rounds)
}
