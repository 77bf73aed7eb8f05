//! Many objects and many receivers.

use super::*;

/// Every receiver owns an object in a field of moving ones. Within two ticks, the relevant objects
/// are those that a search through all finds.
#[test]
fn a_crowd_is_the_same_as_by_a_search_within_two_ticks() {
    let (objects, receivers, side) = volume((1000, 8, 600), (10_000, 64, 2000));
    let rng = &mut Rng(seed(3) | 1);
    let mut pair = Pair::new::<Flat>(receivers, CONFIG, Scope::Near);
    let mut at: Vec<[f32; 2]> =
        (0..objects).map(|_| [(); 2].map(|()| rng.below(side) as f32)).collect();
    let leave = CONFIG.radius * CONFIG.leave_factor;
    let squared = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    let mut before = at.clone();
    let (mut checked, mut relevant) = (0u64, 0u64);
    for tick in 1..=40u32 {
        pair.begin();
        for (id, at) in (0..).zip(&mut at) {
            if tick == 1 || (id + tick) % 3 > 0 {
                *at = at.map(|part| part + rng.below(9) as f32 - 4.0);
                pair.sender.set(id, &Flat { position: *at, health: 7 }).unwrap();
            }
        }
        for place in 0..receivers {
            if tick == 1 {
                let client = pair.clients[place].0;
                pair.sender.set_owner(place as u32, Some(client));
            }
            let has = pair.send(place);
            if tick < 3 {
                continue;
            }
            let (own, own_before) = (at[place], before[place]);
            for (id, (now, then)) in (0..).zip(at.iter().zip(&before)) {
                let distances = [squared(*now, own), squared(*then, own_before)];
                // The wire rounds positions to a centimetre.
                let is_within = |radius: f32| distances.iter().all(|at| *at < radius * radius);
                let is_beyond = |radius: f32| distances.iter().all(|at| *at > radius * radius);
                let is_relevant = has.contains(&id);
                assert!(is_relevant || !is_within(CONFIG.radius - 0.05), "{id}, tick {tick}");
                assert!(!is_relevant || !is_beyond(leave + 0.05), "{id}, tick {tick}");
                (checked, relevant) = (checked + 1, relevant + u64::from(is_relevant));
            }
        }
        before.clone_from(&at);
    }
    assert!(relevant > 0 && relevant < checked / 4, "{relevant} of {checked}");
}
