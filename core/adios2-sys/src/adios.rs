//! The ADIOS2 instance, which owns all other handles.

use std::cell::Cell;

use crate::api::{RawAdios, check_handle};
use crate::error::Adios2Error;
use crate::library::Library;

/// One ADIOS2 instance, which owns at most one [`crate::Io`] and its [`crate::AdiosEngine`].
pub struct Adios {
    raw: *mut RawAdios,
    library: Library,
    abandoned: Cell<bool>,
}

// SAFETY: an ADIOS2 instance is not bound to the thread that created it, and this value is the only access to it, so
// moving the value moves the instance with all that it owns. The state that instances share inside ADIOS2 is either
// written only while the library is loaded (registries of engines and operators) or guarded there. It is not `Sync`:
// one instance must not be called from two threads at once.
unsafe impl Send for Adios {}

impl Adios {
    /// Creates an instance without MPI and without a configuration file.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn new(library: &Library) -> Result<Self, Adios2Error> {
        // SAFETY: takes no arguments.
        let raw = unsafe { (library.api().init_serial)() };
        let raw = check_handle(raw, "init_serial", "")?;
        Ok(Self {
            raw,
            library: library.clone(),
            abandoned: Cell::new(false),
        })
    }

    pub(crate) fn raw(&self) -> *mut RawAdios {
        self.raw
    }

    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// Keeps the instance alive when this value is dropped, because it may still hold addresses of freed buffers.
    pub(crate) fn abandon(&self) {
        self.abandoned.set(true);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.get()
    }
}

impl Drop for Adios {
    fn drop(&mut self) {
        if !self.is_abandoned() {
            // SAFETY: created by `init_serial`, freed once, and all handles inside it are gone. ADIOS2 has printed
            // any failure, and there is nothing left to do.
            unsafe { (self.library.api().finalize)(self.raw) };
        }
    }
}

impl std::fmt::Debug for Adios {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adios")
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}
