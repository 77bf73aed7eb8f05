//! Rotations as quaternions, in the order x, y, z, w. The arithmetic follows the rules of `logistic`,
//! so that all machines compute the same bits; IEEE 754 defines the rounding of square roots too.

use wide::f32x4;

pub(super) type Quaternion = [f32; 4];
/// Axis times half the angle.
pub(super) type Turn = [f32; 3];
/// Rows of a rotation's matrix.
pub(super) type Matrix = [[f32; 3]; 3];

pub(super) const IDENTITY: Quaternion = [0.0, 0.0, 0.0, 1.0];
const HALF_ROOT: f32 = core::f32::consts::FRAC_1_SQRT_2;

/// Returns the change of a component per half a code.
pub(super) fn half_code(max: i64) -> f32 {
    HALF_ROOT / max as f32
}

/// Returns the number of codes in a component of 1, with 8 fraction bits.
pub(super) fn codes_per_unit(max: i64) -> f32 {
    128.0 * max as f32 / HALF_ROOT
}

/// Returns the component of a code.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn component(code: u32, max: i64, half_code: f32) -> f32 {
    (2 * i64::from(code) - max) as f32 * half_code
}

/// Decodes a rotation from the index of the largest component and the codes of the others.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn from_cells(cells: &[u32], max: i64, half_code: f32) -> Quaternion {
    let &[largest, a, b, c] = cells.first_chunk().unwrap_or(&[0; 4]);
    let [a, b, c] = [a, b, c].map(|code| component(code, max, half_code));
    let d = root(1.0 - a * a - b * b - c * c);
    match largest & 3 {
        0 => [d, a, b, c],
        1 => [a, d, b, c],
        2 => [a, b, d, c],
        _ => [a, b, c, d],
    }
}

/// Returns the square root; 0 for negative numbers and NaN. Not by `libm`, since all vectors would be stored
/// during the call.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn root(square: f32) -> f32 {
    let [root, ..] =
        f32x4::from([if square > 0.0 { square } else { 0.0 }, 0.0, 0.0, 0.0]).sqrt().to_array();
    root
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn multiply(a: &Quaternion, b: &Quaternion) -> Quaternion {
    let [ax, ay, az, aw] = *a;
    let [bx, by, bz, bw] = *b;
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

pub(super) fn inverse(q: &Quaternion) -> Quaternion {
    [-q[0], -q[1], -q[2], q[3]]
}

/// `k / (2 * k + 1)` for k from 5 down to 1.
const LOG_SHARES: [f32; 5] = [5.0 / 11.0, 4.0 / 9.0, 3.0 / 7.0, 2.0 / 5.0, 1.0 / 3.0];

/// Returns the turn of a rotation, the shorter way round.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn log(q: &Quaternion) -> Turn {
    let sign = if q[3] < 0.0 { -1.0 } else { 1.0 };
    // The series of acos(w) / sqrt(1 - w * w) in powers of 1 - w: each coefficient is k / (2 * k + 1)
    // times the one before.
    let t = 1.0 - q[3] * sign;
    let factor = LOG_SHARES.iter().fold(1.0, |factor, share| 1.0 + factor * t * share) * sign;
    [q[0] * factor, q[1] * factor, q[2] * factor]
}

/// Divisors of the series of the sine and the cosine, the last first.
const SINE: [f32; 4] = [1.0 / 72.0, 1.0 / 42.0, 1.0 / 20.0, 1.0 / 6.0];
const COSINE: [f32; 4] = [1.0 / 56.0, 1.0 / 30.0, 1.0 / 12.0, 1.0 / 2.0];

/// Returns the rotation by a turn.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp(turn: &Turn) -> Quaternion {
    let [x, y, z] = turn.map(|part| part.clamp(-2.0, 2.0));
    let t = x * x + y * y + z * z;
    let series = |shares: &[f32; 4]| shares.iter().fold(1.0, |sum, share| 1.0 - t * share * sum);
    let (sine, cosine) = (series(&SINE), series(&COSINE));
    [x * sine, y * sine, z * sine, cosine]
}

/// Rotates a vector.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn rotate(q: &Quaternion, v: [f32; 3]) -> [f32; 3] {
    let cross = |a: [f32; 3], b: [f32; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let u = [q[0], q[1], q[2]];
    let t = cross(u, v).map(|part| part + part);
    let s = cross(u, t);
    [0, 1, 2].map(|i| v[i] + q[3] * t[i] + s[i])
}

/// Returns the rows of the rotation's matrix.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn matrix(q: &Quaternion) -> Matrix {
    let [x, y, z, w] = *q;
    let p = |a: f32, b: f32| 2.0 * a * b;
    [
        [1.0 - p(y, y) - p(z, z), p(x, y) - p(z, w), p(x, z) + p(y, w)],
        [p(x, y) + p(z, w), 1.0 - p(x, x) - p(z, z), p(y, z) - p(x, w)],
        [p(x, z) - p(y, w), p(y, z) + p(x, w), 1.0 - p(x, x) - p(y, y)],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_the_logarithm_of_its_rotation() {
        for [x, y, z] in [[0.0; 3], [0.3, -0.2, 0.1], [-0.7, 0.4, 0.2], [1e-4, 0.0, -1e-5]] {
            let turn = log(&exp(&[x, y, z]));
            for (turn, expected) in turn.iter().zip([x, y, z]) {
                assert!((turn - expected).abs() < 1e-4, "{turn} instead of {expected}");
            }
        }
    }

    #[test]
    fn a_rotation_and_its_matrix_turn_a_vector_alike() {
        let q = exp(&[0.3, -0.5, 0.2]);
        let turned = rotate(&q, [1.0, 2.0, 3.0]);
        for (row, turned) in matrix(&q).iter().zip(turned) {
            let product = row[0] + 2.0 * row[1] + 3.0 * row[2];
            assert!((product - turned).abs() < 1e-5, "{product} and {turned}");
        }
    }

    /// The codes of a hostile packet need not be those of a rotation.
    #[test]
    fn rotations_of_any_cells_are_finite() {
        for max in [1, 511, u32::MAX] {
            for index in 0..5 {
                let cells = [index, max, 0, max];
                let q = from_cells(&cells, max.into(), half_code(max.into()));
                let turn = log(&multiply(&q, &q)).map(|part| (part * 65_536.0).clamp(-2.0, 2.0));
                let again = multiply(&exp(&turn), &q);
                assert!(again.iter().all(|part| part.abs() < 16.0), "{again:?}");
            }
        }
    }
}
