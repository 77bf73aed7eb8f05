//! The worst case of a type, worked out by hand, and values that reach it.

use tightwire::Wire;

/// The type's worst case, and the size of a value that should have it.
fn reaches<T: Wire>(value: T, bits: u64) {
    assert_eq!(T::MAX_BITS, bits, "{}", std::any::type_name::<T>());
    assert_eq!(T::MAX_BYTES as u64, bits.div_ceil(8));
    assert_eq!(tightwire::measure(&value), bits, "{}", std::any::type_name::<T>());
}

#[derive(Wire, Default)]
struct Numbers {
    #[wire(range = 0..=1000)]
    a: u16,
    #[wire(range = 0..=1023)]
    b: u16,
    #[wire(range = 0..=1024)]
    c: u16,
    #[wire(range = -1..=0)]
    d: i64,
    #[wire(range = i64::MIN..=i64::MAX)]
    e: i64,
    #[wire(range = u128::MAX - 1..=u128::MAX)]
    f: u128,
    #[wire(range = i128::MIN..=i128::MAX)]
    g: i128,
    #[wire(range = i8::MIN..=i8::MAX)]
    h: i8,
    #[wire(range = 5..=5)]
    i: u8,
}

#[derive(Wire)]
struct Varints {
    #[wire(varint)]
    a: u8,
    #[wire(varint)]
    b: i32,
    #[wire(varint)]
    c: u64,
    #[wire(varint)]
    d: i128,
}

#[derive(Wire)]
struct Collections {
    #[wire(max_len = 10)]
    text: String,
    #[wire(max_len = 15)]
    blob: Vec<u8>,
    #[wire(max_len = 16, range = 0..=3)]
    list: Vec<u8>,
    #[wire(max_len = 3, pod)]
    pods: Vec<[u16; 2]>,
    #[wire(pod)]
    pod: [u8; 3],
    maybe: Option<Option<u8>>,
}

#[derive(Wire)]
enum Choice {
    Small(u8),
    Large {
        flag: bool,
        #[wire(when = self.flag)]
        more: u64,
        #[wire(check = "end")]
        last: bool,
    },
    None,
}

#[derive(Wire)]
struct Body {
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    #[wire(unit = 12)]
    up: [f32; 3],
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(skip)]
    #[allow(dead_code)]
    cache: [u64; 100],
}

#[derive(Wire)]
struct Generic<T, const N: usize>([T; N], Option<T>);

#[test]
fn the_worst_case_equals_one_computed_by_hand() {
    let numbers = Numbers { f: u128::MAX, i: 5, ..Numbers::default() };
    reaches(numbers, 10 + 10 + 11 + 1 + 64 + 1 + 128 + 8);
    // Groups of eight bits: 2, 5, 10, 19.
    let varints = Varints { a: 255, b: i32::MIN, c: u64::MAX, d: i128::MIN };
    reaches(varints, 8 * (2 + 5 + 10 + 19));
    let collections = Collections {
        text: "x".repeat(10),
        blob: vec![0; 15],
        list: vec![0; 16],
        pods: vec![[0; 2]; 3],
        pod: [0; 3],
        maybe: Some(Some(0)),
    };
    let text = 4 + 7 + 80;
    let blob = 4 + 7 + 120;
    let list = 5 + 16 * 2;
    let pods = 2 + 7 + 3 * 32;
    reaches(collections, text + blob + list + pods + (7 + 24) + (1 + 1 + 8));
    reaches(Choice::Large { flag: true, more: 0, last: true }, 2 + 1 + 64 + 1 + 32);
    let body = Body {
        position: [0.0; 3],
        orientation: [0.0, 0.0, 0.0, 1.0],
        up: [0.0, 1.0, 0.0],
        at_rest: false,
        velocity: [0.0; 3],
        cache: [0; 100],
    };
    reaches(body, 3 * 19 + 32 + 24 + 1 + 3 * 13);
    reaches(Generic::<u8, 3>([0; 3], Some(0)), 3 * 8 + 9);
    reaches(Generic::<Generic<bool, 2>, 5>(Default::default(), None.or(full())), 6 * 4 + 1);
    assert!(tightwire::measure(&Choice::Small(0)) < Choice::MAX_BITS);
    assert!(tightwire::measure(&Choice::None) < Choice::MAX_BITS);
}

fn full() -> Option<Generic<bool, 2>> {
    Some(Generic([true; 2], Some(true)))
}

impl Default for Generic<bool, 2> {
    fn default() -> Self {
        Self([true; 2], Some(true))
    }
}

#[test]
fn the_worst_case_is_the_length_of_an_array() {
    let mut buffer = [0; Body::MAX_BYTES];
    assert_eq!(buffer.len(), 20);
    let choice = Choice::Large { flag: true, more: 1, last: false };
    assert!(tightwire::encode(&choice, &mut buffer).is_ok());
    const { assert!(Collections::MAX_BYTES < 1200) };
}

#[test]
fn a_bound_beyond_all_memory_is_no_worst_case_but_compiles() {
    const MOST: usize = u32::MAX as usize;
    #[derive(Wire, Default, PartialEq, Debug)]
    struct Row {
        #[wire(max_len = MOST)]
        cells: Vec<u64>,
    }
    #[derive(Wire, Default)]
    struct Huge {
        #[wire(max_len = 4294967295)]
        text: String,
        #[wire(max_len = MOST)]
        list: Vec<Row>,
    }
    assert_eq!(Huge::MAX_BITS, u64::MAX);
    let huge = Huge { text: "a".into(), list: vec![Row { cells: vec![1] }] };
    let mut buffer = [0; 64];
    let packet = tightwire::encode(&huge, &mut buffer).unwrap();
    assert_eq!(tightwire::decode::<Huge>(packet).unwrap().list, [Row { cells: vec![1] }]);
    assert!(tightwire::schema::Schema::new(Huge::describe()).is_ok());
    for fill in [0x7f, 0xff] {
        assert!(tightwire::decode::<Huge>(&[fill; 64]).is_err());
    }
}

#[test]
fn by_hand_within_derived_has_no_worst_case_unless_it_says() {
    struct Unknown;
    impl Wire for Unknown {
        fn serialize<S: tightwire::Stream>(
            _: tightwire::Target<'_, S::Access, Self>,
            _: &mut S,
        ) -> Result<(), S::Error> {
            Ok(())
        }
    }
    #[derive(Wire)]
    struct Outer {
        a: u8,
        #[allow(dead_code)]
        b: [Unknown; 2],
        c: u8,
    }
    let outer = Outer { a: 1, b: [Unknown, Unknown], c: 2 };
    assert_eq!(Outer::MAX_BITS, u64::MAX);
    assert_eq!(tightwire::measure(&outer), 16);
}
