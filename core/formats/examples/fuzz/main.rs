//! Attacks the readers of all formats with mutated inputs (`cargo xtask fuzz`).
//!
//! ```text
//! parent ─ starts, limits the time of each input ─ child: mutates, reads, keeps mutants with a new outcome
//!    └──── saves what ended a child, and starts another
//! ```
//!
//! A mutant is named by its lineage, `1.20.734`: the valid input 1, changed in iteration 20, and that mutant changed in
//! iteration 734. With the seed, this determines its bytes.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

mod lineage;
mod mutation;
mod reading;
mod seeds;
mod watch;
mod writers;

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use lineage::{Lineage, MutantPool};
use reading::MutantReader;
use seeds::AnyError;
use watch::ChildWatch;

/// The formats, by the names that this program gives them.
const FORMATS: &[&str] = &[
    "otf2", "bp", "packed", "perfetto", "xplane", "chrome", "forest", "csv", "sqlite",
];
/// Time of a run without `--seconds`.
const DEFAULT_SECONDS: u64 = 60;
/// Address space of a child, in bytes: far more than the inputs and what is kept of them need.
#[cfg(unix)]
const CHILD_BYTES: u64 = 2 << 30;
/// Stack of the thread that reads, in bytes: that of the threads that read in the program.
const STACK_BYTES: usize = 2 << 20;

/// A parsed command line.
struct Request {
    seconds: u64,
    seed: u64,
    lineage: Option<Lineage>,
    out: PathBuf,
    formats: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == "child" => in_thread(rest, child),
        _ => parsed(&arguments).and_then(|request| attack(&request)),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parsed(arguments: &[String]) -> Result<Request, AnyError> {
    let mut request = Request {
        seconds: DEFAULT_SECONDS,
        seed: 1,
        lineage: None,
        out: PathBuf::from("target/fuzz"),
        formats: Vec::new(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => request.seconds = value()?.parse()?,
            "--seed" => request.seed = value()?.parse()?,
            "--iteration" => request.lineage = Some(value()?.parse()?),
            "--out" => request.out = value()?.into(),
            format if FORMATS.contains(&format) => request.formats.push(word.clone()),
            _ => return Err(format!("{word} is not one of {}", FORMATS.join(", ")).into()),
        }
    }
    if request.formats.is_empty() {
        request.formats = FORMATS.iter().map(ToString::to_string).collect();
    }
    Ok(request)
}

fn attack(request: &Request) -> Result<ExitCode, AnyError> {
    if let Some(lineage) = &request.lineage {
        let [format] = &request.formats[..] else {
            return Err("--iteration needs one format".into());
        };
        return repeat(request, format, lineage);
    }
    let num_formats = u32::try_from(request.formats.len())?;
    let share = Duration::from_secs(request.seconds) / num_formats;
    let mut num_found = 0;
    for format in &request.formats {
        let watch = ChildWatch::new(format, request.seed, &request.out)?;
        num_found += watch.run(share)?;
    }
    if num_found > 0 {
        println!("{num_found} found");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one mutant, and reads it in this process.
fn repeat(request: &Request, format: &str, lineage: &Lineage) -> Result<ExitCode, AnyError> {
    let pool = MutantPool::new(format, request.seed)?;
    let folder = pool.save(lineage, &request.out)?;
    println!("{format} {lineage}: the input is in {}", folder.display());
    let words = [format, &request.seed.to_string(), &lineage.to_string()];
    in_thread(&words.map(str::to_owned), |words| {
        let [format, seed, lineage] = words else {
            return Err("no mutant".into());
        };
        let pool = MutantPool::new(format, seed.parse()?)?;
        let files = pool.mutant(&lineage.parse()?)?.input()?;
        println!("{}", MutantReader::new(format)?.read(files)?.1);
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs a function in a limited thread of this process.
fn in_thread(
    words: &[String],
    run: fn(&[String]) -> Result<ExitCode, AnyError>,
) -> Result<ExitCode, AnyError> {
    limit_memory();
    let words = words.to_vec();
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || run(&words).map_err(|error| error.to_string()))?;
    match thread.join() {
        Ok(done) => Ok(done?),
        Err(_) => Err("the reader panicked".into()),
    }
}

#[cfg(unix)]
fn limit_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    for (resource, limit) in [(Resource::As, CHILD_BYTES), (Resource::Core, 0)] {
        let maximum = getrlimit(resource).maximum;
        let limit = Rlimit {
            current: Some(maximum.map_or(limit, |most| most.min(limit))),
            maximum,
        };
        if let Err(error) = setrlimit(resource, limit) {
            eprintln!("warning: without a limit of memory: {error}");
        }
    }
}

#[cfg(not(unix))]
fn limit_memory() {}

/// Mutates and reads until this process is ended. Reads `LINEAGE HASH` of the mutants kept before, then writes `read
/// LINEAGE` before it reads a mutant, and `keep LINEAGE HASH` if its outcome is new.
fn child(words: &[String]) -> Result<ExitCode, AnyError> {
    let [format, seed, first] = words else {
        return Err("a child needs a format, a seed and a number".into());
    };
    let mut pool = MutantPool::new(format, seed.parse()?)?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (lineage, outcome) = line.split_once(' ').ok_or("not a kept mutant")?;
        pool.keep(lineage.parse()?, outcome.parse()?)?;
    }
    let mut reader = MutantReader::new(format)?;
    let mut out = io::stdout().lock();
    for iteration in first.parse()?.. {
        let (lineage, mutant) = pool.next(iteration)?;
        writeln!(out, "read {lineage}")?;
        out.flush()?;
        let (outcome, _) = reader.read(mutant.input()?)?;
        if pool.is_new(outcome) {
            writeln!(out, "keep {lineage} {outcome}")?;
            pool.keep(lineage, outcome)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
