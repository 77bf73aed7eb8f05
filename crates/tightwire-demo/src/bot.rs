//! Bots: one plays for each client, and sees the world as its client shows it.

use clap::ValueEnum;

use super::game::{Action, Steer};
use super::random::Random;

/// A bot that rolls around, changes its behaviour every few seconds and chats now and then.
#[derive(Debug)]
pub(crate) struct Bot {
    random: Random,
    habit: Habit,
    behaviour: Behaviour,
    /// Ticks until the next behaviour.
    rest: u32,
    silence: u32,
    /// Position that the bot moves to.
    goal: [f32; 2],
}

/// The usual behaviour of a bot.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Habit {
    /// All behaviours.
    Mixed,
    /// Mostly gathers cubes and blows them away.
    Gathers,
    /// Mostly rests.
    Rests,
}

impl Habit {
    /// Returns the upper bounds, out of ten, of the random numbers for roaming, circling, charging
    /// and gathering; above the last bound the bot rests.
    fn ways(self) -> [usize; 4] {
        match self {
            Self::Mixed => [3, 5, 7, 9],
            Self::Gathers => [1, 1, 2, 10],
            Self::Rests => [1, 1, 1, 1],
        }
    }
}

/// The current behaviour of a bot.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    /// Moves between random positions.
    Roam,
    /// Circles around the centre.
    Circle { radius: f32, is_left: bool },
    /// Moves straight to a position and blows the cubes there away.
    Charge,
    /// Moves slowly, gathers cubes, and blows them away at the end.
    Gather,
    /// Stands still.
    Rest,
}

impl Bot {
    /// Makes the bot of one client.
    pub(crate) fn new(client: u32, seed: u64, habit: Habit) -> Self {
        let mut random = Random::new(seed, 1 + u64::from(client));
        // Bots do not all begin to chat at once.
        let silence = 60 + 150 * (client % 8) + random.below(300) as u32;
        let mut bot =
            Self { random, habit, behaviour: Behaviour::Roam, rest: 240, silence, goal: [0.0; 2] };
        bot.goal = bot.place();
        bot
    }

    /// Returns the bot's input, given the position at which the client shows its cube.
    pub(crate) fn input(&mut self, [x, y, _]: [f32; 3]) -> Steer {
        self.rest = self.rest.saturating_sub(1);
        if self.rest == 0 {
            self.choose();
        }
        let to_goal = [self.goal[0] - x, self.goal[1] - y];
        let distance = to_goal[0].hypot(to_goal[1]);
        let (mut speed, mut action) = (100.0, Action::Nothing);
        match self.behaviour {
            Behaviour::Roam if distance < 1.5 => self.goal = self.place(),
            Behaviour::Roam => speed = 80.0,
            Behaviour::Circle { radius, is_left } => {
                let angle = y.atan2(x) + if is_left { 0.5 } else { -0.5 };
                self.goal = [radius * angle.cos(), radius * angle.sin()];
            }
            Behaviour::Charge if distance < 1.5 => {
                action = Action::Blow;
                self.rest = self.rest.min(20);
            }
            Behaviour::Charge => {}
            Behaviour::Gather => {
                (speed, action) = (45.0, Action::Gather);
                if self.rest < 4 {
                    action = Action::Blow;
                } else if distance < 1.5 {
                    self.goal = self.place();
                }
            }
            Behaviour::Rest => speed = 0.0,
        }
        let scale = speed / distance.max(0.5);
        let stick = to_goal.map(|behaviour| (behaviour * scale).clamp(-100.0, 100.0) as i8);
        Steer { stick, action }
    }

    /// Returns the next chat line when one is due.
    pub(super) fn line(&mut self) -> Option<&'static str> {
        self.silence = self.silence.saturating_sub(1);
        if self.silence > 0 {
            return None;
        }
        self.silence = 300 + self.random.below(900) as u32;
        Some(LINES[self.random.below(LINES.len())])
    }

    fn choose(&mut self) {
        self.rest = 200 + self.random.below(400) as u32;
        self.goal = self.place();
        let [roam, circle, charge, gather] = self.habit.ways();
        self.behaviour = match self.random.below(10) {
            number if number < roam => Behaviour::Roam,
            number if number < circle => {
                let is_left = self.random.below(2) == 0;
                Behaviour::Circle { radius: self.random.between(3.0, 10.0), is_left }
            }
            number if number < charge => Behaviour::Charge,
            number if number < gather => Behaviour::Gather,
            _ => {
                self.rest = 90;
                Behaviour::Rest
            }
        };
    }

    fn place(&mut self) -> [f32; 2] {
        [(); 2].map(|()| self.random.between(-10.0, 10.0))
    }
}

const LINES: [&str; 14] = [
    "hello there",
    "mind the cubes",
    "who stacked these?",
    "coming through",
    "that one was mine",
    "did you see that?",
    "I have them all",
    "again!",
    "too many cubes",
    "not enough cubes",
    "over here",
    "gg",
    "who is pushing?",
    "tidy up after yourselves",
];
