//! A prediction that is a learned sum of other predictions (normalised least mean squares), of up
//! to four components at once.

use wide::f32x4;

pub(super) const FEATURES: usize = 8;
/// Limit of features and errors: no sum or square of them overflows.
pub(super) const MAX_FEATURE: f32 = (1 << 28) as f32;
/// Limit of weights.
const MAX_WEIGHT: f32 = 4.0;

/// Weights of the features, a lane for each component.
pub(super) type LinearWeights = [[f32; 4]; FEATURES];

/// Predicts from the first `N` features; the others are 0.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn predict<const N: usize>(
    weights: &LinearWeights,
    features: &[f32x4; FEATURES],
) -> f32x4 {
    let mut sum = f32x4::ZERO;
    for (weight, feature) in weights.iter().zip(features).take(N) {
        sum += f32x4::from(*weight) * *feature;
    }
    bounded(sum)
}

/// Moves the weights of the first `N` features so that the errors would have been a little smaller.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn learn<const N: usize>(
    weights: &mut LinearWeights,
    features: &[f32x4; FEATURES],
    error: f32x4,
    rate: f32,
) {
    let mut norm = f32x4::splat(131_072.0);
    for feature in features.iter().take(N) {
        norm += *feature * *feature;
    }
    let gain = error * f32x4::splat(rate) / norm;
    for (weight, feature) in weights.iter_mut().zip(features).take(N) {
        let learned = f32x4::from(*weight) + gain * *feature;
        *weight = clamped(learned, f32x4::splat(MAX_WEIGHT)).to_array();
    }
}

/// Clamps to `-MAX_FEATURE..=MAX_FEATURE`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bounded(x: f32x4) -> f32x4 {
    clamped(x, f32x4::splat(MAX_FEATURE))
}

/// Clamps to `-most..=most`. No lane is NaN, of which machines make different things.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn clamped(x: f32x4, most: f32x4) -> f32x4 {
    x.fast_min(most).fast_max(f32x4::ZERO - most)
}
