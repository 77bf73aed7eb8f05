//! The wire form as data.

use tightwire::Wire;
use tightwire::stream::{Binary, Condition, Field, Number, Op, Shape};

#[derive(Wire, Default, Clone, Copy, PartialEq)]
enum Kind {
    #[default]
    Rock,
    Plant,
    Animal(u8),
}

#[derive(Wire)]
#[allow(dead_code)]
struct Everything {
    flag: bool,
    #[wire(range = 0..=100, check = "health")]
    health: u8,
    #[wire(range = -5..=5)]
    lean: [Option<i8>; 3],
    #[wire(bits = 5)]
    bits: u16,
    #[wire(varint)]
    varint: i32,
    #[wire(min = -1.0, max = 1.0, resolution = 0.5)]
    float: f32,
    #[wire(min = -1, max = 1, resolution = 0.5)]
    vector: [f32; 2],
    whole: [f32; 3],
    #[wire(smallest_three = 9)]
    turn: [f32; 4],
    #[wire(unit = 8)]
    up: mint::Vector3<f32>,
    #[wire(max_len = 7)]
    text: String,
    #[wire(max_len = 7)]
    blob: Vec<u8>,
    #[wire(max_len = 7, bits = 4)]
    list: Vec<u8>,
    #[wire(pod)]
    pod: [u16; 2],
    #[wire(max_len = 7, pod)]
    pods: Vec<u32>,
    boxed: Box<u8>,
    kind: Kind,
    #[wire(skip)]
    skipped: u8,
    tuple: (bool, f64),
}

fn int(min: i128, max: i128) -> Shape {
    Shape::Op(Op::Int { min: Number::Signed(min), max: Number::Signed(max) })
}

fn unsigned(max: u128) -> Shape {
    Shape::Op(Op::Int { min: Number::Unsigned(0), max: Number::Unsigned(max) })
}

#[test]
fn every_rule_has_its_shape() {
    let Shape::Struct { name, fields } = Everything::describe() else { panic!("no struct") };
    assert_eq!(&*name, "Everything");
    let range = tightwire::FloatRange::new(-1.0, 1.0, 0.5);
    let list = |max_len, element| Shape::List { max_len, element: Box::new(element) };
    let kind = Shape::Enum {
        name: "Kind".into(),
        variants: vec![
            tightwire::stream::Variant { name: "Rock".into(), fields: vec![] },
            tightwire::stream::Variant { name: "Plant".into(), fields: vec![] },
            tightwire::stream::Variant {
                name: "Animal".into(),
                fields: vec![Field::new("0", unsigned(255))],
            },
        ],
    };
    let tuple = vec![Field::new("0", Shape::Op(Op::Bool)), Field::new("1", Shape::Op(Op::Double))];
    let expected = [
        ("flag", Shape::Op(Op::Bool)),
        ("health", unsigned(100)),
        ("health", Shape::Op(Op::Check { name: "health".into() })),
        ("lean", Shape::Array { len: 3, element: Box::new(Shape::Option(Box::new(int(-5, 5)))) }),
        ("bits", Shape::Op(Op::Bits { width: 5 })),
        ("varint", Shape::Op(Op::Varint { bits: 32, signed: true })),
        ("float", Shape::Op(Op::CompressedFloat(range))),
        ("vector", Shape::Op(Op::CompressedVector { dimensions: 2, range })),
        ("whole", Shape::Op(Op::Vector { dimensions: 3 })),
        ("turn", Shape::Op(Op::SmallestThree { bits: 9 })),
        ("up", Shape::Op(Op::UnitVector { bits: 8 })),
        ("text", Shape::Op(Op::String { max_len: 7 })),
        ("blob", Shape::Op(Op::Blob { max_len: 7 })),
        ("list", list(7, Shape::Op(Op::Bits { width: 4 }))),
        ("pod", Shape::Op(Op::Pod { size: 4 })),
        ("pods", list(7, Shape::Op(Op::Pod { size: 4 }))),
        ("boxed", unsigned(255)),
        ("kind", kind),
        ("tuple", Shape::Struct { name: "()".into(), fields: tuple }),
    ];
    let expected: Vec<_> = expected.map(|(name, shape)| Field::new(name, shape)).into();
    assert_eq!(fields, expected);
}

const FEW: u8 = 3;
const STOP: bool = true;

struct Opaque;

impl PartialEq<Opaque> for u8 {
    fn eq(&self, _: &Opaque) -> bool {
        true
    }
}

#[derive(Wire)]
#[allow(dead_code)]
struct Conditions {
    flag: bool,
    count: u8,
    signed: i8,
    kind: Kind,
    pair: (bool, (u8, bool)),
    maybe: Option<u8>,
    #[wire(max_len = 3)]
    name: String,
    speed: f32,
    #[wire(when = self.flag)]
    field: (),
    #[wire(when = !self.flag)]
    not: (),
    #[wire(when = self.count == 3)]
    equal: (),
    #[wire(when = self.count != FEW)]
    constant: (),
    #[wire(when = self.count < Self::MANY)]
    own_constant: (),
    #[wire(when = self.count <= 3)]
    less_or_equal: (),
    #[wire(when = self.count > 3 && (self.flag || self.pair.0))]
    and_or: (),
    #[wire(when = self.count >= 3)]
    greater_or_equal: (),
    #[wire(when = self.count & 4 != 0)]
    bit: (),
    #[wire(when = self.signed < -1)]
    negative: (),
    #[wire(when = self.pair.1.1 == STOP)]
    nested: (),
    #[wire(when = self.kind == Kind::Plant)]
    variant: (),
    #[wire(when = matches!(self.kind, Kind::Rock | Kind::Animal(..)))]
    variants: (),
    #[wire(when = matches!(self.count, 1 | 2))]
    numbers: (),
    #[wire(when = self.maybe.is_some())]
    some: (),
    #[wire(when = self.maybe.is_none())]
    none: (),
    #[wire(when = self.name.len() > 1)]
    len: (),
    #[wire(when = self.name.is_empty())]
    empty: (),
    #[wire(when = self.speed > 0.5)]
    float: (),
    #[wire(when = true)]
    always: (),
    #[wire(when = self.name.starts_with('a'))]
    method: (),
    #[wire(when = self.count == Opaque)]
    opaque: (),
    #[wire(when = self.count + 1 > 3)]
    sum: (),
    #[wire(when = !self.count & 1 != 0)]
    complement: (),
    #[wire(when = Kind :: is( self . kind,Kind::Plant )&&-self.signed>=2)]
    #[rustfmt::skip]
    calls: (),
}

