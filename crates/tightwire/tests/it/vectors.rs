//! Golden and hostile vectors of the public `serialize` format, made with its C++ implementation:
//! we write exactly its bytes, read exactly its values, and refuse exactly the same packets.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::str::FromStr;

use serde_json::Value as Json;
use tightwire::stream::{MeasureStream, RawStream, ReadStream, TraceStream, WriteStream};
use tightwire::{FloatRange, Stream};

const VALID: &str = include_str!("vectors/serialize_cpp.jsonl");
const REJECTED: &str = include_str!("vectors/serialize_cpp_reject.jsonl");

/// Every operation in the vectors: a file that lost some would prove less than it claims.
const OPS: [&str; 23] = [
    "align",
    "bits",
    "bits64",
    "bool",
    "bytes",
    "compressed_float",
    "compressed_float_clamp",
    "cpp_fixed",
    "cpp_int128",
    "cpp_int_degenerate",
    "cpp_int_relative",
    "cpp_uint128",
    "cpp_wstring",
    "double",
    "float",
    "int",
    "int64",
    "seed_object_index",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
];

#[test]
fn every_valid_vector_is_written_bit_for_bit() {
    let mut ops_seen = BTreeSet::new();
    let lines = lines(VALID);
    assert_eq!(lines.len(), 600);
    for line in &lines {
        let mut buffer = [0xaa; 4096];
        let mut stream = WriteStream::new(&mut buffer);
        for op in ops(line) {
            let Ok(_) = apply(&mut stream, op);
            ops_seen.insert(text(op, "op"));
        }
        assert_eq!(stream.position(), bits(line, "bits"), "{}", line["name"]);
        let packet =
            stream.finish().unwrap_or_else(|refused| panic!("{}: {refused}", line["name"]));
        assert_eq!(hex(packet), text(line, "hex"), "{}", line["name"]);
    }
    assert_eq!(ops_seen, BTreeSet::from(OPS));
}

#[test]
fn every_valid_vector_is_read_to_its_last_bit() {
    for line in &lines(VALID) {
        let packet = unhex(text(line, "hex"));
        let mut stream = ReadStream::new(&packet);
        for op in ops(line) {
            let read = apply(&mut stream, op);
            assert_eq!(read, Ok(carried(op)), "{}: {op}", line["name"]);
        }
        assert_eq!(stream.position(), bits(line, "bits"), "{}", line["name"]);
        assert_eq!(stream.finish(), Ok(()), "{}", line["name"]);
    }
}

#[test]
fn every_valid_vector_measures_as_the_conservative_measure_says() {
    for line in &lines(VALID) {
        let mut stream = MeasureStream::new();
        for op in ops(line) {
            let Ok(_) = apply(&mut stream, op);
        }
        assert_eq!(stream.bits(), bits(line, "measure_bits"), "{}", line["name"]);
        assert!(stream.bits() >= bits(line, "bits"), "{}", line["name"]);
    }
}

#[test]
fn every_valid_vector_traces_as_one_span_per_operation_and_no_bit_between() {
    for line in &lines(VALID) {
        let packet = unhex(text(line, "hex"));
        let mut stream = TraceStream::new(ReadStream::new(&packet));
        for op in ops(line) {
            assert_eq!(apply(&mut stream, op), Ok(carried(op)), "{}: {op}", line["name"]);
        }
        let (_, trace) = stream.into_parts();
        assert_eq!(trace.failure(), None);
        assert_eq!(trace.spans().count(), ops(line).len(), "{}", line["name"]);
        let mut end = 0;
        for span in trace.spans() {
            assert_eq!(span.bits().start, end, "{}", line["name"]);
            end = span.bits().end;
        }
        assert_eq!(end, bits(line, "bits"), "{}", line["name"]);
    }
}

#[test]
fn every_hostile_vector_is_refused_at_its_operation_and_stays_refused() {
    let lines = lines(REJECTED);
    assert_eq!(lines.len(), 216);
    for line in &lines {
        let packet = unhex(text(line, "hex"));
        let mut stream = ReadStream::new(&packet);
        let refused = read_until_refused(&mut stream, line);
        assert_eq!(stream.failure(), Some((refused.kind, refused.bit)));
        assert_eq!(stream.bool(&mut true), Err(refused), "{}", line["name"]);
        assert_eq!(stream.int(&mut 0, 5..=5), Err(refused), "a field without bits");
        assert_eq!(stream.align(), Err(refused), "{}", line["name"]);
        assert_eq!(stream.finish(), Err(refused), "{}", line["name"]);

        let mut stream = TraceStream::new(ReadStream::new(&packet));
        assert_eq!(read_until_refused(&mut stream, line), refused, "{}", line["name"]);
        let (_, trace) = stream.into_parts();
        assert_eq!(trace.failure(), Some((refused.kind, refused.bit)));
        assert!(trace.spans().next_back().unwrap().is_refused(), "{}", line["name"]);
    }
}

