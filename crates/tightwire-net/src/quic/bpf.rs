//! A [`Filter`] as a program for the operating system (Linux: "classic" BPF), which runs it before
//! a packet is put into the socket's buffer.
//!
//! The program sees the packet from the UDP header on. A program that reads beyond the end of a
//! packet ends, and the packet is dropped.
//!
//! Reading a packet only to drop it takes a microsecond, and a full socket buffer loses the packets
//! of other peers. Therefore the kernel drops it on Linux, by a socket filter of a few dozen
//! instructions without privileges: connection ids have a hash that such a program can compute, and
//! during a flood of unconnected addresses it has a list of up to 2,500 connected addresses.
//! Packets that it passes are checked again.

use std::io;
use std::net::UdpSocket;

use socket2::{SockFilter, SockRef};

use super::filter::{Filter, Unconnected};
use super::ids::{FIRST_BYTES, KIND, KeyedHash, LENGTH, LONG, VERSION};

/// Attaches a filter to a socket: without its addresses if there are too many, none if that fails.
pub(super) fn attach(socket: &UdpSocket, filter: &Filter) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let connected =
        filter.unconnected.as_ref().map_or(0, |unconnected| unconnected.connected.len());
    if filter.silenced.len() + connected <= MAX_ADDRESSES && replace(&socket, filter).is_ok() {
        return Ok(());
    }
    // Without the addresses, of which there are too many.
    replace(&socket, &Filter { silenced: Vec::new(), unconnected: None, ..filter.clone() })
}

fn replace(socket: &SockRef<'_>, filter: &Filter) -> io::Result<()> {
    let program = for_system(program(filter));
    socket.attach_filter(&program).or_else(|_| {
        // The previous filter takes memory until it is replaced, and the limit is small.
        let _ = socket.detach_filter();
        socket.attach_filter(&program)
    })
}

fn for_system(program: Program) -> Vec<SockFilter> {
    let instruction = |Op { code, holds, fails, operand }| {
        // Distances are constants of the program, and fit into this type.
        SockFilter::new(code, holds as u8, fails as u8, operand)
    };
    program.into_iter().map(instruction).collect()
}

/// Largest number of addresses: each takes an instruction and a half, of 4096.
const MAX_ADDRESSES: usize = 2500;

type Program = Vec<Op>;

#[derive(Clone, Copy, Debug)]
struct Op {
    code: u16,
    /// Number of instructions that are skipped if the condition holds, and if it fails.
    holds: usize,
    fails: usize,
    operand: u32,
}

fn program(filter: &Filter) -> Program {
    let unconnected = filter.unconnected.as_ref();
    let mut program = Program::new();
    if unconnected.is_some() || !filter.silenced.is_empty() {
        program.extend(address_hash(&filter.addresses));
        program.push(op(STORE, 0));
        program.extend(if_in(&filter.silenced, DROP));
    }
    let first = first_packet(unconnected);
    let short = later_packet(&filter.ids);
    let long = long_packet(&filter.ids, first, short.len());
    program.extend([op(LOAD_BYTE, PAYLOAD), jump(JUMP_IF_SET, LONG.into(), 0, long.len())]);
    program.extend(long);
    program.extend(short);
    program.extend(ours(unconnected));
    program
}

/// Checks packets with a long header: those to an id of this side jump behind the check of short
/// headers.
fn long_packet(ids: &KeyedHash, first: Program, short: usize) -> Program {
    let mut program = vec![
        op(LOAD, PAYLOAD + 1),
        jump(JUMP_IF_EQUAL, u32::from_be_bytes(VERSION), 1, 0),
        op(RETURN, DROP),
    ];
    let mut ours = id_and_hash(ids, PAYLOAD + 6);
    ours.push(jump(JUMP_IF_EQUAL_X, 0, 0, 1));
    ours.push(op(JUMP, (first.len() + short) as u32));
    program.push(op(LOAD_BYTE, PAYLOAD + 5));
    program.push(jump(JUMP_IF_EQUAL, LENGTH as u32, 0, ours.len()));
    program.extend(ours);
    program.extend(first);
    program
}

