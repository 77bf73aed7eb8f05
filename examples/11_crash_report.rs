//! A server that crashes, and the recording that reproduces the crash.

use std::error::Error;
use std::io::{BufReader, BufWriter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use std::{env, fs};

use tightwire::message::MessengerBuilder;
use tightwire::recording::{Recorder, Replay};
use tightwire::transport::{InProcess, Transport};
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire};

#[derive(Wire, Message, Default)]
struct Trade {
    #[wire(range = 0..=1000)]
    price: u16,
    #[wire(range = 0..=10)]
    items: u16,
}

#[derive(Default)]
struct Market {
    trades: u32,
}

/// Divides by zero if a trade has no items.
fn on_trade(trade: &Trade, context: &mut Context<'_, Market>) {
    context.state.trades += 1;
    let _each = trade.price / trade.items;
}

fn messages(builder: MessengerBuilder<Market>) -> MessengerBuilder<Market> {
    builder.handle(on_trade)
}

fn server<T: Transport>(
    config: SessionConfig,
    transport: T,
) -> Result<Server<Market, T>, Box<dyn Error>> {
    Ok(Server::builder(config).register(messages).open_to_anyone().build(transport)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (client_end, server_end) = InProcess::pair();
    let config = SessionConfig::new("market", "1.0");
    let path = env::temp_dir().join(format!("tightwire-crash-{}", std::process::id()));

    // The live session, recorded.
    let file = BufWriter::new(fs::File::create(&path)?);
    let mut live = server(config.clone(), Recorder::new(server_end, file, &config)?)?;
    let mut client = Client::builder(config).register(messages).build(client_end)?;
    let (mut market, mut ours, mut is_connected) = (Market::default(), Market::default(), false);
    let mut crashed = None;
    for frame in 0..1000_u16 {
        let now = Duration::from_millis(16) * frame.into();
        crashed = catch_unwind(AssertUnwindSafe(|| live.receive(now, &mut market))).err();
        if crashed.is_some() {
            break;
        }
        while let Some(event) = live.poll_event() {
            println!("server: {event:?}");
        }
        live.transmit(now);
        client.receive(now, &mut ours);
        while let Some(event) = client.poll_event() {
            is_connected = matches!(event, SessionEvent::Connected { .. });
        }
        if is_connected {
            let trade = Trade { price: frame, items: (frame + 7) % 11 };
            client.send(&trade, Delivery::ReliableOrdered)?;
        }
        client.transmit(now);
    }
    assert!(crashed.is_some());
    println!("crashed at trade {}; {} bytes recorded", market.trades, fs::metadata(&path)?.len());

    // The replay.
    let replay = Replay::new(BufReader::new(fs::File::open(&path)?))?;
    let mut again = server(replay.config(SessionConfig::default()), replay)?;
    let mut replayed = Market::default();
    let repeated = catch_unwind(AssertUnwindSafe(|| {
        while let Some(step) = again.transport_mut().next_step() {
            again.receive(step.receive_at, &mut replayed);
            if let Some(now) = step.transmit_at {
                again.transmit(now);
            }
        }
    }));
    assert!(repeated.is_err());
    assert_eq!(replayed.trades, market.trades);
    println!("and again at trade {}", replayed.trades);
    fs::remove_file(path)?;
    Ok(())
}
