use super::*;
use crate::bot::{Bot, Habit};
use crate::test_support::{seed, volume};

/// Lets bots without latency play, and returns the number of cubes that moved in each tick.
fn play(seed: u64, ticks: u32) -> (World, Vec<usize>) {
    let physics = Physics { motion: Motion::Glide, ..Physics::default() };
    let mut world = World::new(4, seed, physics);
    let mut bots: Vec<_> = (0..4).map(|client| Bot::new(client, seed, Habit::Mixed)).collect();
    let mut moved = Vec::new();
    let mut before: Vec<Body> = world.bodies().collect();
    for _ in 0..ticks {
        for (player, bot) in (0..).zip(&mut bots) {
            let place = before.get(player as usize).map_or([0.0; 3], |body| body.position);
            world.set_input(player, bot.input(place));
        }
        world.step();
        let now: Vec<Body> = world.bodies().collect();
        let differs = |(now, before): &(&Body, &Body)| now.position != before.position;
        moved.push(now.iter().zip(&before).filter(differs).count());
        before = now;
    }
    (world, moved)
}

#[test]
fn the_same_seed_and_inputs_make_the_same_world() {
    let bodies = |seed| play(seed, 60).0.bodies().collect::<Vec<_>>();
    assert!(bodies(7) == bodies(7));
    assert!(bodies(7) != bodies(8));
}

#[test]
fn bodies_keep_moving_and_stay_inside() {
    let (world, moved) = play(seed(1), volume(20, 60) * TICKS_PER_SECOND);
    for body in world.bodies() {
        let [x, y, z] = body.position;
        assert!(x.abs() <= OUTSIDE && y.abs() <= OUTSIDE && z < HIGHEST, "{body:?}");
        let length: f32 = body.rotation.map(|part| part * part).iter().sum();
        assert!((length - 1.0).abs() < 1e-3, "{body:?}");
    }
    for seconds in moved.chunks(10 * 60) {
        let mean = seconds.iter().sum::<usize>() / seconds.len();
        assert!((2..CUBES / 2).contains(&mean), "{mean} cubes move");
    }
    let asleep = world.bodies().filter(|body| !body.awake).count();
    assert!(asleep > CUBES / 3, "{asleep} sleep");
    println!("{} move on average", moved.iter().sum::<usize>() / moved.len());
}

#[test]
fn a_cube_that_touches_nothing_glides_as_steered() {
    let physics = Physics { motion: Motion::Glide, ..Physics::default() };
    let mut world = World::new(1, 1, physics);
    let mut expected = world.players_mut().next().cloned().unwrap_or_default();
    let mut farthest = 0.0_f32;
    for tick in 0..240 {
        // Steers along the edge, where there are no other cubes.
        let input = Steer { stick: [0, if tick < 120 { 100 } else { -80 }], ..Steer::default() };
        world.set_input(0, input);
        world.step();
        steering::step(&mut expected, &input);
        assert_eq!(world.players_mut().next(), Some(&mut expected), "tick {tick}");
        farthest = farthest.max(expected.position[1]);
    }
    assert!(farthest > 4.0, "{farthest}");
}

#[test]
fn a_cube_is_slowed_by_those_that_it_pushes() {
    let physics = Physics { motion: Motion::Glide, ..Physics::default() };
    let mut world = World::new(1, 1, physics);
    let mut steered = world.players_mut().next().cloned().unwrap_or_default();
    for _ in 0..120 {
        let input = Steer { stick: [-100, 0], ..Steer::default() };
        world.set_input(0, input);
        world.step();
        steering::step(&mut steered, &input);
    }
    let pushed = world.players_mut().next().cloned().unwrap_or_default();
    let behind = pushed.position[0] - steered.position[0];
    assert!((0.0005..5.0).contains(&behind), "{pushed:?}, {steered:?}");
    assert_eq!(pushed.position[2], steered.position[2]);
}
