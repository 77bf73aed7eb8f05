use allocation_counter::measure;
use tightwire::recording::Replay;

use super::game::server;

/// Checks a recording. If the first byte is odd, the rest is a file. Otherwise the rest is the
/// bodies of records, each behind its length, and the records get valid headers.
pub(crate) fn recording(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    if kind % 2 == 1 {
        return play(rest);
    }
    let mut file = b"tightrec".to_vec();
    let mut rest = rest;
    while let Some((length, others)) = rest.split_first() {
        let (body, others) = others.split_at(others.len().min(usize::from(*length)));
        rest = others;
        let length = (body.len() as u32).to_le_bytes();
        file.extend_from_slice(&length);
        file.extend_from_slice(&crc32fast::hash(&length).to_le_bytes());
        file.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
        file.extend_from_slice(body);
    }
    play(&file);
}

/// Replays a file to its end, and checks steps and memory.
fn play(file: &[u8]) {
    let memory = measure(|| {
        let Ok(replay) = Replay::new(file) else { return };
        let mut server = server(replay);
        let mut counted = Vec::new();
        let mut steps = 0;
        while let Some(step) = server.transport_mut().next_step() {
            server.receive(step.receive_at, &mut counted);
            server.transmit(step.receive_at);
            steps += 1;
        }
        assert!(steps <= file.len() / 8, "{steps} steps");
        if let Some(error) = server.transport_mut().error() {
            assert!(!error.to_string().is_empty());
        }
    });
    assert!(memory.bytes_max < (8 << 20) + (64 << 10) * file.len() as u64);
}