/// Reads the operations of a hostile line: all but the last must be accepted, the last must be
/// refused.
fn read_until_refused<S: Stream>(stream: &mut S, line: &Json) -> S::Error {
    let (last, before) = ops(line).split_last().unwrap();
    assert_eq!(bits(line, "fail_op"), before.len() as u64, "{}", line["name"]);
    for op in before {
        let read =
            apply(stream, op).unwrap_or_else(|refused| panic!("{}: {refused:?}", line["name"]));
        assert_eq!(read, carried(op), "{}: {op}", line["name"]);
    }
    match apply(stream, last) {
        Ok(read) => panic!("{}: {last} gave {read}", line["name"]),
        Err(refused) => refused,
    }
}

/// Runs one operation of a vector: a writer takes its value, a reader only its parameters. Returns
/// the value as text, floats as their bits.
fn apply<S: Stream>(stream: &mut S, op: &Json) -> Result<String, S::Error> {
    let carried = match text(op, "op") {
        "bits" | "bits64" => {
            let mut value = given::<S, u64>(op, "value");
            stream.bits(&mut value, number(op, "bits"))?;
            value.to_string()
        }
        "int" | "cpp_int_degenerate" => ranged::<S, i32>(stream, op)?,
        "int64" => ranged::<S, i64>(stream, op)?,
        "cpp_int128" => ranged::<S, i128>(stream, op)?,
        "uint8" => whole(stream, given::<S, u8>(op, "value"), u8::MAX)?,
        "uint16" => whole(stream, given::<S, u16>(op, "value"), u16::MAX)?,
        "uint32" => whole(stream, given::<S, u32>(op, "value"), u32::MAX)?,
        "uint64" => whole(stream, given::<S, u64>(op, "value"), u64::MAX)?,
        "cpp_uint128" => whole(stream, given::<S, u128>(op, "value"), u128::MAX)?,
        "bool" => {
            let mut value = S::WRITING && op["value"].as_bool().unwrap();
            stream.bool(&mut value)?;
            value.to_string()
        }
        "float" => {
            let mut value = f32::from_bits(pattern::<S>(op) as u32);
            stream.float(&mut value)?;
            format!("{:#010x}", value.to_bits())
        }
        "double" => {
            let mut value = f64::from_bits(pattern::<S>(op));
            stream.double(&mut value)?;
            format!("{:#018x}", value.to_bits())
        }
        "compressed_float" | "compressed_float_clamp" => compressed_float(stream, op)?,
        "align" => {
            stream.align()?;
            String::new()
        }
        "bytes" => {
            let mut value = vec![0; number(op, "count")];
            if S::WRITING {
                value = unhex(text(op, "hex"));
            }
            stream.bytes(&mut value)?;
            hex(&value)
        }
        "string" => {
            let mut value = if S::WRITING { text(op, "value").into() } else { String::new() };
            stream.string(&mut value, number::<usize>(op, "buffer_size") - 1)?;
            value
        }
        "cpp_wstring" => {
            let mut value = if S::WRITING { wide_text(op) } else { String::new() };
            stream.wide_string(&mut value, number::<usize>(op, "buffer_size") - 1)?;
            value
        }
        "seed_object_index" => {
            let previous = u32::try_from(number::<i64>(op, "previous")).ok();
            let mut value = given::<S, u32>(op, "current");
            stream.index(previous, &mut value, number(op, "max_objects"))?;
            value.to_string()
        }
        "cpp_int_relative" => {
            let mut value = given::<S, u32>(op, "current");
            stream.int_relative(number(op, "previous"), &mut value)?;
            value.to_string()
        }
        "cpp_fixed" => match (op["signed"].as_bool().unwrap(), number(op, "storage_bits")) {
            (true, 8) => fixed::<S, i8>(stream, op)?,
            (true, 16) => fixed::<S, i16>(stream, op)?,
            (true, 32) => fixed::<S, i32>(stream, op)?,
            (true, 64) => fixed::<S, i64>(stream, op)?,
            (true, 128) => fixed::<S, i128>(stream, op)?,
            (false, 8) => fixed::<S, u8>(stream, op)?,
            (false, 16) => fixed::<S, u16>(stream, op)?,
            (false, 32) => fixed::<S, u32>(stream, op)?,
            (false, 64) => fixed::<S, u64>(stream, op)?,
            (false, 128) => fixed::<S, u128>(stream, op)?,
            other => panic!("storage {other:?}"),
        },
        other => panic!("operation {other}"),
    };
    Ok(carried)
}

