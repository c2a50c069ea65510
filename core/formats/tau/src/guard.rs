//! A separate process that reads a stream first, because damage can end ADIOS2 and the process that called it.
//!
//! Of 280 BP5 traces with bytes changed at random, 31 ended ADIOS2 2.12 by a signal, and a few sent it into a loop. Of
//! 280 BP4 traces, none did. So a BP5 folder that needs ADIOS2 is read twice.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::{Adios2Error, LibraryOnDemand, expose_stray_reads};
use callgrove_model::ProgramId;
use callgrove_source::{EventStream as _, Next};

use crate::adios2::{OUT_OF_BOUNDS, TauSource, is_read_without_adios2};
use crate::error::TauError;
use crate::limits::limit_this_process;

/// The file that a BP5 folder has and a BP4 folder lacks.
const BP5_FILE: &str = "mmd.0";
/// Processor time allowed for any stream.
const BASE_CPU: Duration = Duration::from_secs(5);
/// Processor time allowed in addition for each megabyte of a stream: a hundred times the usual cost.
const CPU_PER_MB: Duration = Duration::from_millis(500);
/// Ratio of the allowed wall time to the processor time, as the machine may have other work.
const WALL_PER_CPU: u32 = 12;
/// Address space allowed for any stream, in bytes.
const BASE_BYTES: u64 = 2 << 30;
/// Address space allowed in addition for each byte of a stream.
const BYTES_PER_BYTE: u64 = 16;
/// The part of a message of ADIOS2's metadata library that [`complaint`] recognizes.
const UNKNOWN_TYPE: &str = "is not a simple type or registered format";
/// The message printed after an error of ADIOS2. Damaged metadata has already misled it then, so that the return of an
/// error instead of a crash is chance.
const READ_FAILED: &str = "ADIOS2 failed to read it";
/// Interval between two checks of the process.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longest time to retry starting a process when the system has too many.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two attempts to start a process.
const START_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Starts a process that calls [`read_through`] with its last argument, the path of a stream. A guard and its clones
/// run at most one process for each core of the machine at a time, because their memory adds up.
#[derive(Clone, Debug)]
pub struct StreamGuard {
    program: PathBuf,
    arguments: Vec<OsString>,
    slots: Arc<ProcessSlots>,
}

impl StreamGuard {
    /// Returns a guard that starts `program` with these arguments, followed by the path of a stream.
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        Self {
            program,
            arguments,
            slots: Arc::new(ProcessSlots::of_this_machine()),
        }
    }

    /// Reads a stream of TAU in the other process, if it needs ADIOS2 and its format can be fatal.
    ///
    /// # Errors
    /// Those of [`StreamGuard::check_for_adios2`] if the stream needs ADIOS2.
    pub fn check(&self, path: &Path, adios2: &LibraryOnDemand) -> Result<(), TauError> {
        if is_read_without_adios2(path) || !path.is_dir() {
            return Ok(());
        }
        self.check_for_adios2(path, adios2)
    }

    /// Reads a stream in the other process, for a caller that passes it to ADIOS2 in any case.
    ///
    /// # Errors
    /// [`TauError::Adios2`] without the library; [`TauError::Fatal`]; [`TauError::Unguarded`] if no other process
    /// can be started.
    pub fn check_for_adios2(&self, path: &Path, adios2: &LibraryOnDemand) -> Result<(), TauError> {
        adios2.get()?;
        if !path.join(BP5_FILE).is_file() {
            return Ok(());
        }
        let _slot = self.slots.take();
        let mut child = self.start(path).map_err(|source| TauError::Unguarded {
            source,
            path: path.to_owned(),
        })?;
        let listen = |stderr| {
            let named = thread::Builder::new().name("errors of ADIOS2".to_owned());
            named.spawn(|| complaint(stderr)).ok()
        };
        let complaint = child.stderr.take().and_then(listen);
        let deadline = Instant::now() + Limits::of(path).cpu * WALL_PER_CPU;
        let status = wait(&mut child, deadline);
        let complaint = complaint.and_then(|thread| thread.join().ok().flatten());
        let how = match status {
            Ok(Some(status)) if status.success() => match complaint {
                None => return Ok(()),
                Some(complaint) => complaint,
            },
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "timeout".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = path.to_owned();
        Err(TauError::Fatal { how, path })
    }

    fn start(&self, path: &Path) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(path);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            match command.spawn() {
                Err(error) if is_temporary(&error) && Instant::now() < deadline => {
                    thread::sleep(START_RETRY_INTERVAL);
                }
                started => return started,
            }
        }
    }
}

/// Returns whether the system temporarily has too many processes or too little memory.
fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory
    )
}

/// The slots of the processes that may run at the same time.
#[derive(Debug)]
struct ProcessSlots {
    num_free: Mutex<usize>,
    freed: Condvar,
}

struct ProcessSlot<'a>(&'a ProcessSlots);

impl ProcessSlots {
    fn of_this_machine() -> Self {
        Self {
            num_free: Mutex::new(thread::available_parallelism().map_or(1, usize::from)),
            freed: Condvar::new(),
        }
    }

    fn num_free(&self) -> MutexGuard<'_, usize> {
        self.num_free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free slot, and occupies it.
    fn take(&self) -> ProcessSlot<'_> {
        let free = self.freed.wait_while(self.num_free(), |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        ProcessSlot(self)
    }
}

