//! An open file or stream.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use crate::api::{RawEngine, c_string, check, check_handle, read_text};
use crate::element::{DataType, Element};
use crate::error::Adios2Error;
use crate::io::Io;
use crate::variable::Variable;

/// `adios2_mode_sync`: the data is copied before the call returns.
const SYNC: c_int = 5;
/// `adios2_step_mode_append`.
const STEP_APPEND: c_int = 0;
/// `adios2_step_mode_read`.
const STEP_READ: c_int = 2;

/// The result of a request for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// There is a step: read it, then [`AdiosEngine::end_step`].
    Ok,
    /// No step within the timeout; the writer may still be running, or was killed.
    NotReady,
    /// The writer has closed the stream and all steps were read.
    EndOfStream,
    /// The stream broke.
    OtherError,
}

/// A lock that is held while SST closes a stream that was written.
static SST_CLOSES: Mutex<()> = Mutex::new(());
/// Maximum time that a stream waits for another one that is closing. That one waits for its reader, which may itself
/// wait for the end of this one; after the timeout both close, at different times.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which a stream checks whether the other one has closed.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The purpose for which a stream is opened; the values are those of `adios2_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A new file or stream.
    Write = 1,
    /// Step by step, as the data arrives.
    Read = 2,
    /// All steps of a file at once; there are no steps to begin or end.
    ReadRandomAccess = 6,
}

/// An open file or stream; closed when dropped.
#[derive(Debug)]
pub struct AdiosEngine {
    /// The handle, null once it is closed. `Drop` closes it before the fields are dropped, among them the `Io` that
    /// owns it.
    raw: *mut RawEngine,
    io: Io,
    name: String,
    mode: OpenMode,
}

// SAFETY: owns the `Io` and with it the whole instance; `raw` points into it.
unsafe impl Send for AdiosEngine {}

impl Io {
    /// Opens a file, or a stream by its contact name.
    ///
    /// With [`OpenMode::Read`], file engines wait an hour for a file that does not exist yet, unless the parameter
    /// `OpenTimeoutSecs` sets another time.
    ///
    /// A copy of the library opens streams over SST one after another, because ADIOS2 is not safe otherwise, and an open
    /// waits for its peer without limit: a writer for its readers, a reader for the next step of its writer. So a process
    /// writes one stream, or opens it before the next one; a reader may use another copy ([`crate::Library::load_again`]).
    ///
    /// # Errors
    /// [`Adios2Error::Busy`] if another stream of this copy is being opened and waits for its peer;
    /// [`Adios2Error::Call`]; [`Adios2Error::PathNotUtf8`].
    pub fn open(self, path: &Path, mode: OpenMode) -> Result<AdiosEngine, Adios2Error> {
        let name = path.to_str().ok_or_else(|| Adios2Error::PathNotUtf8 {
            path: path.to_owned(),
        })?;
        let c_name = c_string(name)?;
        let turn = self.is_sst().then(|| self.library().open_turn().take(name));
        let turn = turn.transpose()?;
        // SAFETY: `self` keeps the handle alive; ADIOS2 copies the text.
        let raw = unsafe { (self.api().open)(self.raw(), c_name.as_ptr(), mode as c_int) };
        drop(turn);
        let raw = check_handle(raw, "open", name)?;
        Ok(AdiosEngine::new(self, raw, name.to_owned(), mode))
    }
}

impl AdiosEngine {
    fn new(io: Io, raw: *mut RawEngine, name: String, mode: OpenMode) -> Self {
        Self {
            raw,
            io,
            name,
            mode,
        }
    }

    /// Returns the name of the file or stream that was opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its variables and attributes.
    pub fn io(&self) -> &Io {
        &self.io
    }

    /// Forgets all attributes known so far; later steps make theirs known again.
    ///
    /// A reader that has read the attributes should call this: ADIOS2 sorts the names of all known attributes
    /// whenever a step begins (2.12.1: 0.4 million instructions with some hundred attributes).
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn forget_attributes(&mut self) -> Result<(), Adios2Error> {
        // SAFETY: `self` keeps the handle alive; it is borrowed mutably, so no attribute handle exists.
        let code = unsafe { (self.io.api().remove_all_attributes)(self.io.raw()) };
        check(code, "remove_all_attributes", &self.name)
    }