/// Checks whether a packet may be the first of a connection.
fn first_packet(unconnected: Option<&Unconnected>) -> Program {
    let mut program = vec![
        op(LOAD_BYTE, PAYLOAD),
        jump(JUMP_IF_SET, KIND.into(), 2, 0),
        op(LOAD_LENGTH, 0),
        jump(JUMP_IF_LESS_NOT, PAYLOAD + FIRST_BYTES as u32, 1, 0),
        op(RETURN, DROP),
    ];
    match unconnected {
        Some(unconnected) => {
            program.extend(some(unconnected.share));
            program.push(op(RETURN, DROP));
        }
        None => program.push(op(RETURN, PASS)),
    }
    program
}

/// Drops packets to an id that is not of this side; the others fall through.
fn later_packet(ids: &KeyedHash) -> Program {
    let mut program = id_and_hash(ids, PAYLOAD + 1);
    program.extend([jump(JUMP_IF_EQUAL_X, 0, 1, 0), op(RETURN, DROP)]);
    program
}

fn ours(unconnected: Option<&Unconnected>) -> Program {
    let Some(unconnected) = unconnected else { return vec![op(RETURN, PASS)] };
    let mut program = some(unconnected.share).to_vec();
    program.push(op(LOAD_STORED, 0));
    program.extend(if_in(&unconnected.connected, PASS));
    program.push(op(RETURN, DROP));
    program
}

/// Passes a random share of packets; the others fall through.
fn some(share: u32) -> [Op; 3] {
    [op(LOAD, RANDOM), jump(JUMP_IF_LESS_NOT, share, 1, 0), op(RETURN, PASS)]
}

/// Loads the second word of an id, and the hash of the first into X.
fn id_and_hash(hash: &KeyedHash, at: u32) -> Program {
    let mut program = vec![op(LOAD_X, hash.start)];
    program.extend(mix(hash, op(LOAD, at)));
    program.push(op(LOAD, at + 4));
    program
}

/// Computes the hash of the source address and port.
fn address_hash(hash: &KeyedHash) -> Program {
    let all = |loads: &[Op]| -> Program {
        let mut program = vec![op(LOAD_X, hash.start)];
        for load in loads {
            program.extend(mix(hash, *load));
        }
        program
    };
    let port = op(LOAD_HALF, 0);
    let v4 = all(&[op(LOAD, NETWORK + 12), port]);
    let mut v6 = all(&[8, 12, 16, 20].map(|at| op(LOAD, NETWORK + at)));
    v6.extend(mix(hash, port));
    v6.push(op(JUMP, v4.len() as u32));
    let mut program = vec![op(LOAD_BYTE, NETWORK), op(SHIFT_RIGHT, 4)];
    program.push(jump(JUMP_IF_EQUAL, 6, 0, v6.len()));
    program.extend(v6);
    program.extend(v4);
    program
}

/// Adds a word to the hash in X, which is in A as well then.
fn mix(hash: &KeyedHash, load: Op) -> [Op; 11] {
    let [one, two] = hash.factors;
    [
        load,
        op(XOR_X, 0),
        op(MULTIPLY, one),
        op(A_TO_X, 0),
        op(SHIFT_RIGHT, 15),
        op(XOR_X, 0),
        op(MULTIPLY, two),
        op(A_TO_X, 0),
        op(SHIFT_RIGHT, 16),
        op(XOR_X, 0),
        op(A_TO_X, 0),
    ]
}

/// Ends with `verdict` if A is one of these; falls through otherwise.
fn if_in(sorted: &[u32], verdict: u32) -> Program {
    if sorted.len() <= LEAF {
        let each = sorted.iter().enumerate();
        let mut program: Program =
            each.map(|(at, &key)| jump(JUMP_IF_EQUAL, key, sorted.len() - at, 0)).collect();
        program.extend([op(JUMP, 1), op(RETURN, verdict)]);
        return program;
    }
    let (low, high) = sorted.split_at(sorted.len() / 2);
    let [below, above] = [low, high].map(|half| if_in(half, verdict));
    // Conditions do not jump far.
    let mut program = vec![jump(JUMP_IF_LESS_NOT, high[0], 0, 1), op(JUMP, below.len() as u32 + 1)];
    program.extend(below);
    program.push(op(JUMP, above.len() as u32));
    program.extend(above);
    program
}

