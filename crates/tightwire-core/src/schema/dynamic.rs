//! Values whose type only the schema knows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::stream::{Name, Number, Value};

/// A value as a tree of named values, which [`Schema::decode`](crate::schema::Schema::decode) reads
/// from a packet, and [`Schema::encode`](crate::schema::Schema::encode) writes.
///
/// ```
/// use tightwire::schema::{Dynamic, Schema};
/// use tightwire::stream::{Field, Op, Shape};
///
/// let fields = vec![
///     Field::new("alive", Shape::Op(Op::Bool)),
///     Field::new("name", Shape::Op(Op::String { max_len: 31 })),
/// ];
/// let schema = Schema::new(Shape::Struct { name: "Player".into(), fields })?;
/// let player = schema.decode(&[0b0_00011_1, b'A', b'd', b'a'])?;
/// assert_eq!(player.to_string(), r#"Player { alive: true, name: "Ada" }"#);
/// assert_eq!(player.at("name"), Some(&Dynamic::from("Ada")));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Dynamic {
    /// The value of one operation.
    Value(Value),
    /// A struct.
    Struct {
        /// Name of the type.
        name: Name,
        /// Fields that were sent, in the order of their bits.
        fields: Vec<(Name, Dynamic)>,
    },
    /// A variant of an enum.
    Enum {
        /// Name of the type.
        name: Name,
        /// Name of the variant.
        variant: Name,
        /// Fields that were sent, in the order of their bits.
        fields: Vec<(Name, Dynamic)>,
    },
    /// An optional value.
    Option(Option<Box<Dynamic>>),
    /// Elements of an array or a list.
    List(Vec<Dynamic>),
}

impl Dynamic {
    /// Returns the field with this name, of a struct, of a variant, or of the value in an option.
    ///
    /// ```
    /// use tightwire::schema::Dynamic;
    ///
    /// let fields = vec![("alive".into(), Dynamic::from(true))];
    /// let player = Dynamic::Struct { name: "Player".into(), fields };
    /// assert_eq!(player.get("alive"), Some(&Dynamic::from(true)));
    /// assert_eq!(player.get("health"), None);
    /// ```
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Struct { fields, .. } | Self::Enum { fields, .. } => {
                fields.iter().find(|(field, _)| **field == *name).map(|(_, value)| value)
            }
            Self::Option(inner) => inner.as_ref()?.get(name),
            Self::Value(_) | Self::List(_) => None,
        }
    }

    /// Like [`get`](Self::get), with a mutable reference.
    ///
    /// ```
    /// use tightwire::schema::Dynamic;
    ///
    /// let fields = vec![("alive".into(), Dynamic::from(true))];
    /// let mut player = Dynamic::Struct { name: "Player".into(), fields };
    /// *player.get_mut("alive").unwrap() = false.into();
    /// assert_eq!(player.to_string(), "Player { alive: false }");
    /// ```
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        match self {
            Self::Struct { fields, .. } | Self::Enum { fields, .. } => {
                fields.iter_mut().find(|(field, _)| **field == *name).map(|(_, value)| value)
            }
            Self::Option(inner) => inner.as_mut()?.get_mut(name),
            Self::Value(_) | Self::List(_) => None,
        }
    }

    /// Returns the element of a list at this index.
    ///
    /// ```
    /// use tightwire::schema::Dynamic;
    ///
    /// let pair = Dynamic::List(vec![true.into(), false.into()]);
    /// assert_eq!(pair.index(1), Some(&false.into()));
    /// assert_eq!(pair.index(2), None);
    /// ```
    #[must_use]
    pub fn index(&self, index: usize) -> Option<&Self> {
        match self {
            Self::List(items) => items.get(index),
            Self::Option(inner) => inner.as_ref()?.index(index),
            _ => None,
        }
    }

    /// Returns the value at a path such as `inventory[3].count`. The name of a variant may precede
    /// the name of its field, as in the paths of traces and refusals.
    ///
    /// ```
    /// use tightwire::schema::Dynamic;
    ///
    /// let pair = |n: u64| Dynamic::List(vec![n.into(), (n + 1).into()]);
    /// let fields = vec![("cells".into(), Dynamic::List(vec![pair(1), pair(3)]))];
    /// let grid = Dynamic::Struct { name: "Grid".into(), fields };
    /// assert_eq!(grid.at("cells[1][0]"), Some(&Dynamic::from(3u64)));
    /// assert_eq!(grid.at("cells[2]"), None);
    /// assert_eq!(grid.at("cells[x"), None);
    /// ```
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Self> {
        let mut here = self;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let (name, indices) = step.split_at(step.find('[').unwrap_or(step.len()));
            if !name.is_empty() {
                here = match here.get(name) {
                    Some(field) => field,
                    None if here.is_variant(name) => here,
                    None => return None,
                };
            }
            for index in indices.split_inclusive(']') {
                let index = index.strip_prefix('[')?.strip_suffix(']')?;
                here = here.index(index.parse().ok()?)?;
            }
        }
        Some(here)
    }

    /// Whether the value, or the value in an option, is this variant.
    fn is_variant(&self, name: &str) -> bool {
        match self {
            Self::Enum { variant, .. } => **variant == *name,
            Self::Option(Some(inner)) => inner.is_variant(name),
            _ => false,
        }
    }

    /// Returns the value of a leaf, or of the leaf in an option.
    ///
    /// ```
    /// use tightwire::schema::Dynamic;
    /// use tightwire::stream::Value;
    ///
    /// assert_eq!(Dynamic::from(true).value(), Some(&Value::Bool(true)));
    /// assert_eq!(Dynamic::List(vec![]).value(), None);
    /// ```
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Option(inner) => inner.as_ref()?.value(),
            _ => None,
        }
    }

    /// Kind of the value in words, for errors.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Value(Value::Unit) => "nothing",
            Self::Value(Value::Bool(_)) => "a bool",
            Self::Value(Value::Number(Number::Float(_))) => "a float",
            Self::Value(Value::Number(Number::Double(_))) => "a double",
            Self::Value(Value::Number(_)) => "an integer",
            Self::Value(Value::Vector(_)) => "a vector of floats",
            Self::Value(Value::Text(_)) => "text",
            Self::Value(Value::Bytes(_)) => "bytes",
            Self::Value(_) => "a value",
            Self::Struct { .. } => "a struct",
            Self::Enum { .. } => "an enum",
            Self::Option(_) => "an option",
            Self::List(_) => "a list",
        }
    }
}

