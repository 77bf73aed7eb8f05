//! The declaration of a game, which server and clients share.

use core::fmt;
use tightwire_core::schema::Schema;
use tightwire_core::stream::{Shape, Wire};
use tightwire_snapshot::{self as snapshot, Protocol, ProtocolBuilder, Scope};

use super::player_input::InputClass;
use super::predict::Comparison;
use super::{Client, ClientConfig, Input, PlayError, PlayerInput, Server, ServerConfig, control};
use crate::message::{Message, MessengerBuilder};
use crate::session::{Admit, SessionConfig};
use crate::transport::Transport;

/// A type of objects that can be replicated: every [`Wire`] type with a default.
pub trait Class: Wire + Default + 'static {}

impl<C: Wire + Default + 'static> Class for C {}

/// The declaration of a game: its classes of objects, its input and its messages. Server and
/// clients make the same one; the order does not matter.
///
/// ```
/// use tightwire::{play::{Game, Input}, Message, Wire};
///
/// #[derive(Wire, Default)]
/// struct Tank {
///     #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.002)]
///     position: [f32; 2],
/// }
///
/// #[derive(Wire, Default, Clone)]
/// struct Drive { fire: bool }
/// impl Input for Drive {}
///
/// #[derive(Wire, Message, Default)]
/// struct Chat {
///     #[wire(max_len = 100)]
///     text: String,
/// }
///
/// fn game() -> Game<Drive> {
///     Game::new("arena", "1.0").object::<Tank>().input::<Drive>().message::<Chat>()
/// }
/// ```
#[must_use]
pub struct Game<I = ()> {
    name: String,
    version: String,
    tick_rate: u32,
    classes: Vec<ClassEntry>,
    messages: Vec<Register>,
    /// Names of classes, each with the fields of it that are predicted.
    predicted_fields: Vec<(String, Vec<PredictedField>)>,
    input: Add,
    /// The input of a player that sends none.
    neutral: I,
}

/// Name of a predicted field, and its tolerance; `None` for that of the client's configuration.
type PredictedField = (String, Option<u32>);

/// Registration of a message type.
type Register = Box<dyn FnOnce(MessengerBuilder<()>) -> MessengerBuilder<()> + Send + Sync>;

/// Addition of a class to a protocol.
type Add = Box<dyn FnOnce(ProtocolBuilder) -> ProtocolBuilder + Send + Sync>;

struct ClassEntry {
    name: String,
    /// Path of the Rust type, by which classes of the same name are told apart; empty without one.
    path: &'static str,
    add: Add,
    config: ObjectConfig,
}

/// Configuration of a class of objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectConfig {
    /// Relevancy of objects of the class. Default: `None`: [`Scope::Near`] if the class has a
    /// `spatial` field, else [`Scope::Always`].
    pub scope: Option<Scope>,
    /// Weight of the class, by which the priority of its objects is multiplied. Default: 1.
    pub weight: u8,
    /// A client predicts the objects of the class that it owns. Default: true.
    pub predict: bool,
}

impl Default for ObjectConfig {
    fn default() -> Self {
        Self { scope: None, weight: 1, predict: true }
    }
}

impl Game {
    /// Begins the declaration of a game without objects, input and messages, of 60 ticks a second.
    /// Sides with another name or version refuse each other.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            tick_rate: 60,
            classes: Vec::new(),
            messages: Vec::new(),
            predicted_fields: Vec::new(),
            input: Box::new(ProtocolBuilder::class::<()>),
            neutral: (),
        }
    }
}

impl<I: PlayerInput> Game<I> {
    /// Sets the number of ticks per second.
    pub fn tick_rate(mut self, hertz: u32) -> Self {
        self.tick_rate = hertz;
        self
    }

    /// Adds a class of objects.
    pub fn object<C: Class>(self) -> Self {
        self.object_with::<C>(ObjectConfig::default())
    }