/// Largest number of values that are compared one after the other.
const LEAF: usize = 16;

fn op(code: u16, operand: u32) -> Op {
    Op { code, holds: 0, fails: 0, operand }
}

fn jump(code: u16, operand: u32, holds: usize, fails: usize) -> Op {
    Op { code, holds, fails, operand }
}

/// Offset of the payload, behind the UDP header.
const PAYLOAD: u32 = 8;
/// Offsets of the network header and of a random number, which the kernel maps into the packet.
const NETWORK: u32 = -0x10_0000i32 as u32;
const RANDOM: u32 = (-0x1000i32 + 56) as u32;

const PASS: u32 = u32::MAX;
const DROP: u32 = 0;

// The instructions, as linux/filter.h and linux/bpf_common.h number them.
const LOAD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_LENGTH: u16 = 0x80;
const LOAD_X: u16 = 0x01;
const LOAD_STORED: u16 = 0x60;
const STORE: u16 = 0x02;
const A_TO_X: u16 = 0x07;
const MULTIPLY: u16 = 0x24;
const SHIFT_RIGHT: u16 = 0x74;
const XOR_X: u16 = 0xac;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_EQUAL_X: u16 = 0x1d;
const JUMP_IF_LESS_NOT: u16 = 0x35;
const JUMP_IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use std::time::Duration;

    use quinn_proto::ConnectionIdGenerator;

    use super::super::filter::words;
    use super::super::ids::{ConnectionIds, Form};
    use super::*;

    struct TestBed {
        server: UdpSocket,
        ids: ConnectionIds,
        filter: Filter,
    }

    impl TestBed {
        fn new(ip: IpAddr) -> Self {
            let server = UdpSocket::bind((ip, 0)).unwrap();
            server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let ids = ConnectionIds::new(KeyedHash::random());
            let addresses = KeyedHash::random();
            let filter =
                Filter { ids: ids.hash, addresses, silenced: Vec::new(), unconnected: None };
            Self { server, ids, filter }
        }

        fn client(&self) -> UdpSocket {
            let client = UdpSocket::bind((self.server.local_addr().unwrap().ip(), 0)).unwrap();
            client.connect(self.server.local_addr().unwrap()).unwrap();
            client
        }

        fn hash_of(&self, client: &UdpSocket) -> u32 {
            self.filter.addresses.hash(words(&client.local_addr().unwrap()))
        }

        /// Returns which packets pass; a last one, which does, marks the end.
        fn passed(&mut self, client: &UdpSocket, packets: &[Vec<u8>]) -> Vec<bool> {
            attach(&self.server, &self.filter).unwrap();
            packets.iter().for_each(|packet| _ = client.send(packet).unwrap());
            let plain = Filter { silenced: Vec::new(), unconnected: None, ..self.filter.clone() };
            attach(&self.server, &plain).unwrap();
            let last = [&[0x40][..], &self.ids.generate_cid(), b"last"].concat();
            client.send(&last).unwrap();
            let (mut bytes, mut came) = ([0; 2000], Vec::new());
            loop {
                let length = self.server.recv(&mut bytes).unwrap();
                if bytes[..length] == last {
                    break;
                }
                came.push(bytes[..length].to_vec());
            }
            let mut came = came.iter().peekable();
            let passed = packets.iter().map(|packet| came.next_if_eq(&packet).is_some()).collect();
            assert_eq!(came.next(), None);
            passed
        }

        fn ours(&mut self) -> Vec<u8> {
            [&[0x40][..], &self.ids.generate_cid(), &[9; 20]].concat()
        }

        fn handshake(&mut self) -> Vec<u8> {
            [&[0xe0, 0, 0, 0, 1, 8][..], &self.ids.generate_cid(), &[9; 20]].concat()
        }
    }

    fn first() -> Vec<u8> {
        let mut first = vec![7; FIRST_BYTES];
        first[..6].copy_from_slice(&[0xc0, 0, 0, 0, 1, 8]);
        first
    }

    fn ips() -> Vec<IpAddr> {
        let ips: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        ips.into_iter().filter(|ip| UdpSocket::bind((*ip, 0)).is_ok()).collect()
    }

    #[test]
    fn the_kernel_drops_packets_that_the_server_would_not_read() {
        let mut random = 1u64;
        let mut byte = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 56) as u8
        };
        for ip in ips() {
            let mut test_bed = TestBed::new(ip);
            let client = test_bed.client();
            let mut packets = Vec::new();
            for round in 0..100 {
                let whole = [test_bed.ours(), test_bed.handshake(), first()];
                for packet in &whole {
                    packets.push(packet.clone());
                    packets.push(packet[..usize::from(byte()) % packet.len()].to_vec());
                    let mut changed = packet.clone();
                    changed[usize::from(byte()) % 16] ^= 1 << (round % 8);
                    packets.push(changed);
                }
                packets.push((0..byte()).map(|_| byte()).collect());
            }
            // No more at once than the socket's buffer has room for.
            for packets in packets.chunks(50) {
                let expected: Vec<_> =
                    packets.iter().map(|packet| test_bed.ids.form(packet) != Form::Other).collect();
                assert!(expected.contains(&true) && expected.contains(&false));
                assert_eq!(test_bed.passed(&client, packets), expected, "{ip}");
            }
        }
    }

    #[test]
    fn in_a_flood_connected_addresses_pass_and_a_share_of_others() {
        for (ip, others) in ips().into_iter().flat_map(|ip| [0, 20, 400].map(|n| (ip, n))) {
            let mut test_bed = TestBed::new(ip);
            let [connected, unconnected, silenced] = [0; 3].map(|_| test_bed.client());
            let mut listed: Vec<_> = (0..others).map(|n| test_bed.ids.hash.hash([n])).collect();
            listed.push(test_bed.hash_of(&connected));
            listed.sort_unstable();
            test_bed.filter.silenced = vec![test_bed.hash_of(&silenced)];
            test_bed.filter.unconnected = Some(Unconnected { share: 0, connected: listed });
            let packets = [test_bed.ours(), test_bed.handshake(), first(), vec![0x40; 30]];
            assert_eq!(test_bed.passed(&connected, &packets), [true, true, false, false]);
            assert_eq!(test_bed.passed(&unconnected, &packets), [false; 4]);
            test_bed.filter.unconnected.as_mut().unwrap().share = u32::MAX;
            assert_eq!(test_bed.passed(&unconnected, &packets), [true, true, true, false]);
            assert_eq!(test_bed.passed(&silenced, &packets), [false; 4]);
            test_bed.filter.unconnected.as_mut().unwrap().share = u32::MAX / 4;
            let many: Vec<_> = (0..200).map(|_| packets[0].clone()).collect();
            let some =
                test_bed.passed(&unconnected, &many).iter().filter(|passed| **passed).count();
            assert!((15..=95).contains(&some), "{some} of 200 for a quarter");
            assert_eq!(test_bed.passed(&connected, &many), [true; 200]);
        }
    }

    #[test]
    fn addresses_beyond_the_program_size_are_left_out() {
        let mut test_bed = TestBed::new(Ipv4Addr::LOCALHOST.into());
        let client = test_bed.client();
        let packets = [test_bed.ours(), vec![0x40; 30]];
        // Limit of the system for the filter of a socket, in bytes.
        let memory = std::fs::read_to_string("/proc/sys/net/core/optmem_max").unwrap();
        let is_enough = memory.trim().parse::<u32>().unwrap() >= 100_000;
        for (count, ours_pass) in [(MAX_ADDRESSES, !is_enough), (MAX_ADDRESSES + 1, true)] {
            let connected = (0..count as u32).collect();
            test_bed.filter.unconnected = Some(Unconnected { share: 0, connected });
            assert!(program(&test_bed.filter).len() <= 4096 || count > MAX_ADDRESSES);
            assert_eq!(test_bed.passed(&client, &packets), [ours_pass, false], "{count}");
        }
    }
}