/// The leaf [`Value::Unit`].
impl Default for Dynamic {
    fn default() -> Self {
        Self::Value(Value::Unit)
    }
}

impl From<bool> for Dynamic {
    fn from(value: bool) -> Self {
        Self::Value(Value::Bool(value))
    }
}

impl From<u64> for Dynamic {
    fn from(value: u64) -> Self {
        Self::Value(Value::Number(Number::Unsigned(value.into())))
    }
}

impl From<i64> for Dynamic {
    fn from(value: i64) -> Self {
        Self::Value(Value::Number(Number::Signed(value.into())))
    }
}

impl From<f32> for Dynamic {
    fn from(value: f32) -> Self {
        Self::Value(Value::Number(Number::Float(value)))
    }
}

impl From<f64> for Dynamic {
    fn from(value: f64) -> Self {
        Self::Value(Value::Number(Number::Double(value)))
    }
}

impl From<&str> for Dynamic {
    fn from(value: &str) -> Self {
        Self::Value(Value::Text(value.into()))
    }
}

/// The value on one line, as Rust source.
impl fmt::Display for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(Value::Unit) => f.write_str("()"),
            Self::Value(value) => value.fmt(f),
            Self::Struct { name, fields } => named_fields(f, name, fields),
            Self::Enum { variant, fields, .. } => named_fields(f, variant, fields),
            Self::Option(None) => f.write_str("None"),
            Self::Option(Some(value)) => write!(f, "Some({value})"),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

fn named_fields(f: &mut fmt::Formatter<'_>, name: &str, fields: &[(Name, Dynamic)]) -> fmt::Result {
    f.write_str(name)?;
    for (index, (field, value)) in fields.iter().enumerate() {
        write!(f, "{} {field}: {value}", if index == 0 { " {" } else { "," })?;
    }
    f.write_str(if fields.is_empty() { "" } else { " }" })
}