    /// Adds a class of objects with a configuration of its own.
    pub fn object_with<C: Class>(mut self, config: ObjectConfig) -> Self {
        let path = core::any::type_name::<C>();
        let name = match C::describe() {
            Shape::Struct { name, .. } | Shape::Enum { name, .. } => name.to_string(),
            _ => path.into(),
        };
        let add = Box::new(ProtocolBuilder::class::<C>);
        self.classes.push(ClassEntry { name, path, add, config });
        self
    }

    /// Adds a class of objects without a Rust type, by its name and schema: for engines, which work
    /// on rows of cells.
    pub fn object_of(mut self, name: &str, schema: Schema, config: ObjectConfig) -> Self {
        let name: String = name.into();
        let class = name.clone();
        let add = Box::new(move |builder: ProtocolBuilder| builder.class_of(&class, schema));
        self.classes.push(ClassEntry { name, path: "", add, config });
        self
    }

    /// Sets the type of the players' input.
    pub fn input<J: Input>(self) -> Game<J> {
        self.with_input(Box::new(ProtocolBuilder::class::<J>), J::default())
    }

    /// Sets the players' input without a Rust type, by its name and schema: for engines, which give
    /// and read inputs as rows of cells. `neutral` is the input of a player that sends none, as a
    /// [`RowBuffer`](tightwire_snapshot::RowBuffer) or as an engine's own [`PlayerInput`].
    ///
    /// ```
    /// use tightwire::play::Game;
    /// use tightwire::schema::Schema;
    /// use tightwire::snapshot::RowBuffer;
    /// use tightwire::stream::{Field, Op, Shape};
    ///
    /// let fields = vec![Field::new("fire", Shape::Op(Op::Bool))];
    /// let drive = Schema::new(Shape::Struct { name: "Drive".into(), fields })?;
    /// let mut neutral = RowBuffer::default();
    /// neutral.reset(0, 1);
    /// let game: Game<RowBuffer> = Game::new("arena", "1.0").input_of("Drive", drive, neutral);
    /// # Ok::<(), tightwire::schema::SchemaError>(())
    /// ```
    pub fn input_of<J: PlayerInput>(self, name: &str, schema: Schema, neutral: J) -> Game<J> {
        let name: String = name.into();
        self.with_input(Box::new(move |builder| builder.class_of(&name, schema)), neutral)
    }

    fn with_input<J>(self, input: Add, neutral: J) -> Game<J> {
        let Self { name, version, tick_rate, classes, messages, predicted_fields, .. } = self;
        Game { name, version, tick_rate, classes, messages, predicted_fields, input, neutral }
    }

    /// Names the fields of a class that a client predicts; only these are compared with the
    /// server's, each with a [tolerance](super::PredictConfig::tolerance) of its own, or with
    /// `None` that of the client's configuration. All of them by default.
    pub fn predict_fields(mut self, class: &str, fields: &[(&str, Option<u32>)]) -> Self {
        let fields = fields.iter().map(|(field, codes)| ((*field).into(), *codes)).collect();
        self.predicted_fields.push((class.into(), fields));
        self
    }

    /// Adds a type of messages, which either side can send, and polls.
    pub fn message<M: Message>(mut self) -> Self {
        self.messages.push(Box::new(MessengerBuilder::queue::<M>));
        self
    }

    /// Adds messages without a Rust type, by their name and schema: for engines, which send and
    /// poll them as bytes.
    pub fn message_of(mut self, name: &'static str, schema: Schema) -> Self {
        self.messages.push(Box::new(move |builder| builder.queue_raw(name, schema)));
        self
    }

    /// Makes the server of the game.
    ///
    /// # Errors
    ///
    /// [`PlayError`] if the declaration or the configuration is not valid.
    pub fn serve<T: Transport>(
        self,
        config: ServerConfig,
        gate: impl Admit + 'static,
        transport: T,
    ) -> Result<Server<I, T>, PlayError> {
        Server::new(self.declare(&config.snapshot)?, config, gate, transport)
    }

