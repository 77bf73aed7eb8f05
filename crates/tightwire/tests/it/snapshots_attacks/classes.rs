//! Every kind of class.

use tightwire::snapshot::Leaving;
use tightwire::{Wire, snapshot};

use super::game::{LEVELS, config, thing};
use super::values::{Any, Nothing, Random, any};

fn survives<T: Wire + Default + Clone + 'static>(name: &str, values: &[T]) -> Result<(), String> {
    for level in LEVELS {
        let protocol = snapshot::Protocol::builder(config(level)).class::<T>().build().unwrap();
        let mut sender = snapshot::Sender::new(&protocol);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let random = &mut Random::new(99);
        for tick in 1..500 {
            sender.begin_tick(tick);
            for _ in 0..random.below(4) {
                let value = &values[random.below(values.len() as u64) as usize];
                sender.set(random.below(5) as u32, &value.clone()).unwrap();
            }
            let packet = sender.snapshot(client, 4000).unwrap();
            if let Err(error) = receiver.handle_snapshot(packet) {
                return Err(format!("{level:?} {name} tick {tick}: {error}"));
            }
            sender.handle_ack(client, receiver.ack().unwrap());
        }
    }
    Ok(())
}

/// An honest snapshot is understood, whatever the class is: also one that ends with many zero bits,
/// as a raw value can.
#[test]
fn every_class_survives() {
    #[derive(Wire, Default, Clone)]
    struct Text(#[wire(max_len = 20)] String);
    #[derive(Wire, Default, Clone)]
    struct List(#[wire(max_len = 6)] Vec<Option<u128>>);
    #[derive(Wire, Default, Clone)]
    struct Bytes(#[wire(max_len = 6)] Vec<u8>);
    #[derive(Wire, Default, Clone)]
    struct Ranged(#[wire(range = 0..=359)] u16);
    let random = &mut Random::new(5);
    let mut movers = Vec::new();
    let mut shapes = Vec::new();
    while movers.len() < 30 {
        match any(random) {
            Any::Mover(mover) => movers.push(mover),
            Any::Shape(shape) => shapes.push(shape),
            Any::Nothing => {}
        }
    }
    let results = [
        survives("()", &[Nothing]),
        survives("bool", &[false, true]),
        survives("u8", &[0u8, 1, 255, 7]),
        survives("u16", &[0u16, 1, 255, 65535]),
        survives("u32", &[0u32, 1, 255, u32::MAX]),
        survives("u64", &[0u64, 1, 255, u64::MAX]),
        survives("i64", &[0i64, 1, -255, i64::MIN]),
        survives("u128", &[0u128, 1, 255, u128::MAX - 3]),
        survives("f32", &[0f32, 1.0, f32::NAN, f32::INFINITY]),
        survives("f64", &[0f64, 1.0, f64::NAN, -0.0, 1e300]),
        survives("option", &[None, Some(7u16), Some(9)]),
        survives("option i64", &[None, Some(i64::MIN), Some(9)]),
        survives("text", &[Text("ä".into()), Text("ää".into()), Text(String::new())]),
        survives(
            "list",
            &[List(vec![]), List(vec![None, Some(3)]), List(vec![Some(u128::MAX); 6])],
        ),
        survives("bytes", &[Bytes(vec![]), Bytes(vec![1, 2]), Bytes(vec![255; 6])]),
        survives("ranged", &[Ranged(0), Ranged(359), Ranged(180)]),
        survives("shape", &shapes),
        survives("mover", &movers),
        survives("thing", &[thing(1), thing(2), thing(3)]),
    ];
    let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
