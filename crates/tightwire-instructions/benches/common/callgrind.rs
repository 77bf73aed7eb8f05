//! Counts the instructions of this very program, run with `--work`.

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};

const ROUNDS: u64 = 1000;

/// Whether all comparisons passed.
type Verdict = Result<bool, Box<dyn Error>>;

/// Runs a benchmark: with `--work`, the counted work; otherwise the comparison, which starts the
/// program again with `--work`.
pub(crate) fn run(
    program: &str,
    work: fn(&str, &str, &str) -> Verdict,
    compare: fn() -> Verdict,
) -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [flag, job, way, rounds] if flag == "--work" => work(job, way, rounds),
        _ => compare(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the instructions of one round: the difference between two thousand and one thousand
/// rounds, which excludes the start of the process.
pub(crate) fn instructions(job: &str, way: &str) -> Result<f64, Box<dyn Error>> {
    let [once, twice] = [ROUNDS, 2 * ROUNDS].map(|rounds| collected(job, way, rounds));
    let difference = twice?.checked_sub(once?).ok_or("more rounds took fewer instructions")?;
    Ok(difference as f64 / ROUNDS as f64)
}

/// Returns the instructions of a whole process, counted by callgrind.
fn collected(job: &str, way: &str, rounds: u64) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args(["--work", job, way, &rounds.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("valgrind failed:\n{report}").into());
    }
    let line = report.lines().find_map(|line| line.split_once("Collected :"));
    Ok(line.ok_or("valgrind printed no count")?.1.trim().parse()?)
}
