//! Quantised floats, and their maximum error.

use arbitrary::{Result, Unstructured};
use tightwire::{FloatRange, Stream, Target, Wire, at};

use super::number::sorted;

/// A value that is rounded on the wire.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Quantised {
    coding: Coding,
    /// Components of the value; those that the coding does not send are zero.
    components: [f32; 4],
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Coding {
    Float(FloatRange),
    Vector(FloatRange),
    /// Bits per component.
    Rotation(u32),
    /// Bits per coordinate.
    Direction(u32),
}

impl Quantised {
    /// Generates the coding from `shape`, the components from `values`.
    pub(super) fn generate(
        shape: &mut Unstructured<'_>,
        values: &mut Unstructured<'_>,
    ) -> Result<Self> {
        let coding = match shape.int_in_range(0..=3)? {
            0 => Coding::Float(float_range(shape)?),
            1 => Coding::Vector(float_range(shape)?),
            2 => Coding::Rotation(shape.int_in_range(3..=20)?),
            _ => Coding::Direction(shape.int_in_range(2..=20)?),
        };
        let mut components = match coding {
            Coding::Float(range) => [within(range, values)?, 0.0, 0.0, 0.0],
            Coding::Vector(range) => {
                [within(range, values)?, within(range, values)?, within(range, values)?, 0.0]
            }
            Coding::Rotation(_) => any_length(values)?,
            Coding::Direction(_) => {
                let [x, y, z, _] = any_length(values)?;
                [x, y, z, 0.0]
            }
        };
        // A rotation or direction has a length above zero.
        if matches!(coding, Coding::Rotation(_) | Coding::Direction(_)) && components == [0.0; 4] {
            components[0] = 1.0;
        }
        Ok(Self { coding, components })
    }

    /// Returns whether `read` is as close as the coding promises.
    pub(super) fn agrees(&self, read: &Self) -> bool {
        let (sent, came) = (self.components, read.components);
        self.coding == read.coding
            && match self.coding {
                Coding::Float(range) | Coding::Vector(range) => {
                    is_near(self.clamped(range), came, float_error(range))
                }
                Coding::Rotation(bits) => is_same_rotation(sent, came, bits),
                Coding::Direction(bits) => {
                    // Half a step on the octahedron is at most √18 times as much on the sphere.
                    let step = 1.0 / f64::from((1 << (bits - 1)) - 1);
                    is_near(normalised(sent), came, 4.25 * 0.5 * step + 1e-6)
                }
            }
    }

    /// Returns the components, clamped to the range.
    fn clamped(&self, range: FloatRange) -> [f64; 4] {
        let sent = if matches!(self.coding, Coding::Float(_)) { 1 } else { 3 };
        let mut clamped = [0.0; 4];
        for (place, component) in clamped.iter_mut().zip(self.components).take(sent) {
            *place = component.clamp(range.min(), range.max()).into();
        }
        clamped
    }
}

impl Wire for Quantised {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> std::result::Result<(), S::Error> {
        let [x, y, z, w] = this.components;
        let mut vector = [x, y, z];
        match this.coding {
            Coding::Float(range) => return stream.compressed_float(at!(this.components[0]), range),
            Coding::Rotation(bits) => return stream.smallest_three(at!(this.components), bits),
            Coding::Vector(range) => stream.compressed_vector(&mut vector, range)?,
            Coding::Direction(bits) => stream.unit_vector(&mut vector, bits)?,
        }
        let [x, y, z] = vector;
        at!(this.components).put([x, y, z, w]);
        Ok(())
    }
}

/// Returns whether a rotation in `bits` bits per component came back; a quaternion and its negation
/// are the same rotation.
pub(super) fn is_same_rotation(sent: [f32; 4], came: [f32; 4], bits: u32) -> bool {
    // Half a step for each of the three components on the wire, and the resulting error of the
    // fourth.
    let step = 1.0 / (f64::from((1 << (bits - 1)) - 1) * std::f64::consts::SQRT_2);
    let unit = normalised(sent);
    let most = 2.0 * step + 1e-6;
    is_near(unit, came, most) || is_near(unit.map(|component| -component), came, most)
}

fn is_near(sent: [f64; 4], came: [f32; 4], most: f64) -> bool {
    sent.iter().zip(came).all(|(sent, came)| (sent - f64::from(came)).abs() <= most)
}

/// Returns the maximum error: half a step, and the rounding of single precision on the way.
fn float_error(range: FloatRange) -> f64 {
    let (min, max) = (f64::from(range.min()), f64::from(range.max()));
    let step = (max - min) / f64::from(range.max_code());
    0.5 * step + 4.0 * f64::from(f32::EPSILON) * (max - min + min.abs() + max.abs())
}

/// Generates ranges of every size and position, with one step or many.
fn float_range(shape: &mut Unstructured<'_>) -> Result<FloatRange> {
    let scale = 2f32.powi(shape.int_in_range(-60..=60)?);
    let (min, max) = sorted(shape.arbitrary::<i16>()?, shape.arbitrary::<i16>()?);
    let (min, max) = (f32::from(min) * scale, (f32::from(max) + 1.0) * scale);
    // Up to 2^35 steps: more than a code can count.
    let steps = shape.int_in_range(0..=35)?;
    let odd = 1.0 + f32::from(shape.arbitrary::<u8>()?) / 256.0;
    Ok(FloatRange::new(min, max, (max - min) / 2f32.powi(steps) / odd))
}

/// Generates a value within the range, or slightly outside.
fn within(range: FloatRange, values: &mut Unstructured<'_>) -> Result<f32> {
    let part = values.arbitrary::<u32>()? as f32 / u32::MAX as f32;
    Ok(range.min() + (range.max() - range.min()) * (part * 1.25 - 0.125))
}

/// Generates four numbers of one magnitude, either any or nearly of length one, as most are.
fn any_length(values: &mut Unstructured<'_>) -> Result<[f32; 4]> {
    let scale = 2f32.powi(values.int_in_range(-60..=40)?);
    let mut components = [0.0; 4];
    for component in &mut components {
        *component = f32::from(values.arbitrary::<i16>()?) * scale;
    }
    // Of two equal components, either may count as the largest.
    if values.arbitrary()? {
        components[1] = components[0];
    }
    if values.arbitrary()? && components != [0.0; 4] {
        let length = 1.0 + f64::from(values.arbitrary::<i8>()?) * 1e-8;
        components = normalised(components).map(|component| (component * length) as f32);
    }
    Ok(components)
}

fn normalised(components: [f32; 4]) -> [f64; 4] {
    let components = components.map(f64::from);
    let length = components.iter().map(|component| component * component).sum::<f64>().sqrt();
    components.map(|component| component / length)
}
