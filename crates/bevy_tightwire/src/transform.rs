//! The codec of `Transform`.

use bevy_math::{Quat, Vec3};
use bevy_transform::components::Transform;
use tightwire::FloatRange;
use tightwire::stream::{Field, Op, ReadError, ReadStream, Shape, Stream, WriteStream};

use crate::codec::{Codec, WireEntities};

/// The codec of [`Transform`], with a range and a resolution.
///
/// Numbers beyond the range are sent as its end. A transform with one that is not finite is not sent:
/// the previous one stays, and a warning says so.
///
/// ```
/// use bevy_app::App;
/// use bevy_tightwire::prelude::*;
/// use bevy_transform::components::Transform;
///
/// let mut app = App::new();
/// app.replicate_as::<Transform, _>(TransformCodec {
///     translation: FloatRange::new(-512.0, 512.0, 0.001),
///     rotation_bits: 12,
///     scale: None,
/// })
/// .interpolate();
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransformCodec {
    /// Range and resolution of each component of the translation.
    pub translation: FloatRange,
    /// Bits of each of the three components that a rotation is sent as, from 3 to 20.
    pub rotation_bits: u32,
    /// Range and resolution of each component of the scale; `None` if it is always 1.
    pub scale: Option<FloatRange>,
}

impl Default for TransformCodec {
    /// A kilometre in each direction in steps of a millimetre, 12 bits for rotations, no scale.
    fn default() -> Self {
        let translation = FloatRange::new(-1000.0, 1000.0, 0.001);
        Self { translation, rotation_bits: 12, scale: None }
    }
}

impl Codec<Transform> for TransformCodec {
    fn shape(&self) -> Shape {
        let vector = |range| Shape::Op(Op::CompressedVector { dimensions: 3, range });
        let mut translation = Field::new("translation", vector(self.translation));
        translation.hints.spatial = true;
        let rotation = Shape::Op(Op::SmallestThree { bits: self.rotation_bits });
        let mut fields = vec![translation, Field::new("rotation", rotation)];
        fields.extend(self.scale.map(|scale| Field::new("scale", vector(scale))));
        Shape::Struct { name: "Transform".into(), fields }
    }

    fn write(&self, value: &Transform, stream: &mut WriteStream<'_>, _: &mut WireEntities<'_>) {
        let Ok(()) = stream.compressed_vector(&value.translation, self.translation);
        let Ok(()) = stream.smallest_three(&value.rotation, self.rotation_bits);
        if let Some(scale) = self.scale {
            let Ok(()) = stream.compressed_vector(&value.scale, scale);
        }
    }

    fn read(
        &self,
        stream: &mut ReadStream<'_>,
        _: &mut WireEntities<'_>,
    ) -> Result<Transform, ReadError> {
        let (mut translation, mut rotation, mut scale) = (Vec3::ZERO, Quat::IDENTITY, Vec3::ONE);
        stream.compressed_vector(&mut translation, self.translation)?;
        stream.smallest_three(&mut rotation, self.rotation_bits)?;
        if let Some(range) = self.scale {
            stream.compressed_vector(&mut scale, range)?;
        }
        Ok(Transform { translation, rotation, scale })
    }
}
