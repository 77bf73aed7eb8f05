use tightwire::transport::Transport;
use tightwire::{Context, Message, Wire};
use tightwire::{Server, SessionConfig};

#[derive(Wire, Message, Default)]
pub(super) struct Chat {
    #[wire(max_len = 60)]
    text: String,
}

#[derive(Wire, Message, Default)]
pub(super) struct Count(pub(super) u32);

/// Numbers of the handled messages.
pub(super) type Counted = Vec<u32>;

/// Makes a server for four clients.
pub(super) fn server<T: Transport>(transport: T) -> Server<Counted, T> {
    let config = SessionConfig {
        max_clients: 4,
        unix_start: std::time::Duration::ZERO,
        seed: 1,
        ..SessionConfig::new("fuzz", "1")
    };
    Server::builder(config)
        .handle(|chat: &Chat, context: &mut Context<'_, Counted>| {
            assert!(chat.text.len() <= 60);
            if chat.text.starts_with('k') {
                context.kick(context.sender(), &chat.text);
            }
        })
        .handle(|count: &Count, context: &mut Context<'_, Counted>| {
            context.state.push(count.0);
            let sender = context.sender();
            let _ = context.send(sender, &Count(count.0), context.route());
        })
        .open_to_anyone()
        .build(transport)
        .unwrap()
}
