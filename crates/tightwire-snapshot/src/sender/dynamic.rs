//! Objects of classes that have a schema and no Rust type.

use super::{Sender, SetError};
use tightwire_core::schema::{Dynamic, ObjectId};

impl Sender {
    /// Sets the state of an object as [`set`](Self::set) does, without the Rust type: the value is
    /// a tree of the schema of the class at index `class` of the protocol.
    ///
    /// ```
    /// use tightwire::snapshot;
    /// use tightwire::schema::{Dynamic, Schema};
    /// use tightwire::snapshot::Leaving;
    /// use tightwire::stream::{Field, Op, Shape};
    ///
    /// let fields = vec![Field::new("open", Shape::Op(Op::Bool))];
    /// let door = Schema::new(Shape::Struct { name: "Door".into(), fields })?;
    /// let protocol =
    ///     snapshot::Protocol::builder(snapshot::Config::default()).class_of("Door", door).build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// let client = sender.add_receiver(Leaving::Despawn);
    ///
    /// sender.begin_tick(1);
    /// let fields = vec![("open".into(), true.into())];
    /// let open = Dynamic::Struct { name: "Door".into(), fields };
    /// sender.set_dynamic(7, 0, &open)?;
    /// let refused = sender.set_dynamic(7, 0, &3u64.into()).unwrap_err();
    /// assert!(refused.to_string().ends_with("Door: a struct is needed, not an integer"));
    ///
    /// let mut receiver = snapshot::Receiver::new(&protocol);
    /// receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    /// assert_eq!(receiver.get_dynamic(7), Some(open));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SetError`] as [`set`](Self::set); [`SetError::NoSuchClass`] for an index without a class,
    /// and [`SetError::Tree`] for a tree that is no value of the class.
    pub fn set_dynamic(
        &mut self,
        id: impl Into<ObjectId>,
        class: u16,
        value: &Dynamic,
    ) -> Result<(), SetError> {
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        let Some(layout) = self.protocol.classes().get(usize::from(class)) else {
            return Err(SetError::NoSuchClass { class });
        };
        let most = layout.max_bytes.next_multiple_of(8);
        if self.value.len() < most {
            self.value.resize(most, 0);
        }
        self.cells.resize(layout.layout.columns.len(), 0);
        let tree = |error| SetError::Tree { error };
        let packet = layout.declared.schema.encode(value, &mut self.value).map_err(tree)?;
        let read = layout.layout.cells_of(packet, &mut self.cells);
        read.map_err(|error| SetError::Tree { error: error.into() })?;
        self.store.set(id.into(), class, &self.cells)
    }
}
