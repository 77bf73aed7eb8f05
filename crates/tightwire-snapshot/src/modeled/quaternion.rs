//! Rotations in integer arithmetic: quaternions with 30 fraction bits, order x, y, z, w.

pub(super) type Quaternion = [i64; 4];
/// Axis times half the angle, 30 fraction bits.
pub(super) type Turn = [i64; 3];

/// Rows of a rotation's matrix, 30 fraction bits.
pub(super) type Matrix = [[i64; 3]; 3];

pub(super) const UNIT: i64 = 1 << 30;
pub(super) const IDENTITY: Quaternion = [0, 0, 0, UNIT];
/// sqrt(1/2)
const HALF_ROOT: i64 = 759_250_125;

/// Returns the component that half a code means, 60 fraction bits. Precomputed, since it saves
/// divisions.
pub(super) fn half_code(max: i64) -> i64 {
    (HALF_ROOT << 30) / max
}

/// Returns the component that a code means.
pub(super) fn component(code: u32, max: i64, half_code: i64) -> i64 {
    // |2 * code - max| * half_code is at most sqrt(1/2) * 2^60.
    ((2 * code as i64 - max) * half_code) >> 30
}

/// Decodes a rotation from the index of the largest component and the codes of the others.
pub(super) fn from_cells(cells: &[u32], max: i64, half_code: i64) -> Quaternion {
    let largest = (cells[0] & 3) as usize;
    let mut q = [0; 4];
    let mut rest = UNIT * UNIT;
    let mut code = 1;
    for (i, part) in q.iter_mut().enumerate() {
        if i != largest {
            *part = component(cells[code], max, half_code);
            rest -= *part * *part;
            code += 1;
        }
    }
    q[largest] = root(rest);
    q
}

/// Returns the square root of a number with 60 fraction bits, accurate to 16 bits, which is enough
/// for a rotation.
pub(super) fn root(square: i64) -> i64 {
    let square = (square >> 28).clamp(0, u32::MAX.into()) as u32;
    i64::from(square.isqrt()) << 14
}

/// Returns the code of a component, with 8 fraction bits.
pub(super) fn code(component: i64, max: i64) -> i64 {
    (((((component >> 8) * (HALF_ROOT >> 8)) >> 22) * max) >> 14) + max * 128
}

/// Returns the largest change of a component by a turn of this half angle, in codes with 8 fraction
/// bits.
pub(super) fn turn_codes(half_angle: i64, max: i64) -> i64 {
    code(half_angle, max) - code(0, max)
}

pub(super) fn multiply(a: &Quaternion, b: &Quaternion) -> Quaternion {
    let [ax, ay, az, aw] = *a;
    let [bx, by, bz, bw] = *b;
    let part = |sum: i64| (sum >> 30).clamp(-UNIT, UNIT);
    [
        part(aw * bx + ax * bw + ay * bz - az * by),
        part(aw * by - ax * bz + ay * bw + az * bx),
        part(aw * bz + ax * by - ay * bx + az * bw),
        part(aw * bw - ax * bx - ay * by - az * bz),
    ]
}

pub(super) fn inverse(q: &Quaternion) -> Quaternion {
    [-q[0], -q[1], -q[2], q[3]]
}

/// `k / (2 * k + 1)` for k from 6 down to 1.
const LOG_SHARES: [i64; 6] =
    [6 * UNIT / 13, 5 * UNIT / 11, 4 * UNIT / 9, 3 * UNIT / 7, 2 * UNIT / 5, UNIT / 3];

/// Returns the turn of a rotation, the shorter way round.
pub(super) fn log(q: &Quaternion) -> Turn {
    let sign = if q[3] < 0 { -1 } else { 1 };
    // acos(w) / sqrt(1 - w * w) in 1 - w, whose coefficients are k / (2 * k + 1) of the one before.
    let t = UNIT - q[3] * sign;
    let mut factor = UNIT;
    for share in LOG_SHARES {
        factor = UNIT + ((((factor * t) >> 30) * share) >> 30);
    }
    let factor = factor * sign;
    [(q[0] * factor) >> 30, (q[1] * factor) >> 30, (q[2] * factor) >> 30]
}

/// Returns the rotation by a turn.
pub(super) fn exp(turn: &Turn) -> Quaternion {
    let v = turn.map(|x| x.clamp(-2 * UNIT, 2 * UNIT) / 4);
    let t = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) >> 30;
    let t2 = (t * t) >> 30;
    let t3 = (t2 * t) >> 30;
    let sine = UNIT - t / 6 + t2 / 120 - t3 / 5040;
    let cosine = UNIT - t / 2 + t2 / 24 - t3 / 720;
    let mut q = [(v[0] * sine) >> 30, (v[1] * sine) >> 30, (v[2] * sine) >> 30, cosine];
    for _ in 0..2 {
        q = multiply(&q, &q);
    }
    q
}

/// Rotates a vector of whole codes.
pub(super) fn rotate(q: &Quaternion, v: [i64; 3]) -> [i64; 3] {
    let v = v.map(|x| x.clamp(-1 << 30, 1 << 30));
    let [x, y, z, w] = q.map(|c| c >> 2); // 28 bits, so that the products fit
    let cross = |a: [i64; 3], b: [i64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let u = [x, y, z];
    let t = cross(u, v).map(|c| c >> 27);
    let s = cross(u, t).map(|c| c >> 28);
    [0, 1, 2].map(|i| v[i] + ((w * t[i]) >> 28) + s[i])
}

/// Returns the rows of the rotation's matrix, 30 fraction bits.
pub(super) fn matrix(q: &Quaternion) -> Matrix {
    let [x, y, z, w] = *q;
    let p = |a: i64, b: i64| (a * b) >> 29;
    [
        [UNIT - p(y, y) - p(z, z), p(x, y) - p(z, w), p(x, z) + p(y, w)],
        [p(x, y) + p(z, w), UNIT - p(x, x) - p(z, z), p(y, z) - p(x, w)],
        [p(x, z) - p(y, w), p(y, z) + p(x, w), UNIT - p(x, x) - p(y, y)],
    ]
}
