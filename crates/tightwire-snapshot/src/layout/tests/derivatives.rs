//! Positions and their velocities, and other hints.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::super::{Derivative, Kind, Layout};
use super::{NUMBER, TICKS, VECTOR, kinds, layout, refusal};
use tightwire_core::Wire;
use tightwire_core::schema::Schema;
use tightwire_core::stream::{
    Binary, Condition, Field, FloatRange, Hints, Number, Op, Shape, Stream, Target,
};

/// Layout of a position, a flag and a velocity, whose presence the flag decides.
fn moving(velocity_when: Option<Condition>) -> Layout {
    let range = |max: f32, resolution| {
        let range = FloatRange::new(-max, max, resolution);
        Shape::Op(Op::CompressedVector { dimensions: 3, range })
    };
    let hints = Hints { derivative_of: Some("position".into()), ..Hints::default() };
    let position = Field {
        hints: Hints { spatial: true, ..Hints::default() },
        ..Field::new("position", range(256.0, 0.001))
    };
    let velocity =
        Field { hints, when: velocity_when, ..Field::new("velocity", range(32.0, 0.01)) };
    let fields = vec![position, Field::new("at_rest", Shape::Op(Op::Bool)), velocity];
    let schema = Schema::new(Shape::Struct { name: "Body".into(), fields }).unwrap();
    Layout::new(&schema, TICKS).unwrap()
}

#[test]
fn a_position_is_coded_after_its_velocity() {
    let resting = Condition::Field(vec!["at_rest".into()]);
    for when in [None, Some(Condition::Not(Box::new(resting)))] {
        let layout = moving(when);
        assert_eq!(kinds(&layout), [(3, Kind::Category), (4, VECTOR), (0, VECTOR)]);
        assert!(layout.groups[2].spatial && !layout.groups[1].spatial);
        let Derivative { group, scale, zero } = layout.groups[2].derivative.unwrap();
        assert_eq!((group, zero), (1, 3200 << 32));
        // 10 codes of a millimetre per code of 10 mm/s, sixty times a second.
        assert_eq!(scale, ((1u64 << 32) as f64 * 10.0 / 60.0).round() as i64);
    }
}

#[test]
fn hints_of_a_derived_type_are_in_its_groups() {
    #[derive(Wire)]
    struct Ship {
        #[wire(range = -20480..=20480, spatial, reference)]
        position: [i32; 3],
        #[wire(range = -2047..=2047, derivative_of = position)]
        velocity: [i16; 3],
        #[wire(range = 0..=4095, wraps)]
        yaw: u16,
        #[wire(min = -9.0, max = 9.0, resolution = 0.1, derivative_of = yaw)]
        turn: f32,
    }
    let layout = layout::<Ship>();
    let wraps = Kind::Number { components: 1, wraps: true };
    assert_eq!(kinds(&layout), [(3, VECTOR), (0, VECTOR), (7, NUMBER), (6, wraps)]);
    let derivatives = layout.groups.iter().map(|group| group.derivative.map(|of| of.group));
    assert_eq!(derivatives.collect::<Vec<_>>(), [None, Some(0), None, Some(2)]);
    let position = &layout.groups[1];
    assert!(position.spatial && position.reference);
    assert!(layout.program.fixed.is_some());

    let other_ticks = Layout::new(&Schema::of::<Ship>(), 30).unwrap();
    assert_ne!(layout.fingerprint(), other_ticks.fingerprint());
    let [bool, bit] = [super::layout::<bool>(), {
        let bit = Schema::new(Shape::Op(Op::Bits { width: 1 })).unwrap();
        assert_eq!(bit.fingerprint(), Schema::of::<bool>().fingerprint());
        Layout::new(&bit, TICKS).unwrap()
    }];
    assert_ne!(bool.fingerprint(), bit.fingerprint());
}

#[test]
fn the_code_that_means_zero_is_exact() {
    let int = |min, max| {
        let (min, max) = (Number::Signed(min), Number::Signed(max));
        Shape::Op(Op::Int { min, max })
    };
    let fixed = Shape::Op(Op::Fixed {
        fraction_bits: 9,
        min: Number::Signed(-32),
        max: Number::Signed(31),
    });
    let hints = Hints { derivative_of: Some("x".into()), ..Hints::default() };
    for (velocity, zero, scale) in
        [(int(-2047, 2048), 2047, 16), (int(5, 9), -5, 16), (fixed, 16384, 1)]
    {
        let array = |element: &Shape| Shape::Array { len: 3, element: Box::new(element.clone()) };
        let unit = Shape::Op(Op::Fixed {
            fraction_bits: 4,
            min: Number::Signed(-100),
            max: Number::Signed(100),
        });
        let position = Field::new("x", array(&unit));
        let velocity = Field { hints: hints.clone(), ..Field::new("v", array(&velocity)) };
        let shape = Shape::Struct { name: "S".into(), fields: vec![velocity, position] };
        let layout = Layout::new(&Schema::new(shape).unwrap(), 1).unwrap();
        let derivative = layout.groups[1].derivative.unwrap();
        let scale = if scale == 1 { 1 << 27 } else { scale << 32 };
        assert_eq!(derivative, Derivative { group: 0, scale, zero: zero << 32 });
    }
}

#[test]
fn conditions_can_forbid_that_a_velocity_comes_first() {
    let hints = Hints { derivative_of: Some("x".into()), ..Hints::default() };
    let byte = || Shape::Op(Op::Bits { width: 8 });
    let positive = Condition::Binary(
        Binary::Greater,
        Box::new([Condition::Field(vec!["x".into()]), Condition::Number(Number::Unsigned(0))]),
    );
    let velocity = Field { hints, when: Some(positive), ..Field::new("v", byte()) };
    let fields = vec![Field::new("x", byte()), velocity];
    let schema = Schema::new(Shape::Struct { name: "S".into(), fields }).unwrap();
    let layout = Layout::new(&schema, TICKS).unwrap();
    assert_eq!(kinds(&layout), [(0, NUMBER), (1, NUMBER)]);
    assert!(layout.groups.iter().all(|group| group.derivative.is_none()));
}

#[test]
fn invalid_hints_are_refused_with_their_field() {
    /// A type that describes itself, and wrongly.
    struct Wrong<const IS_FLOAT: bool>;
    impl<const IS_FLOAT: bool> Wire for Wrong<IS_FLOAT> {
        fn serialize<S: Stream>(_: Target<'_, S::Access, Self>, _: &mut S) -> Result<(), S::Error> {
            Ok(())
        }
        fn describe() -> Shape {
            let byte = |name: &str| Field::new(name, Shape::Op(Op::Bits { width: 8 }));
            let other = if IS_FLOAT { Field::new("x", Shape::Op(Op::Float)) } else { byte("y") };
            let hints = Hints { derivative_of: Some("x".into()), ..Hints::default() };
            let fields = vec![other, Field { hints, ..byte("v") }];
            Shape::Struct { name: "S".into(), fields }
        }
    }
    for refused in [refusal::<Wrong<true>>(), refusal::<Wrong<false>>()] {
        assert!(refused.starts_with("S.v: it is the derivative of `x`"), "{refused}");
    }
}
