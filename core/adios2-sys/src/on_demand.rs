//! The library for those who may not need it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::malloc::keep_freed_blocks;
use crate::{Adios2Error, Candidate, Library, default_candidates};

/// ADIOS2's library, which is loaded when it is first asked for. Clones share it.
#[derive(Clone, Debug)]
pub struct LibraryOnDemand {
    candidates: Arc<[Candidate]>,
    loaded: Arc<Mutex<Option<Library>>>,
}

impl LibraryOnDemand {
    /// The first of [`default_candidates`] that is ADIOS2's C library.
    pub fn of_this_machine() -> Self {
        Self::new(default_candidates())
    }

    /// The first of these that is. Who reads steps takes memory of their size time and again, with ADIOS2 or without it,
    /// so that is kept from now on.
    pub fn new(candidates: impl Into<Arc<[Candidate]>>) -> Self {
        keep_freed_blocks();
        Self {
            candidates: candidates.into(),
            loaded: Arc::default(),
        }
    }

    /// Loads it, unless that was done.
    ///
    /// # Errors
    /// As [`Library::load`].
    pub fn get(&self) -> Result<Library, Adios2Error> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*loaded {
            return Ok(library.clone());
        }
        let library = Library::load(&self.candidates)?;
        Ok(loaded.insert(library).clone())
    }
}