fn ranged<S: Stream, T: Number>(stream: &mut S, op: &Json) -> Result<String, S::Error> {
    let mut value = given::<S, T>(op, "value");
    stream.int(&mut value, number(op, "min")..=number(op, "max"))?;
    Ok(value.to_string())
}

fn whole<S: Stream, T: Number>(stream: &mut S, mut value: T, max: T) -> Result<String, S::Error> {
    stream.int(&mut value, T::default()..=max)?;
    Ok(value.to_string())
}

fn fixed<S: Stream, T: Number>(stream: &mut S, op: &Json) -> Result<String, S::Error> {
    let mut value = given::<S, T>(op, "raw");
    let units = number(op, "min")..=number(op, "max");
    stream.fixed(&mut value, number(op, "fraction_bits"), units)?;
    Ok(value.to_string())
}

fn compressed_float<S: Stream>(stream: &mut S, op: &Json) -> Result<String, S::Error> {
    let bound = |key: &str| op[key].as_f64().unwrap() as f32;
    let range = FloatRange::new(bound("min"), bound("max"), bound("res"));
    assert_eq!(range.width(), number::<u32>(op, "width"), "{op}");
    let mut value = f32::from_bits(pattern::<S>(op) as u32);
    if S::WRITING {
        assert_eq!(range.quantise(value), number::<u32>(op, "quantized"), "{op}");
    }
    stream.compressed_float(&mut value, range)?;
    Ok(format!("{:#010x}", value.to_bits()))
}

/// Returns the value that a reader of the operation must get.
fn carried(op: &Json) -> String {
    match text(op, "op") {
        "align" => String::new(),
        "bytes" => text(op, "hex").into(),
        "cpp_wstring" => wide_text(op),
        "cpp_fixed" => text(op, "raw").into(),
        "float" | "double" => text(op, "value_bits").into(),
        "compressed_float" | "compressed_float_clamp" => text(op, "decoded_bits").into(),
        "seed_object_index" | "cpp_int_relative" => op["current"].to_string(),
        _ => match &op["value"] {
            Json::String(value) => value.clone(),
            value => value.to_string(),
        },
    }
}

trait Number: tightwire::stream::Int + FromStr + ToString {}
impl<T: tightwire::stream::Int + FromStr + ToString> Number for T {}

/// Returns the value for a writer; a reader starts at zero.
fn given<S: RawStream, T: FromStr + Default>(op: &Json, key: &str) -> T {
    if S::WRITING { number(op, key) } else { T::default() }
}

/// Returns the bits of the float for a writer.
fn pattern<S: RawStream>(op: &Json) -> u64 {
    let pattern = if S::WRITING { text(op, "value_bits") } else { "0x0" };
    u64::from_str_radix(pattern.trim_start_matches("0x"), 16).unwrap()
}

/// Returns a number of any type: those beyond the range of JSON numbers are strings.
fn number<T: FromStr>(object: &Json, key: &str) -> T {
    let digits = match &object[key] {
        Json::String(digits) => digits.clone(),
        number => number.to_string(),
    };
    digits.parse().unwrap_or_else(|_| panic!("{key} of {object}"))
}

fn bits(line: &Json, key: &str) -> u64 {
    number(line, key)
}

fn text<'a>(object: &'a Json, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_else(|| panic!("{key} of {object}"))
}

fn wide_text(op: &Json) -> String {
    let points = op["code_points"].as_array().unwrap().iter();
    points.map(|point| char::from_u32(point.as_u64().unwrap() as u32).unwrap()).collect()
}

fn lines(file: &str) -> Vec<Json> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ops(line: &Json) -> &[Json] {
    line["ops"].as_array().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

fn unhex(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len() / 2).map(|pair| &hex[pair * 2..pair * 2 + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
