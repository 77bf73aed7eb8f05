//! Sizes of frames with simpler methods, for comparison.

use std::collections::BTreeMap;

use super::BEHIND;
use super::scene::{Scene, SceneObject};

/// A method to send frames, and its bytes per frame.
pub(super) type BenchRow = (&'static str, f64);

/// Measures simple methods on the measured frames.
pub(super) fn sizes(scene: &Scene, frames: usize) -> Vec<BenchRow> {
    let (mut raw, mut changed) = (0, 0);
    for frame in scene.first_measured()..frames {
        let before: BTreeMap<u32, SceneObject> =
            scene.objects(frame - BEHIND).into_iter().collect();
        let now = scene.objects(frame);
        let bits = |(_, object): &(u32, SceneObject)| Scene::raw_bits(object);
        raw += now.iter().map(bits).sum::<usize>().div_ceil(8);
        let is_changed = |(id, object): &&(u32, SceneObject)| before.get(id) != Some(object);
        let flags = now.len();
        changed += (flags + now.iter().filter(is_changed).map(bits).sum::<usize>()).div_ceil(8);
    }
    let packets = (frames - scene.first_measured()) as f64;
    vec![
        ("every object, whole", raw as f64 / packets),
        ("a changed bit, and what changed whole", changed as f64 / packets),
    ]
}
