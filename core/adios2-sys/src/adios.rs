//! The handle that everything else lives in.

use std::cell::Cell;

use crate::api::{RawAdios, check_handle};
use crate::{Adios2Error, Library};

/// One ADIOS2 instance, which will hold one [`crate::Io`] and its [`crate::AdiosEngine`].
pub struct Adios {
    raw: *mut RawAdios,
    library: Library,
    abandoned: Cell<bool>,
}

// SAFETY: an ADIOS2 instance has no tie to the thread that made it, and this value is the only way to
// it, so moving the value moves the instance with all that it owns. What instances share inside ADIOS2
// is either written only while the library is loaded (registries of engines and operators) or guarded
// there. It is not `Sync`: one instance takes no calls from two threads at once.
unsafe impl Send for Adios {}

impl Adios {
    /// A new instance without MPI and without a configuration file.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn new(library: &Library) -> Result<Self, Adios2Error> {
        // SAFETY: takes nothing.
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

    /// Lets the instance live on when this value is dropped, because it may still hold addresses of
    /// buffers that are gone.
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
            // SAFETY: made by `init_serial`, freed once, and all handles inside it are gone. A failure
            // has been printed by ADIOS2 and leaves nothing to do.
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
