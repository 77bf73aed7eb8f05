//! The input of a player: of a Rust type, or known by its schema only.

use std::sync::Arc;

use tightwire_core::stream::Wire;
use tightwire_snapshot::{Protocol, Row, RowBuffer, SetError};

use super::PlayError;
use super::input::InputLayout;

/// The input of a player in one tick: what is pressed, and where the player looks.
///
/// ```
/// use tightwire::{play::Input, Wire};
///
/// #[derive(Wire, Default, Clone)]
/// struct Drive {
///     #[wire(range = -1..=1)]
///     throttle: i8,
///     fire: bool,
/// }
///
/// impl Input for Drive {
///     // A shot that was fired between two ticks is not lost.
///     fn merge(&mut self, newer: &Self) {
///         *self = Drive { fire: self.fire | newer.fire, ..newer.clone() };
///     }
///
///     // A missing input drives on, and does not fire again.
///     fn repeated(&self, _missing: u32) -> Self {
///         Drive { fire: false, ..self.clone() }
///     }
/// }
/// ```
pub trait Input: Wire + Default + Clone + Send + Sync + 'static {
    /// Takes a newer input of the same tick into account: several frames can fall into one tick. By
    /// default the newer one counts.
    fn merge(&mut self, newer: &Self) {
        self.clone_from(newer);
    }

    /// Returns the input that the server uses for a tick whose input is missing, `missing` ticks
    /// after this one. By default it is the same.
    #[must_use]
    fn repeated(&self, missing: u32) -> Self {
        let _ = missing;
        self.clone()
    }
}

impl Input for () {}

/// An input as servers and clients keep it: a value of any type that is an [`Input`], or the cells
/// of an input that [`Game::input_of`](super::Game::input_of) declares by its name and schema.
///
/// An engine whose inputs have rules of their own implements this trait for a row with those rules.
pub trait PlayerInput: Clone + Send + Sync + 'static {
    /// Writes the cells of the input into `row`. `protocol` has the input as its only class, at
    /// index 0.
    ///
    /// # Errors
    ///
    /// [`SetError`] if the input cannot be sent.
    fn quantise(&self, protocol: &Protocol, row: &mut RowBuffer) -> Result<(), SetError>;

    /// Becomes the input of a row that the protocol [accepts](Protocol::accepts).
    fn read(&mut self, protocol: &Protocol, row: Row<'_>);

    /// Takes a newer input of the same tick into account: see [`Input::merge`].
    fn merge_newer(&mut self, newer: &Self);

    /// Becomes the input of a tick whose input is missing, `missing` ticks after `last`: see
    /// [`Input::repeated`].
    fn repeat(&mut self, last: &Self, missing: u32);
}

impl<I: Input> PlayerInput for I {
    fn quantise(&self, protocol: &Protocol, row: &mut RowBuffer) -> Result<(), SetError> {
        protocol.quantise(self, row)
    }

    fn read(&mut self, protocol: &Protocol, row: Row<'_>) {
        // The protocol accepts the row, and its class is this type.
        let _ = protocol.read_row(row, self);
    }

    fn merge_newer(&mut self, newer: &Self) {
        self.merge(newer);
    }

    fn repeat(&mut self, last: &Self, missing: u32) {
        *self = last.repeated(missing);
    }
}

/// An input without a Rust type: a newer one replaces it, and a missing one repeats it unchanged.
impl PlayerInput for RowBuffer {
    fn quantise(&self, protocol: &Protocol, row: &mut RowBuffer) -> Result<(), SetError> {
        if !protocol.accepts(self.row()) {
            return Err(SetError::Row { class: self.row().class });
        }
        row.copy_from(self.row());
        Ok(())
    }

    fn read(&mut self, _: &Protocol, row: Row<'_>) {
        self.copy_from(row);
    }

    fn merge_newer(&mut self, newer: &Self) {
        self.copy_from(newer.row());
    }

    fn repeat(&mut self, last: &Self, _: u32) {
        self.copy_from(last.row());
    }
}

/// The input of a game whose protocols are built.
#[derive(Clone)]
pub(super) struct InputClass<I> {
    /// The protocol whose only class is the input.
    pub(super) protocol: Protocol,
    pub(super) layout: Arc<InputLayout>,
    /// The input of a player that sends none.
    pub(super) neutral: I,
}

impl<I: PlayerInput> InputClass<I> {
    pub(super) fn new(protocol: Protocol, neutral: I) -> Result<Self, PlayError> {
        neutral.quantise(&protocol, &mut RowBuffer::default()).map_err(PlayError::NeutralInput)?;
        let maxima = (0..protocol.columns(0)).filter_map(|column| protocol.column_max(0, column));
        let mut groups: Vec<_> = protocol.groups(0).map(|group| group.columns).collect();
        groups.sort_by_key(|group| group.start);
        let layout = InputLayout::new(maxima.collect(), groups).map_err(PlayError::InputLayout)?;
        Ok(Self { protocol, layout: Arc::new(layout), neutral })
    }
}
