//! A library that is loaded only when it is needed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Adios2Error;
use crate::library::Library;
use crate::library_search::{Candidate, default_candidates};
use crate::malloc::keep_freed_blocks;

/// ADIOS2's library, which is loaded when it is first requested. Clones share it.
#[derive(Clone, Debug)]
pub struct LibraryOnDemand {
    candidates: Arc<[Candidate]>,
    loaded: Arc<Mutex<Option<Library>>>,
}

impl LibraryOnDemand {
    /// Returns the first of [`default_candidates`] that is ADIOS2's C library.
    pub fn of_this_machine() -> Self {
        Self::new(default_candidates())
    }

    /// Returns the first of these candidates that is ADIOS2's C library. From now on the allocator keeps freed
    /// memory, since readers of steps allocate memory of a step's size repeatedly, with ADIOS2 or without it.
    pub fn new(candidates: impl Into<Arc<[Candidate]>>) -> Self {
        keep_freed_blocks();
        Self {
            candidates: candidates.into(),
            loaded: Arc::default(),
        }
    }

    /// Loads the library if it is not loaded yet, and returns it.
    ///
    /// # Errors
    /// See [`Library::load`].
    pub fn get(&self) -> Result<Library, Adios2Error> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*loaded {
            return Ok(library.clone());
        }
        let library = Library::load(&self.candidates)?;
        Ok(loaded.insert(library).clone())
    }
}