    /// Returns the type of the engine in use, such as `BP5Reader`.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn engine_type(&self) -> Result<String, Adios2Error> {
        // SAFETY: the text is read by two calls of the form that `read_text` requires.
        unsafe {
            read_text("engine_get_type", &self.name, |text, length| {
                (self.io.api().engine_get_type)(text, length, self.raw)
            })
        }
    }

    /// Advances to the next step to be read, and waits for it no longer than `timeout`.
    ///
    /// # Errors
    /// [`Adios2Error::Call`], after which the engine is unusable.
    pub fn begin_step(&mut self, timeout: Duration) -> Result<StepStatus, Adios2Error> {
        self.begin(STEP_READ, timeout)
    }

    /// Begins a step to be written.
    ///
    /// # Errors
    /// [`Adios2Error::Call`], after which the engine is unusable.
    pub fn begin_step_to_write(&mut self) -> Result<StepStatus, Adios2Error> {
        self.begin(STEP_APPEND, Duration::ZERO)
    }

    fn begin(&mut self, mode: c_int, timeout: Duration) -> Result<StepStatus, Adios2Error> {
        let mut status: c_int = 0;
        self.calling(|raw| {
            // SAFETY: the engine is alive, and no handle of an earlier step is, since `self` is borrowed mutably.
            let code = unsafe {
                (self.io.api().begin_step)(raw, mode, timeout.as_secs_f32(), &raw mut status)
            };
            check(code, "begin_step", &self.name)
        })?;
        Ok(match status {
            0 => StepStatus::Ok,
            1 => StepStatus::NotReady,
            2 => StepStatus::EndOfStream,
            _ => StepStatus::OtherError,
        })
    }

    /// Returns the number of the current step.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn current_step(&self) -> Result<usize, Adios2Error> {
        let mut step = 0;
        // SAFETY: the engine is alive.
        let code = unsafe { (self.io.api().current_step)(&raw mut step, self.raw) };
        check(code, "current_step", &self.name)?;
        Ok(step)
    }

    /// Returns the number of steps of a file, for [`crate::OpenMode::ReadRandomAccess`].
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn steps(&self) -> Result<usize, Adios2Error> {
        let mut steps = 0;
        // SAFETY: the engine is alive.
        let code = unsafe { (self.io.api().steps)(&raw mut steps, self.raw) };
        check(code, "steps", &self.name)?;
        Ok(steps)
    }

    /// Reads the variable's selection immediately.
    ///
    /// # Errors
    /// [`Adios2Error::WrongType`] or [`Adios2Error::WrongLength`] if the buffer does not fit;
    /// [`Adios2Error::Call`] if ADIOS2 cannot read, after which the engine is unusable.
    pub fn get<T: Element>(
        &self,
        variable: &Variable<'_>,
        buffer: &mut [T],
    ) -> Result<(), Adios2Error> {
        self.expect_own(variable, T::TYPE)?;
        expect_len(variable, buffer.len())?;
        let data = buffer.as_mut_ptr().cast::<c_void>();
        self.calling(|raw| {
            // SAFETY: engine and variable are alive and belong together; the buffer has the type and the
            // length of the selection; on failure the engine is never called again.
            let code = unsafe { (self.io.api().get)(raw, variable.raw(), data, SYNC) };
            check(code, "get", variable.name())
        })
    }

    /// Reads a single value.
    ///
    /// # Errors
    /// See [`AdiosEngine::get`].
    pub fn get_value<T: Element>(&self, variable: &Variable<'_>) -> Result<T, Adios2Error> {
        let mut value = [T::default()];
        self.get(variable, &mut value)?;
        Ok(value[0])
    }

    /// Writes the variable's selection; the data is copied.
    ///
    /// # Errors
    /// See [`AdiosEngine::get`].
    pub fn put<T: Element>(
        &self,
        variable: &Variable<'_>,
        values: &[T],
    ) -> Result<(), Adios2Error> {
        self.expect_own(variable, T::TYPE)?;
        expect_len(variable, values.len())?;
        self.calling(|raw| {
            // SAFETY: engine and variable are alive and belong together; the data has the type and the
            // length of the selection and is copied before the call returns.
            let code = unsafe {
                (self.io.api().put)(raw, variable.raw(), values.as_ptr().cast::<c_void>(), SYNC)
            };
            check(code, "put", variable.name())
        })
    }

    /// Ends the step, which may invalidate its variables.
    ///
    /// # Errors
    /// [`Adios2Error::Call`], after which the engine is unusable.
    pub fn end_step(&mut self) -> Result<(), Adios2Error> {
        self.calling(|raw| {
            // SAFETY: the engine is alive, and no handle of this step is, since `self` is borrowed
            // mutably.
            let code = unsafe { (self.io.api().end_step)(raw) };
            check(code, "end_step", &self.name)
        })
    }

    /// Closes the file or stream, as dropping does, and returns whether that succeeded, which matters to a writer.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn close(mut self) -> Result<(), Adios2Error> {
        self.close_once()
    }

    fn close_once(&mut self) -> Result<(), Adios2Error> {
        if self.raw.is_null() || self.io.adios().is_abandoned() || self.is_file_reader() {
            return Ok(());
        }
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        let turn = (self.mode == OpenMode::Write && self.io.is_sst()).then(lock_close);
        // SAFETY: the engine is alive, and `raw` was the last copy of its address: ADIOS2 frees the engine here.
        let code = unsafe { (self.io.api().close)(raw) };
        drop(turn);
        check(code, "close", &self.name).inspect_err(|_| self.io.adios().abandon())
    }

    /// Returns whether the engine reads files. Such an engine need not be closed: it is freed with the instance,
    /// which closes its files. Closing it would make the BP5 reader of 2.12 write a profile to `/tmp`, which cannot
    /// be disabled.
    fn is_file_reader(&self) -> bool {
        self.mode != OpenMode::Write
            && self
                .engine_type()
                .is_ok_and(|engine| engine.starts_with("BP"))
    }

    /// Calls into ADIOS2. Once a call has failed, the engine may hold the address of a freed buffer, so it is never
    /// called again, not even to close or free it.
    pub(crate) fn calling(
        &self,
        call: impl FnOnce(*mut RawEngine) -> Result<(), Adios2Error>,
    ) -> Result<(), Adios2Error> {
        if self.io.adios().is_abandoned() {
            return Err(Adios2Error::Poisoned {
                name: self.name.clone(),
            });
        }
        call(self.raw).inspect_err(|_| self.io.adios().abandon())
    }

    /// Returns an error for a variable of another stream or another type.
    pub(crate) fn expect_own(
        &self,
        variable: &Variable<'_>,
        expected: DataType,
    ) -> Result<(), Adios2Error> {
        let found = variable.data_type()?;
        if found != expected || !std::ptr::eq(variable.io(), &raw const self.io) {
            return Err(Adios2Error::WrongType {
                name: variable.name().to_owned(),
                expected,
                found,
            });
        }
        Ok(())
    }
}

impl Drop for AdiosEngine {
    fn drop(&mut self) {
        // ADIOS2 has printed any failure; a caller that needs to know calls `close`.
        drop(self.close_once());
    }
}

/// Waits until no other stream that was written over SST is closing, or until the timeout.
fn lock_close() -> Option<MutexGuard<'static, ()>> {
    let start = Instant::now();
    loop {
        match SST_CLOSES.try_lock() {
            Ok(turn) => return Some(turn),
            Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() >= CLOSE_TIMEOUT => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(CLOSE_POLL_INTERVAL),
        }
    }
}

/// Returns an error for a buffer that does not fit the variable's selection.
pub(crate) fn expect_len(variable: &Variable<'_>, found: usize) -> Result<(), Adios2Error> {
    let expected = variable.selection_len()?;
    if expected != found {
        return Err(Adios2Error::WrongLength {
            name: variable.name().to_owned(),
            expected,
            found,
        });
    }
    Ok(())
}
