//! The schema of a world as JSON.

use alloc::vec::Vec;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::class::MAX_OBJECTS;
use super::{Class, WorldSchema};
use crate::schema::json::{FieldForm, ShapeForm, into_fields};
use crate::stream::{Name, Op, Shape};

/// The classes with their properties, each like the field of a [`Schema`](crate::schema::Schema):
///
/// ```
/// use tightwire::schema::{Class, WorldSchema};
/// use tightwire::stream::{Field, Op, Shape};
///
/// let lamp = Class::new("lamp", vec![Field::new("lit", Shape::Op(Op::Bool))]);
/// let schema = WorldSchema::new(vec![lamp])?;
/// let json = serde_json::to_string(&schema)?;
/// assert_eq!(json, concat!(
///     r#"{"time":{"double":{}},"max_objects":65535,"#,
///     r#""classes":[{"name":"lamp","properties":[{"name":"lit","bool":{}}]}]}"#,
/// ));
/// assert_eq!(serde_json::from_str::<WorldSchema>(&json)?, schema);
///
/// // The time and the number of objects need not be there.
/// let short = r#"{"classes":[{"name":"lamp","properties":[{"name":"lit","bool":{}}]}]}"#;
/// assert_eq!(serde_json::from_str::<WorldSchema>(short)?, schema);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
impl Serialize for WorldSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let classes = self.classes().iter().map(|class| ClassForm {
            name: class.name.clone(),
            properties: class.properties.iter().map(Into::into).collect(),
        });
        WorldForm {
            time: ShapeForm::from(self.time()),
            max_objects: self.max_objects(),
            classes: classes.collect(),
        }
        .serialize(serializer)
    }
}

/// Refuses everything that [`WorldSchema::new`] refuses, with its reason.
impl<'de> Deserialize<'de> for WorldSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = WorldForm::deserialize(deserializer)?;
        let Shape::Op(time) = form.time.into_shape().map_err(D::Error::custom)? else {
            return Err(D::Error::custom("the time is a float, a double or a compressed_float"));
        };
        let class = |form: ClassForm| {
            Ok(Class { name: form.name, properties: into_fields(form.properties)? })
        };
        let classes: Result<Vec<_>, &str> = form.classes.into_iter().map(class).collect();
        let classes = classes.map_err(D::Error::custom)?;
        Self::from_parts(time, form.max_objects, classes).map_err(D::Error::custom)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WorldForm {
    #[serde(default = "double")]
    time: ShapeForm,
    #[serde(default = "max_objects")]
    max_objects: u32,
    classes: Vec<ClassForm>,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassForm {
    name: Name,
    #[serde(default)]
    properties: Vec<FieldForm>,
}

fn double() -> ShapeForm {
    ShapeForm::from(&Op::Double)
}

fn max_objects() -> u32 {
    MAX_OBJECTS
}
