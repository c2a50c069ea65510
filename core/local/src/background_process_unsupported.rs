//! Background processes where the system cannot separate them from their terminal as Unix does.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;

/// A process in the background; here there are none.
#[derive(Clone, Debug)]
pub struct BackgroundProcess;

impl BackgroundProcess {
    /// Returns the process of a file.
    pub fn new(_: &Path) -> Self {
        Self
    }

    /// Starts nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`].
    pub fn start(&self, _: Command) -> io::Result<()> {
        Err(unsupported())
    }

    /// Returns false.
    ///
    /// # Errors
    /// None.
    pub fn is_running(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Does nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`].
    pub fn ask_to_end(&self) -> io::Result<()> {
        Err(unsupported())
    }
}

fn unsupported() -> io::Error {
    io::Error::new(ErrorKind::Unsupported, "start each server on its own here")
}
