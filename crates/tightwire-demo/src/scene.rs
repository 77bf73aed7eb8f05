//! `tightwire-demo record-scene`: records cubes that a bot plays with, for
//! `tightwire snapshot-bench`.

use std::error::Error;
use std::f32::consts::SQRT_2;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::bot::{Bot, Habit};
use super::pace::TICKS_PER_SECOND;
use super::world::{Body, CUBES, Physics, World};

/// Records a scene for `tightwire snapshot-bench`, 60 frames a second: a bot rolls a large cube
/// through 900 small ones, as in the demo. The same options make the same scene.
#[derive(Args, Debug)]
pub(crate) struct RecordScene {
    /// Output file, uncompressed; `snapshot-bench` also reads it compressed by `zstd`.
    file: PathBuf,
    /// Seed of the bot.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Length of the scene in seconds, at most 600.
    #[arg(long, value_name = "NUMBER", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Usual behaviour of the bot.
    #[arg(long, default_value = "mixed")]
    habit: Habit,
    /// Gravity in metres per second squared, from 1 to 50.
    #[arg(long, value_name = "NUMBER", default_value_t = Physics::default().gravity,
          value_parser = |text: &str| number(text, 1.0, 50.0))]
    gravity: f32,
    /// Restitution of the small cubes, from 0 to 1.
    #[arg(long, value_name = "NUMBER", default_value_t = Physics::default().bounce,
          value_parser = |text: &str| number(text, 0.0, 1.0))]
    bounce: f32,
    /// Friction of the small cubes, from 0 to 2.
    #[arg(long, value_name = "NUMBER", default_value_t = Physics::default().friction,
          value_parser = |text: &str| number(text, 0.0, 2.0))]
    friction: f32,
    /// Half the edge of a small cube in metres, from 0.05 to 0.3.
    #[arg(long, value_name = "HALF", default_value_t = Physics::default().half,
          value_parser = |text: &str| number(text, 0.05, 0.3))]
    size: f32,
}

impl RecordScene {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let name = self.file.display();
        self.write().map_err(|error| format!("{name}: {error}"))?;
        Ok(format!("{name}: {} frames of {} cubes\n", self.frames(), 1 + CUBES))
    }

    /// Returns the number of frames: the initial one, and one for each tick.
    fn frames(&self) -> u32 {
        1 + self.seconds * TICKS_PER_SECOND
    }

    fn write(&self) -> io::Result<()> {
        if self.file.extension().is_some_and(|extension| extension == "zst") {
            let reason = "scenes are written uncompressed: record a `.bin` and run `zstd` on it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let mut file = BufWriter::new(File::create(&self.file)?);
        self.record(&mut file)?;
        file.flush()
    }

    /// Records the scene; the bot sees the world without latency.
    fn record(&self, file: &mut impl Write) -> io::Result<()> {
        let Self { gravity, bounce, friction, size: half, .. } = *self;
        let physics = Physics { gravity, bounce, friction, half, ..Physics::default() };
        let mut world = World::new(1, self.seed, physics);
        let mut bot = Bot::new(0, self.seed, self.habit);
        // All cubes first settle on the ground and fall asleep, which is no part of the scene.
        for _ in 0..SETTLING {
            world.step();
        }
        for _ in 0..self.frames() {
            let words = world.bodies().flat_map(|body| words(&body));
            file.write_all(&words.flat_map(i32::to_le_bytes).collect::<Vec<_>>())?;
            let place = world.bodies().next().unwrap_or_default().position;
            world.set_input(0, bot.input(place));
            world.step();
        }
        Ok(())
    }
}

/// Ticks before the first frame.
const SETTLING: u32 = 2 * TICKS_PER_SECOND;

/// Returns the record of a cube; `docs/SNAPSHOTS.md` has the layout.
fn words(body: &Body) -> [i32; 8] {
    let Body { position, rotation, awake } = *body;
    let size = |place: &usize| rotation[*place].abs();
    // The smallest index among equal components: `max_by` returns the last, so indices are
    // reversed.
    let places = (0..4).rev();
    let largest = places.max_by(|one, other| size(one).total_cmp(&size(other))).unwrap_or(3);
    let sign = rotation[largest].signum();
    // The components other than the largest, in their order.
    let code = |place: usize| {
        let part = rotation[place + usize::from(place >= largest)] * sign;
        ((part * SQRT_2 + 1.0) / 2.0 * 511.0).round().clamp(0.0, 511.0) as i32
    };
    let [x, y, z] = position.map(|metres| (metres * 512.0).round() as i32);
    let (x, y, z) = (x.clamp(-16383, 16383), y.clamp(-16383, 16383), z.clamp(0, 8191));
    [largest as i32, code(0), code(1), code(2), x, y, z, awake.into()]
}

fn number(text: &str, least: f32, most: f32) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("a number from {least} to {most} is needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_positive_largest_component_and_stays_in_its_range() {
        let turned = |rotation| words(&Body { position: [1.0, -0.5, 0.25], rotation, awake: true });
        assert_eq!(turned([0.0, 0.0, 0.0, 1.0]), [3, 256, 256, 256, 512, -256, 128, 1]);
        let half = SQRT_2 / 2.0;
        assert_eq!(turned([0.0, -half, 0.0, half])[..4], [1, 256, 256, 0]);
        assert_eq!(turned([0.1, -0.2, 0.9, 0.3])[..4], turned([-0.1, 0.2, -0.9, -0.3])[..4]);
        let far = Body { position: [99.0, -99.0, 99.0], ..Body::default() };
        assert_eq!(words(&far)[4..], [16383, -16383, 8191, 0]);
        let below = Body { position: [0.0, 0.0, -0.01], ..Body::default() };
        assert_eq!(words(&below)[6], 0);
    }
}