impl Drop for ProcessSlot<'_> {
    fn drop(&mut self) {
        *self.0.num_free() += 1;
        self.0.freed.notify_one();
    }
}

/// Returns the first complaint: of ADIOS2's metadata library about a type that it does not know and ignores, or of
/// [`read_through`] about where ADIOS2 was misled. ADIOS2 then reads or writes foreign memory, and whether that is
/// fatal is chance.
fn complaint(stderr: impl Read) -> Option<String> {
    // Names are repeated verbatim, even if they are not UTF-8.
    let lines = BufReader::new(stderr).split(b'\n').map_while(Result::ok);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    let is_one = |line: &String| {
        let all = [UNKNOWN_TYPE, OUT_OF_BOUNDS, READ_FAILED];
        all.iter().any(|it| line.contains(it))
    };
    let mut complaints = lines.filter(is_one);
    let first = complaints.next();
    // Reads to the end, so that the process is not blocked by a full pipe.
    complaints.for_each(drop);
    first
}

/// Returns the exit status of a process, which is killed at the deadline; `None` if it was killed.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Reads a stream to its end in a process that serves only this purpose and limits itself. Damage that is found without
/// ADIOS2 is ignored here. Of arrays, which ADIOS2 only copies, the first and last rows suffice to show where it reads.
///
/// # Errors
/// An error if ADIOS2 is missing.
pub fn read_through(path: &Path, adios2: &LibraryOnDemand) -> Result<(), Adios2Error> {
    // Memory is limited and stray reads are exposed only after the library is loaded.
    adios2.get()?;
    let limits = Limits::of(path);
    let num_bytes = limits.num_bytes.saturating_add(expose_stray_reads());
    limit_this_process(limits.cpu, num_bytes);
    let read = || {
        // An error in another array ends a reader of all arrays, but a reader of functions only continues after it.
        for functions_only in [true, false] {
            match read_edges(path, functions_only, adios2) {
                Err(TauError::Fatal { how, .. }) => eprintln!("{how}"),
                Err(TauError::Stream { source, .. }) => eprintln!("{READ_FAILED}: {source}"),
                _ => {}
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(read);
    });
    Ok(())
}

fn read_edges(path: &Path, functions_only: bool, adios2: &LibraryOnDemand) -> Result<(), TauError> {
    let mut source = TauSource::open(path, ProgramId(0), adios2)?;
    source.edges_only();
    if functions_only {
        source.functions_only();
    }
    while let Next::Step(_) = source.read_step(Duration::ZERO)? {}
    Ok(())
}

/// The resources that reading a stream may use.
struct Limits {
    cpu: Duration,
    num_bytes: u64,
}

impl Limits {
    fn of(path: &Path) -> Self {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
        let num_bytes: u64 = sizes.sum();
        let num_mb = u32::try_from(num_bytes >> 20).unwrap_or(u32::MAX);
        Self {
            cpu: BASE_CPU.saturating_add(CPU_PER_MB.saturating_mul(num_mb)),
            num_bytes: BASE_BYTES.saturating_add(BYTES_PER_BYTE.saturating_mul(num_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like BP5.
    fn stream() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(BP5_FILE), "").unwrap();
        folder
    }

    #[test]
    fn without_another_process_nothing_is_read() {
        let folder = stream();
        let guard = StreamGuard::new(PathBuf::from("/no/such/program"), Vec::new());
        let adios2 = LibraryOnDemand::of_this_machine();
        let error = guard.check_for_adios2(folder.path(), &adios2).unwrap_err();
        let text = error.with_causes();
        assert!(
            text.contains(folder.path().to_str().unwrap()) && text.contains("process"),
            "{text}"
        );
    }

    #[test]
    fn streams_without_adios2_need_no_other_process() {
        let guard = StreamGuard::new(PathBuf::from("/no/such/program"), Vec::new());
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../assets/lammps-4r-small");
        let closed = run.join("bp/tau-metrics-lmp_tau-0.bp");
        let none = LibraryOnDemand::new([]);
        guard.check(&closed, &none).unwrap();
        let error = guard.check_for_adios2(&closed, &none).unwrap_err();
        assert!(matches!(error, TauError::Adios2(_)), "{error}");
        let error = guard.check(stream().path(), &none).unwrap_err();
        assert!(matches!(error, TauError::Adios2(_)), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn at_most_one_process_runs_per_core() {
        let folder = stream();
        // Each process has a file of its own while it runs, and reports the number of files.
        let script = "touch $0/$$; ls $0 | wc -l >> $0.counts; sleep 0.05; rm $0/$$";
        let held = tempfile::tempdir().unwrap();
        let arguments = ["-c", script, held.path().to_str().unwrap()];
        let guard = StreamGuard::new("sh".into(), arguments.map(OsString::from).to_vec());
        let adios2 = LibraryOnDemand::of_this_machine();
        let num_cores = thread::available_parallelism().unwrap().get();
        thread::scope(|scope| {
            for _ in 0..4 * num_cores {
                scope.spawn(|| guard.check(folder.path(), &adios2).unwrap());
            }
        });
        let counts = held.path().with_extension("counts");
        let text = std::fs::read_to_string(&counts).unwrap();
        std::fs::remove_file(counts).unwrap();
        let counts: Vec<usize> = text.lines().map(|it| it.trim().parse().unwrap()).collect();
        assert_eq!(counts.len(), 4 * num_cores);
        assert!(counts.iter().all(|&it| it <= num_cores), "{counts:?}");
    }
}
