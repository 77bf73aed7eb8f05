//! A prediction that is a learned weighted sum of a few others (normalised least mean squares).

pub(super) const FEATURES: usize = 8;
const BITS: u32 = 16;
/// Limit of features and errors, so that no product overflows.
pub(super) const MAX_FEATURE: i64 = 1 << 28;

/// Number of features that may be other than 0; the others cost nothing.
#[derive(Clone, Copy)]
pub(super) enum Used {
    Three,
    Five,
    Six,
    All,
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn predict(weights: &[i32], features: &[i64; FEATURES], used: Used) -> i64 {
    match used {
        Used::Three => predict_by::<3>(weights, features),
        Used::Five => predict_by::<5>(weights, features),
        Used::Six => predict_by::<6>(weights, features),
        Used::All => predict_by::<FEATURES>(weights, features),
    }
}

/// Moves the weights so that the error would have been a little smaller.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn learn(
    weights: &mut [i32],
    features: &[i64; FEATURES],
    used: Used,
    error: i64,
    rate: i64,
) {
    match used {
        Used::Three => learn_by::<3>(weights, features, error, rate),
        Used::Five => learn_by::<5>(weights, features, error, rate),
        Used::Six => learn_by::<6>(weights, features, error, rate),
        Used::All => learn_by::<FEATURES>(weights, features, error, rate),
    }
}

fn predict_by<const N: usize>(weights: &[i32], features: &[i64; FEATURES]) -> i64 {
    let mut sum = 0;
    for (w, f) in weights.iter().zip(features).take(N) {
        sum += *w as i64 * f;
    }
    (sum >> BITS).clamp(-MAX_FEATURE, MAX_FEATURE)
}

fn learn_by<const N: usize>(
    weights: &mut [i32],
    features: &[i64; FEATURES],
    error: i64,
    rate: i64,
) {
    let norm: i64 = features.iter().take(N).map(|f| f * f).sum::<i64>() + 256 * 256 * 2;
    let error = error.clamp(-MAX_FEATURE, MAX_FEATURE);
    // A feature is at most sqrt(norm), so gain * feature stays below 2^56.
    let gain = ((error * rate) << 16) / (norm >> 12); // error / norm, 28 fraction bits
    for (w, f) in weights.iter_mut().zip(features).take(N) {
        let step = (gain * f) >> 24;
        *w = (*w as i64 + step).clamp(-4 << BITS, 4 << BITS) as i32;
    }
}
