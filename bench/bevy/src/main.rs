//! A recorded scene by `bevy_tightwire`, `bevy_replicon` and `lightyear`: see README.md.

mod counting;
mod scene;
mod stacks;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bevy_app::App;
use rustix::time::{ClockId, clock_gettime};
use scene::{HERTZ, Scene};
use stacks::{ENTRIES, Entry, player};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Frames before the first that is measured: clients join, and get the whole scene.
const WARM_UP: usize = 180;

/// Frames after the last one, in which the scene stands still and all clients catch up.
const QUIET: usize = 60;

struct Options {
    scene: PathBuf,
    frames: usize,
    runs: usize,
    clients: Vec<usize>,
    /// Part of the names of the lines to measure.
    only: String,
}

/// One run of a stack.
struct Run {
    /// Processor time of each frame of the server, and of the first client.
    server: Vec<Duration>,
    client: Vec<Duration>,
    /// Bytes for all clients in the measured frames.
    payload: u64,
    datagrams: Option<u64>,
    /// Heap of the server in the end.
    memory: usize,
}

/// Prints warnings and errors of the libraries.
struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record) {
        if self.enabled(record.metadata()) {
            eprintln!("{}: {}", record.target(), record.args());
        }
    }

    fn flush(&self) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    log::set_logger(&Warnings)?;
    log::set_max_level(log::LevelFilter::Warn);
    let options = parse(std::env::args().skip(1)).inspect_err(|_| {
        eprintln!("usage: tightwire-bench-bevy SCENE [--frames N] [--runs N] [--clients N,N] [--only NAME]");
    })?;
    let scene = Arc::new(Scene::load(&options.scene)?);
    if scene.frames() <= WARM_UP + options.frames {
        return Err(format!("the scene has {} frames", scene.frames()).into());
    }
    println!(
        "{} frames at {HERTZ} Hz, round trip {} ms; times are processor time, each frame the least of {} runs",
        options.frames,
        2 * stacks::DELAY * 1000 / HERTZ as usize,
        options.runs
    );
    for &clients in &options.clients {
        println!("\n{clients} clients");
        println!(
            "{:<22}{:>14}{:>14}{:>12}{:>12}{:>12}",
            "", "payload B/s", "UDP B/s", "server us", "client us", "server KiB"
        );
        let entries = || ENTRIES.iter().filter(|entry| entry.name.contains(&options.only));
        let mut runs: Vec<_> = entries().map(|_| Vec::new()).collect();
        for _ in 0..options.runs {
            for (entry, runs) in entries().zip(&mut runs) {
                runs.push(run(entry, &scene, clients, options.frames)?);
            }
        }
        for (entry, runs) in entries().zip(&runs) {
            print(entry, runs, clients, options.frames);
        }
    }
    Ok(())
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        scene: PathBuf::new(),
        frames: 600,
        runs: 3,
        clients: vec![1, 16, 64],
        only: String::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--frames" => options.frames = value()?.parse()?,
            "--runs" => options.runs = value()?.parse()?,
            "--only" => options.only = value()?,
            "--clients" => {
                let clients = value()?;
                options.clients = clients.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            _ if options.scene.as_os_str().is_empty() => options.scene = arg.into(),
            _ => return Err(format!("unknown argument {arg:?}").into()),
        }
    }
    if options.scene.as_os_str().is_empty() {
        return Err("the path of a scene is missing".into());
    }
    Ok(options)
}

/// Plays the scene once.
fn run(
    entry: &Entry,
    scene: &Arc<Scene>,
    clients: usize,
    frames: usize,
) -> Result<Run, Box<dyn Error>> {
    let end = WARM_UP + frames;
    let mut stack = (entry.start)(player(scene, end), clients);
    let mut run = Run {
        server: Vec::with_capacity(frames),
        client: Vec::with_capacity(frames),
        payload: 0,
        datagrams: None,
        memory: 0,
    };
    let mut before = (0, None);
    for frame in 0..end + QUIET {
        if frame == WARM_UP {
            before = (stack.payload(), stack.datagrams());
        }
        let server = time(|| stack.server().update());
        stack.exchange();
        let mut client = Duration::ZERO;
        for (place, app) in stack.clients().iter_mut().enumerate() {
            let taken = time(|| app.update());
            if place == 0 {
                client = taken;
            }
        }
        if (WARM_UP..end).contains(&frame) {
            run.server.push(server);
            run.client.push(client);
        }
        if frame + 1 == end {
            run.payload = stack.payload() - before.0;
            run.datagrams = stack.datagrams().zip(before.1).map(|(now, before)| now - before);
        }
    }
    let last = scene.positions(end);
    for (place, client) in stack.clients().iter_mut().enumerate() {
        let positions = scene::positions(client);
        if positions != last {
            let differing = positions.iter().filter(|one| last.binary_search(one).is_err()).count();
            let text = format!(
                "{}: client {place} has {} cubes, {differing} of them elsewhere",
                entry.name,
                positions.len()
            );
            return Err(text.into());
        }
    }
    let live = counting::live_bytes();
    drop(std::mem::replace(stack.server(), App::empty()));
    run.memory = live.saturating_sub(counting::live_bytes());
    Ok(run)
}

/// Returns the processor time that this thread takes for a call.
fn time(call: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let start = now();
    call();
    now() - start
}

/// Returns the mean of all frames in microseconds, each frame the least of all runs.
fn mean(runs: &[Run], times: fn(&Run) -> &[Duration]) -> f64 {
    let frames = runs.first().map_or(0, |run| times(run).len());
    let least = |frame: usize| runs.iter().map(|run| times(run)[frame]).min().unwrap_or_default();
    let sum: Duration = (0..frames).map(least).sum();
    1e6 * sum.as_secs_f64() / frames.max(1) as f64
}

fn print(entry: &Entry, runs: &[Run], clients: usize, frames: usize) {
    let Some(run) = runs.first() else { return };
    let per_second = |bytes: u64| bytes * u64::from(HERTZ) / (frames * clients.max(1)) as u64;
    let datagrams = run.datagrams.map_or("-".to_string(), |bytes| per_second(bytes).to_string());
    println!(
        "{:<22}{:>14}{:>14}{:>12.1}{:>12.1}{:>12}",
        entry.name,
        per_second(run.payload),
        datagrams,
        mean(runs, |run| &run.server),
        mean(runs, |run| &run.client),
        run.memory / 1024
    );
}
