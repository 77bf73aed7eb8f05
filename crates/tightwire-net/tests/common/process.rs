//! Other processes of a test: its executable starts itself again, and they talk in lines.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, fs, io, thread};

/// A process of this test. It is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts a test of this executable, which is ignored otherwise, with these wishes. It has a session
    /// of its own, as if somebody had started it in another terminal: Linux shares out the processors
    /// to sessions first, and one that floods would take its share from the server otherwise.
    pub(crate) fn start(test: &str, wishes: &str) -> Self {
        Self::start_by(Command::new("setsid"), test, wishes)
    }

    /// The same with a process that takes only the time that others leave.
    pub(crate) fn start_idle(test: &str, wishes: &str) -> Self {
        let mut command = Command::new("setsid");
        // As a session among sessions, and as a process where there is no such thing.
        let script = "echo 19 > /proc/self/autogroup || true; exec nice -n 19 \"$@\"";
        command.args(["sh", "-c", script, "sh"]);
        Self::start_by(command, test, wishes)
    }

    fn start_by(mut command: Command, test: &str, wishes: &str) -> Self {
        let mut child = command
            .arg(env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(WISHES, wishes)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The test harness says something on the same line.
                if let Some((_, said)) = line.split_once(MARK) {
                    let _ = sender.send(said.to_owned());
                }
            }
        });
        Self { input: child.stdin.take(), child, lines }
    }

    pub(crate) fn tell(&mut self, order: &str) {
        writeln!(self.input.as_mut().unwrap(), "{order}").unwrap();
    }

    /// What it says next.
    pub(crate) fn hear(&self, within: Duration) -> String {
        self.lines.recv_timeout(within).expect("a process of this test said nothing")
    }

    /// At once, without a chance to say anything.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What this process was started for, if a test did.
pub(crate) fn wishes() -> Option<Vec<String>> {
    Some(env::var(WISHES).ok()?.split(' ').map(str::to_owned).collect())
}

/// What this process is told to do. It is the end of it if the other side goes.
pub(crate) fn orders() -> Receiver<String> {
    let (sender, orders) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
        std::process::exit(0);
    });
    orders
}

/// Tells the process that has started this one.
pub(crate) fn say(line: &str) {
    println!("{MARK}{line}");
}

/// A number in a line of `name=number`.
pub(crate) fn number(line: &str, name: &str) -> f64 {
    let found = line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {name} in {line}")).parse().unwrap()
}

/// The memory that this process has, in KiB.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The time that this process has computed, in itself and in the system.
pub(crate) fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the process may have spaces.
    let after = stat.rsplit_once(')').unwrap().1;
    let fields: Vec<_> = after.split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|&at| fields[at].parse::<u64>().unwrap()).sum();
    // A hundred each second, on every Linux that there is.
    Duration::from_millis(ticks * 10)
}

const WISHES: &str = "TIGHTWIRE_TEST_PROCESS";
const MARK: &str = "report: ";