impl Kind {
    fn is(self, other: Self) -> bool {
        self == other
    }
}

impl Conditions {
    const MANY: u8 = 50;
}

fn field(path: &str) -> Condition {
    Condition::Field(path.split('.').map(Into::into).collect())
}

fn number(number: i128) -> Condition {
    Condition::Number(Number::Signed(number))
}

fn constant(number: u128) -> Condition {
    Condition::Number(Number::Unsigned(number))
}

fn binary(operator: Binary, left: Condition, right: Condition) -> Condition {
    Condition::Binary(operator, Box::new([left, right]))
}

#[test]
fn conditions_are_data() {
    use Binary::{And, BitAnd, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual, Or};

    let boxed = |condition| Box::new(condition);
    let variant = |name: &str| Condition::Variant(name.into());
    let kind = |name: &str| binary(Equal, field("kind"), variant(name));
    let len = || Condition::Len(boxed(field("name")));
    let is_some = || Condition::IsSome(boxed(field("maybe")));
    let expected = [
        ("field", field("flag")),
        ("not", Condition::Not(boxed(field("flag")))),
        ("equal", binary(Equal, field("count"), number(3))),
        ("constant", binary(NotEqual, field("count"), constant(3))),
        ("own_constant", binary(Less, field("count"), constant(50))),
        ("less_or_equal", binary(LessOrEqual, field("count"), number(3))),
        (
            "and_or",
            binary(
                And,
                binary(Greater, field("count"), number(3)),
                binary(Or, field("flag"), field("pair.0")),
            ),
        ),
        ("greater_or_equal", binary(GreaterOrEqual, field("count"), number(3))),
        ("bit", binary(NotEqual, binary(BitAnd, field("count"), number(4)), number(0))),
        ("negative", binary(Less, field("signed"), number(-1))),
        ("nested", binary(Equal, field("pair.1.1"), Condition::Bool(true))),
        ("variant", kind("Plant")),
        ("variants", binary(Or, kind("Rock"), kind("Animal"))),
        (
            "numbers",
            binary(
                Or,
                binary(Equal, field("count"), number(1)),
                binary(Equal, field("count"), number(2)),
            ),
        ),
        ("some", is_some()),
        ("none", Condition::Not(boxed(is_some()))),
        ("len", binary(Greater, len(), number(1))),
        ("empty", binary(Equal, len(), number(0))),
        ("float", binary(Greater, field("speed"), Condition::Number(Number::Double(0.5)))),
        ("always", Condition::Bool(true)),
    ];
    let Shape::Struct { fields, .. } = Conditions::describe() else { panic!("no struct") };
    let find = |name: &str| {
        fields.iter().find(|field| &*field.name == name).and_then(|field| field.when.clone())
    };
    for (name, condition) in expected {
        assert_eq!(find(name), Some(condition), "{name}");
    }
    for name in ["method", "opaque", "sum", "complement", "calls"] {
        let when = find(name);
        assert!(matches!(when, Some(Condition::Source(_))), "{name}: {when:?}");
    }
    // However it is spaced in the source.
    let source = |text: &str| Some(Condition::Source(text.into()));
    assert_eq!(find("sum"), source("count + 1 > 3"));
    assert_eq!(find("method"), source("name.starts_with('a')"));
    assert_eq!(find("complement"), source("!count & 1 != 0"));
    assert_eq!(find("calls"), source("Kind::is(kind, Kind::Plant) && -signed >= 2"));
}

#[test]
fn conditions_of_variants_are_data_too() {
    #[derive(Wire)]
    #[allow(dead_code)]
    enum Packet {
        Tuple((bool, u8), #[wire(when = self.0.1 > 3)] u8),
        Named {
            flag: bool,
            #[wire(when = !self.flag)]
            more: u8,
        },
    }
    let Shape::Enum { variants, .. } = Packet::describe() else { panic!("no enum") };
    let when = |variant: usize| variants[variant].fields[1].when.clone();
    assert_eq!(when(0), Some(binary(Binary::Greater, field("0.1"), number(3))));
    assert_eq!(when(1), Some(Condition::Not(Box::new(field("flag")))));
}

#[test]
fn by_hand_is_opaque() {
    struct ByHand;
    impl Wire for ByHand {
        const MAX_BITS: u64 = 9;
        fn serialize<S: tightwire::Stream>(
            _: tightwire::Target<'_, S::Access, Self>,
            _: &mut S,
        ) -> Result<(), S::Error> {
            Ok(())
        }
    }
    #[derive(Wire)]
    #[allow(dead_code)]
    struct Outer(ByHand);
    let Shape::Struct { fields, .. } = Outer::describe() else { panic!("no struct") };
    assert_eq!(fields[0].shape, Shape::Opaque { name: "ByHand".into(), max_bits: 9 });
}
