//! Other processes of a test: its executable starts itself again, and both exchange lines.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, fs, io, thread};

/// A process of this test; dropping it kills the process.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts an ignored test of this executable with these arguments. The process gets a session
    /// of its own, as if started in another terminal: Linux first divides the processors among
    /// sessions, and a flooding process would otherwise take its share from the server.
    pub(crate) fn start(test: &str, arguments: &str) -> Self {
        let mut child = Command::new("setsid")
            .arg(env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(PROCESS_ARGUMENTS, arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The test harness prints to the same line.
                if let Some((_, report)) = line.split_once(MARK) {
                    let _ = sender.send(report.to_owned());
                }
            }
        });
        Self { input: child.stdin.take(), child, lines }
    }

    pub(crate) fn send_line(&mut self, order: &str) {
        writeln!(self.input.as_mut().unwrap(), "{order}").unwrap();
    }

    /// Waits for the next line of the process.
    pub(crate) fn read_line(&self, within: Duration) -> String {
        self.lines.recv_timeout(within).expect("a process of this test printed nothing")
    }

    /// Kills the process at once, without a chance to print.
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

/// Returns the arguments of this process; `None` if no test started it.
pub(crate) fn arguments() -> Option<Vec<String>> {
    Some(env::var(PROCESS_ARGUMENTS).ok()?.split(' ').map(str::to_owned).collect())
}

/// Returns the lines from the starting process. This process exits when the other ends.
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

/// Leaves the processors to others from now on: this process gets only the time that they leave.
pub(crate) fn become_idle() {
    // By autogroup among sessions, and by the priority of all threads where there are no
    // autogroups. The process leads its group, since it has a session of its own.
    let _ = fs::write("/proc/self/autogroup", "19");
    let group = std::process::id().to_string();
    let mut renice = Command::new("renice");
    renice.args(["-n", "19", "-g", &group]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = renice.status();
}

/// Sends a line to the process that started this one.
pub(crate) fn print_line(line: &str) {
    println!("{MARK}{line}");
}

/// Returns a number in a line of `name=number`.
pub(crate) fn number(line: &str, name: &str) -> f64 {
    let found = line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {name} in {line}")).parse().unwrap()
}

/// Returns the resident memory of this process in KiB.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Returns the processor time of this process, user and system.
pub(crate) fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the process may contain spaces.
    let after = stat.rsplit_once(')').unwrap().1;
    let fields: Vec<_> = after.split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|&at| fields[at].parse::<u64>().unwrap()).sum();
    // A hundred ticks per second, on every Linux.
    Duration::from_millis(ticks * 10)
}

const PROCESS_ARGUMENTS: &str = "TIGHTWIRE_TEST_PROCESS";
const MARK: &str = "report: ";
