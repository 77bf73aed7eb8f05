//! The vectors and quaternions of `mint` and of the versions of `glam`.

use super::{Op, Quaternion, Shape, Stream, Target, Vector, Wire};

macro_rules! vectors {
    ($($foreign:ty = $n:literal),*) => {$(
        impl Vector<$n> for $foreign {
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn to_array(self) -> [f32; $n] {
                self.into()
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from_array(components: [f32; $n]) -> Self {
                components.into()
            }
        }

        /// Unquantised floats.
        impl Wire for $foreign {
            const MAX_BITS: u64 = 32 * $n;
            const FIXED_BITS: Option<u32> = Some(32 * $n);

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn serialize<S: Stream>(
                this: Target<'_, S::Access, Self>,
                stream: &mut S,
            ) -> Result<(), S::Error> {
                stream.vector(this)
            }

            fn describe() -> Shape {
                Shape::Op(Op::Vector { dimensions: $n })
            }
        }
    )*};
}

#[cfg(feature = "mint")]
vectors!(mint::Vector2<f32> = 2, mint::Vector3<f32> = 3, mint::Vector4<f32> = 4);
#[cfg(feature = "mint")]
vectors!(mint::Point2<f32> = 2, mint::Point3<f32> = 3);

#[cfg(feature = "mint")]
impl Quaternion for mint::Quaternion<f32> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_xyzw(self) -> [f32; 4] {
        self.into()
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_xyzw(components: [f32; 4]) -> Self {
        components.into()
    }
}

macro_rules! whole_quaternions {
    ($($foreign:ty),*) => {$(
        /// Four unquantised floats.
        impl Wire for $foreign {
            const MAX_BITS: u64 = 128;
            const FIXED_BITS: Option<u32> = Some(128);

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn serialize<S: Stream>(
                this: Target<'_, S::Access, Self>,
                stream: &mut S,
            ) -> Result<(), S::Error> {
                stream.quaternion(this)
            }

            fn describe() -> Shape {
                Shape::Op(Op::Quaternion)
            }
        }
    )*};
}

#[cfg(feature = "mint")]
whole_quaternions!(mint::Quaternion<f32>);

/// Implements the traits for the types of each version of glam.
macro_rules! glam {
    ($($feature:literal $glam:ident)*) => {$(
        #[cfg(feature = $feature)]
        vectors!($glam::Vec2 = 2, $glam::Vec3 = 3, $glam::Vec3A = 3, $glam::Vec4 = 4);

        #[cfg(feature = $feature)]
        impl Quaternion for $glam::Quat {
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn to_xyzw(self) -> [f32; 4] {
                self.to_array()
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from_xyzw(components: [f32; 4]) -> Self {
                Self::from_array(components)
            }
        }

        #[cfg(feature = $feature)]
        whole_quaternions!($glam::Quat);
    )*};
}

glam!("glam-030" glam_030 "glam-032" glam_032 "glam-033" glam_033 "glam-034" glam_034);