    /// Makes a client of the game, which connects with a token.
    ///
    /// # Errors
    ///
    /// [`PlayError`] if the declaration or the configuration is not valid.
    pub fn connect<T: Transport>(
        self,
        config: ClientConfig,
        token: &[u8],
        transport: T,
    ) -> Result<Client<I, T>, PlayError> {
        Client::new(self.declare(&config.snapshot)?, config, token, transport)
    }

    /// Builds the protocols of the game.
    pub(super) fn declare(self, snapshots: &snapshot::Config) -> Result<Declared<I>, PlayError> {
        let Self {
            name,
            version,
            tick_rate,
            mut classes,
            messages,
            predicted_fields,
            input,
            neutral,
        } = self;
        // By the names of the schemas, as a side has them that knows no types.
        classes.sort_by(|one, other| (&one.name, one.path).cmp(&(&other.name, other.path)));
        let config = snapshot::Config { ticks_per_second: tick_rate, ..*snapshots };
        let mut builder = Protocol::builder(config);
        let mut configs = Vec::new();
        for class in classes {
            builder = (class.add)(builder);
            configs.push(class.config);
        }
        let objects = builder.build().map_err(PlayError::Classes)?;
        let input = input(Protocol::builder(config)).build().map_err(PlayError::Input)?;
        let session = SessionConfig::new(&name, &version).with_snapshots(&objects);
        let session = session.with_input(&input);
        let input = InputClass::new(input, neutral)?;
        let compared = compared_groups(&objects, &predicted_fields);
        Ok(Declared { session, objects, configs, compared, input, messages, tick_rate })
    }
}

/// Returns for each class which groups of columns are predicted; an empty list means all.
fn compared_groups(
    objects: &Protocol,
    predicted: &[(String, Vec<PredictedField>)],
) -> Vec<Vec<Comparison>> {
    let classes = (0u16..).map_while(|class| Some((class, objects.class_name(class)?)));
    let compared = classes.map(|(class, name)| {
        let Some((_, fields)) = predicted.iter().find(|(of, _)| of == name) else {
            return Vec::new();
        };
        let columns =
            |(field, codes): &PredictedField| Some((objects.field_columns(class, field)?, *codes));
        let columns: Vec<_> = fields.iter().filter_map(columns).collect();
        let comparison = |start| match columns.iter().find(|(field, _)| field.contains(&start)) {
            Some((_, Some(codes))) => Comparison::Within(*codes),
            Some((_, None)) => Comparison::Configured,
            None => Comparison::Skipped,
        };
        objects.groups(class).map(|group| comparison(group.columns.start)).collect()
    });
    compared.collect()
}

/// A game whose protocols are built.
pub(super) struct Declared<I> {
    /// The session's configuration, as far as the game decides it.
    pub(super) session: SessionConfig,
    pub(super) objects: Protocol,
    /// Configuration of each class, in the order of the protocol.
    pub(super) configs: Vec<ObjectConfig>,
    /// Groups of columns that are predicted, for each class; an empty list means all.
    pub(super) compared: Vec<Vec<Comparison>>,
    pub(super) input: InputClass<I>,
    messages: Vec<Register>,
    pub(super) tick_rate: u32,
}

impl<I> Declared<I> {
    /// Registers the messages of the game, and those of this layer.
    pub(super) fn register(&mut self, builder: MessengerBuilder<()>) -> MessengerBuilder<()> {
        let messages = core::mem::take(&mut self.messages).into_iter();
        let builder = messages.fold(builder, |builder, register| register(builder));
        control::register(builder)
    }

    /// Returns the relevancy of a class.
    pub(super) fn scope_of(&self, class: u16) -> Scope {
        let declared = self.configs.get(usize::from(class)).and_then(|config| config.scope);
        let is_spatial = || self.objects.groups(class).any(|group| group.is_spatial);
        declared.unwrap_or_else(|| if is_spatial() { Scope::Near } else { Scope::Always })
    }
}

impl<I> fmt::Debug for Game<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Game")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("tick_rate", &self.tick_rate)
            .finish_non_exhaustive()
    }
}
