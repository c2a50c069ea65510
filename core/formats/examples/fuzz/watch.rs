//! The parent: starts children that read mutants, and reports what ended them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::lineage::{Lineage, MutantPool};
use crate::seeds::AnyError;

/// Longest time to read a mutant.
const INPUT_TIMEOUT: Duration = Duration::from_secs(10);
/// Most lines of a child that wait to be taken.
const MAX_LINES: usize = 1 << 10;
/// Most characters of the errors of a child that are printed.
const MAX_ERROR_CHARS: usize = 600;

/// The attack on one format.
pub(crate) struct ChildWatch {
    format: String,
    seed: u64,
    out: PathBuf,
    pool: MutantPool,
    kept: Vec<String>,
    /// The mutant that is being read.
    current: Option<Lineage>,
    next_iteration: u64,
    slowest: (Duration, Option<Lineage>),
    kinds_found: BTreeSet<String>,
    num_found: u64,
}

impl ChildWatch {
    /// Returns an attack that has not begun.
    pub(crate) fn new(format: &str, seed: u64, out: &Path) -> Result<Self, AnyError> {
        Ok(Self {
            format: format.to_owned(),
            seed,
            out: out.to_owned(),
            pool: MutantPool::new(format, seed)?,
            kept: Vec::new(),
            current: None,
            next_iteration: 1,
            slowest: (Duration::ZERO, None),
            kinds_found: BTreeSet::new(),
            num_found: 0,
        })
    }

    /// Attacks for this time, and returns how often a child was ended.
    pub(crate) fn run(mut self, time: Duration) -> Result<u64, AnyError> {
        let start = Instant::now();
        while start.elapsed() < time {
            let mut errors = tempfile::tempfile()?;
            let mut child = self.start(errors.try_clone()?)?;
            let lines = lines_of(&mut child)?;
            let is_hung = self.follow(&lines, start + time);
            // After the end of the time and of a child that hangs.
            child.kill()?;
            let status = child.wait()?;
            let what = match is_hung {
                None => break,
                Some(true) => format!("no end within {} s", INPUT_TIMEOUT.as_secs()),
                Some(false) => {
                    let mut text = Vec::new();
                    errors.rewind()?;
                    errors.read_to_end(&mut text)?;
                    let text = String::from_utf8_lossy(&text);
                    let text: String = text.trim().chars().take(MAX_ERROR_CHARS).collect();
                    format!("{status}: {text}")
                }
            };
            self.report(&what)?;
        }
        let (num_read, num_kept) = (self.next_iteration - 1, self.kept.len());
        let per_second = Duration::from_secs(num_read).div_duration_f64(start.elapsed());
        print!(
            "{}: {num_read} inputs, {per_second:.0} per second; {num_kept} outcomes",
            self.format
        );
        if let (time, Some(lineage)) = &self.slowest {
            print!("; slowest {} ms ({lineage})", time.as_millis());
        }
        println!("; {} found", self.num_found);
        Ok(self.num_found)
    }

    fn start(&mut self, errors: File) -> Result<Child, AnyError> {
        self.current = None;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["child", &self.format, &self.seed.to_string()])
            .arg(self.next_iteration.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            for line in &self.kept {
                writeln!(stdin, "{line}")?;
            }
        }
        Ok(child)
    }

    /// Follows a child to its end. Returns whether it hangs; `None` at the deadline.
    fn follow(&mut self, lines: &Receiver<String>, deadline: Instant) -> Option<bool> {
        let mut last = Instant::now();
        loop {
            match lines.recv_timeout(INPUT_TIMEOUT) {
                Ok(line) => {
                    if let Some(lineage) = self.current.take()
                        && last.elapsed() > self.slowest.0
                    {
                        self.slowest = (last.elapsed(), Some(lineage));
                    }
                    last = Instant::now();
                    if let Some(kept) = line.strip_prefix("keep ") {
                        self.kept.push(kept.to_owned());
                    } else if let Some(lineage) = line.strip_prefix("read ") {
                        self.current = lineage.parse().ok();
                        self.next_iteration += 1;
                    }
                    if last >= deadline {
                        return None;
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Some(true),
                Err(RecvTimeoutError::Disconnected) => return Some(false),
            }
        }
    }

    fn report(&mut self, what: &str) -> Result<(), AnyError> {
        let Some(lineage) = self.current.take() else {
            return Err(format!("{} ended between two inputs: {what}", self.format).into());
        };
        self.num_found += 1;
        // A panic by its place, anything else by its text without numbers.
        let place = what.split_once("panicked at ").map(|(_, rest)| rest);
        let kind = match place.and_then(|rest| rest.lines().next()) {
            Some(place) => place.to_owned(),
            None => what.replace(|c: char| c.is_ascii_digit(), ""),
        };
        if self.kinds_found.insert(kind) {
            let folder = self.pool.save(&lineage, &self.out)?;
            let (format, seed) = (&self.format, self.seed);
            println!("FOUND {format}, seed {seed}, iteration {lineage}: {what}");
            println!("  input: {}", folder.display());
            println!("  repeat: cargo xtask fuzz --seed {seed} --iteration {lineage} {format}");
        }
        Ok(())
    }
}

/// Returns the lines that a child prints.
fn lines_of(child: &mut Child) -> Result<Receiver<String>, AnyError> {
    let stdout = child.stdout.take().ok_or("a child without output")?;
    let (sender, receiver) = sync_channel(MAX_LINES);
    let send = move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for line in lines {
            if sender.send(line).is_err() {
                break;
            }
        }
    };
    thread::Builder::new()
        .name("lines of a child".to_owned())
        .spawn(send)?;
    Ok(receiver)
}
