//! The demo: a server with a world of cubes, its clients and a bad network between them, live on a
//! page.
//!
//! The server and each client are threads with their own sockets, and communicate only through
//! these. Besides, they share counters and published values ([`shared`]).

mod bot;
mod client;
mod compare;
mod cpu_timer;
mod frame;
mod game;
mod http;
mod live;
mod options;
mod pace;
mod packet;
mod packets;
mod random;
mod scene;
mod server;
mod server_history;
mod shared;
mod stats;
mod status;
mod steering;
mod summary;
mod tally;
mod tap;
#[cfg(test)]
mod test_support;
mod web;
mod websocket;
mod world;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use tightwire::quic::{Certificate, Socket as _, Udp};
use tightwire::token::{Claims, TokenKey};

use live::Live;
use options::Demo;
use scene::RecordScene;
use shared::Shared;
use stats::LastSecond;
use status::Status;
use summary::Summary;

/// Runs a server with a world of 900 cubes and several clients over UDP through a bad network, and
/// shows the traffic on a page.
#[derive(Parser, Debug)]
#[command(name = "tightwire-demo", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(flatten)]
    demo: Demo,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    RecordScene(RecordScene),
}

fn main() -> ExitCode {
    let Arguments { demo, command } = Arguments::parse();
    let result = match command {
        None => demo.run(),
        Some(Command::RecordScene(command)) => command.run().and_then(|text| print(&text)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tightwire-demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints to standard output. A closed pipe, as from `head`, is no error.
fn print(text: &str) -> Result<(), Box<dyn Error>> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

impl Demo {
    fn run(self) -> Result<(), Box<dyn Error>> {
        let wants_page = self.seconds.is_none() || self.port.is_some() || self.open;
        let listener = match !self.no_web && wants_page {
            true => Some(listen(self.port.unwrap_or(PORT))?),
            false => None,
        };
        let controls = self.controls();
        let live = Arc::new(Live::new(controls, self.clients));
        let links = (0..self.clients).map(|number| self.conditions(number, controls)).collect();
        let shared = Arc::new(Shared::new(live.clone(), links, listener.is_some()));
        stop_on_signal(&shared)?;
        let page = match listener {
            Some(listener) => {
                let address = format!("http://{}", listener.local_addr()?);
                Some((web::serve(listener, live)?, address))
            }
            None => None,
        };
        let threads = self.start(&shared)?;
        if let Some((_, address)) = &page {
            eprintln!("{} clients play with 900 cubes: {address}", self.clients);
            if self.open {
                status::open(address);
            }
        }
        self.watch(&shared);
        let summary = Summary::new(&shared);
        shared.stop();
        drop(page);
        let mut failed = None;
        for (name, thread) in threads {
            let result = thread.join().unwrap_or_else(|_| Err("it stopped with a bug".into()));
            failed = failed.or(result.err().map(|error| format!("{name}: {error}")));
        }
        print(&match self.json {
            true => serde_json::to_string(&summary)? + "\n",
            false => summary.table(),
        })?;
        // An interrupted run may have ended before a client connected.
        let fault = summary.fault().filter(|_| self.seconds.is_some());
        failed.or(fault).map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Starts the server and the clients.
    fn start(&self, shared: &Arc<Shared>) -> Result<Vec<(String, Running)>, Box<dyn Error>> {
        let level = self.level.level();
        let protocol = game::protocol(level)?;
        let certificate = Certificate::self_signed(["localhost"])?;
        let fingerprint = certificate.fingerprint();
        let socket = Udp::server((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.address();
        let key = TokenKey::generate()?;
        // The game's backend mints a token for each player.
        let unix_now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let token = |client: u32| {
            let name = server::SERVER_NAME;
            key.mint(&Claims::new(client.into(), name, unix_now, Duration::from_secs(60)))
        };
        let tokens = (0..self.clients).map(token).collect::<Result<Vec<_>, _>>()?;
        let record = self.record.as_deref().map(create).transpose()?;
        let mut threads = Vec::new();
        let setup = server::ServerSetup {
            socket,
            certificate,
            key,
            config: game::server_config(level, self.clients),
            seed: self.seed,
            record,
        };
        let shared_too = shared.clone();
        threads.push(spawn("server".into(), shared, move || server::run(setup, &shared_too))?);
        for (number, token) in (0..).zip(tokens) {
            let setup = client::ClientSetup {
                number,
                server: address,
                fingerprint,
                token,
                config: game::client_config(level),
                protocol: protocol.clone(),
                seed: self.seed,
            };
            let shared_too = shared.clone();
            threads
                .push(spawn(game::name(number), shared, move || client::run(setup, &shared_too))?);
        }
        Ok(threads)
    }

    /// Applies controls and publishes statistics until the end of the run.
    fn watch(&self, shared: &Shared) {
        let end = self.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let (mut window, mut status) = (LastSecond::default(), Status::new());
        let mut controls = self.controls();
        let mut next = Duration::ZERO;
        while !shared.is_stopped() && end.is_none_or(|end| shared.now() < end) {
            let wanted = shared.live.controls();
            if wanted != controls {
                controls = wanted;
                for seat in &shared.clients {
                    let link = self.network.link(controls);
                    seat.conditions.set_up(link);
                    seat.conditions.set_down(link);
                }
            }
            if shared.now() >= next {
                next += LOOK;
                window.look(shared);
                if let Some(stats) = window.stats(shared) {
                    status.show(&stats);
                    if let Ok(json) = serde_json::to_string(&stats) {
                        shared.live.publish_stats(json);
                    }
                }
            }
            thread::sleep(NAP);
        }
        status.clear();
    }
}

type Running = thread::JoinHandle<Result<(), String>>;

/// Spawns a thread of the demo. When the thread ends, the whole demo stops.
fn spawn(
    name: String,
    shared: &Arc<Shared>,
    run: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> io::Result<(String, Running)> {
    let shared = shared.clone();
    let thread = thread::Builder::new().name(name.clone()).spawn(move || {
        let _stop = StopAtEnd(shared);
        run()
    })?;
    Ok((name, thread))
}

/// Stops the demo when a thread of it ends, by a panic too.
struct StopAtEnd(Arc<Shared>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops the demo on the first signal, and exits the process on the second.
fn stop_on_signal(shared: &Shared) -> Result<(), ctrlc::Error> {
    let stop = shared.stop_flag();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        stop.store(true, Ordering::Relaxed);
        // Some shells and tools send a signal twice at once: both count as one.
        if first.get_or_insert_with(Instant::now).elapsed() > Duration::from_millis(500) {
            process::exit(130);
        }
    })
}

fn create(path: &Path) -> Result<File, String> {
    File::create(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn listen(port: u16) -> Result<TcpListener, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {port} is in use, perhaps by another demo: choose another with `--port {}`, any free \
             one with `--port 0`, or no page with `--no-web`",
            port.checked_add(1).unwrap_or(PORT)
        ),
        _ => format!("the page cannot be served on port {port}: {error}"),
    })
}

/// Default port of the page.
const PORT: u16 = 7777;

/// Time between publications of the statistics.
const LOOK: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(10);
