//! The handle that everything else lives in.

use std::cell::Cell;

use crate::api::{RawAdios, c_string, check_handle};
use crate::{Adios2Error, Io, Library};

/// One ADIOS2 instance, which will hold one [`Io`] and its [`crate::AdiosEngine`].
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

    /// The one set of variables, attributes and parameters of this instance; `name` shows up in error
    /// texts of ADIOS2.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn declare_io(self, name: &str) -> Result<Io, Adios2Error> {
        let c_name = c_string(name)?;
        // SAFETY: the instance is alive and the name is a C string.
        let raw = unsafe { (self.library.api().declare_io)(self.raw, c_name.as_ptr()) };
        let raw = check_handle(raw, "declare_io", name)?;
        Ok(Io::new(self, raw))
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
