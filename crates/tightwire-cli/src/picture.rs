//! `tightwire picture`: one packet bit by bit, and how bad ones are refused.

use std::error::Error;
use std::fmt::{Debug, Write as _};

use tightwire::stream::{ExplainedError, Trace, explain_write};
use tightwire::{Wire, decode, decode_explained, encode, encode_explained};

use crate::datagrams;
use crate::terminal::Terminal;

/// State of one player, as a server sends it.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Player {
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(max_len = 31)]
    name: String,
}

/// Encodes and decodes a packet, then a few that are refused, and returns the explanations.
pub(crate) fn example() -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let player = Player {
        health: 77,
        position: [12.5, -200.0, 3.25],
        orientation: [0.0, 0.6, 0.0, 0.8],
        at_rest: false,
        velocity: [0.5, 0.0, -9.81],
        name: "Ada".into(),
    };
    let mut buffer = [0; Player::MAX_BYTES];
    let packet = encode(&player, &mut buffer)?;
    writeln!(
        text,
        "A player takes {} bytes in memory and {} on the wire:\n",
        size_of::<Player>() + player.name.len(),
        packet.len(),
    )?;
    writeln!(text, "{}", picture(&explain_write(&player)))?;

    let received: Player = decode(packet)?;
    writeln!(text, "The other side reads, each number within half a step of what was sent:\n")?;
    writeln!(text, "  {received:?}\n")?;

    writeln!(text, "A packet that was cut short is refused, and says where:\n")?;
    let cut = decode_explained::<Player>(&packet[..9]);
    writeln!(text, "{}", cut.as_ref().map_or_else(|refused| picture(refused.trace()), shown))?;

    writeln!(text, "So is one whose first byte was tampered with:\n")?;
    let mut tampered = packet.to_vec();
    tampered[0] |= 0x7f;
    writeln!(text, "  {}\n", sentence(decode_explained::<Player>(&tampered)))?;

    writeln!(text, "A value that must not be sent is not sent:\n")?;
    let overhealed = Player { health: 200, ..player.clone() };
    writeln!(text, "  {}\n", sentence(encode_explained(&overhealed, &mut [0; 64])))?;

    text += &datagrams::example(&player)?;
    Ok(text)
}

/// Returns the sentence of a refusal, or the accepted value.
fn sentence<T: Debug>(result: Result<T, ExplainedError>) -> String {
    result.map_or_else(|refused| refused.to_string(), |accepted| shown(&accepted))
}

fn shown(value: &impl Debug) -> String {
    format!("accepted: {value:?}")
}

fn picture(trace: &Trace) -> String {
    match Terminal::of_stdout().is_coloured() {
        true => trace.colored().to_string(),
        false => trace.to_string(),
    }
}
