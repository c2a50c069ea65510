//! The counts of the documents that one writer of the process stores in a database.

use std::sync::atomic::{AtomicU64, Ordering};

/// The documents of one writer: the writer updates the counts, requests read them.
#[derive(Debug, Default)]
pub struct DocumentCounts {
    stored: AtomicU64,
    lost: AtomicU64,
    waiting: AtomicU64,
    left_out: AtomicU64,
}

impl DocumentCounts {
    /// Adds documents that the database has stored.
    pub fn add_stored(&self, num_documents: usize) {
        let num_documents = u64::try_from(num_documents).unwrap_or(u64::MAX);
        self.stored.fetch_add(num_documents, Ordering::Relaxed);
    }

    /// Replaces the counts with those of a writer that counts by itself.
    pub fn replace(&self, stored: u64, lost: u64, waiting: u64) {
        self.stored.store(stored, Ordering::Relaxed);
        self.lost.store(lost, Ordering::Relaxed);
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Replaces the number of documents that a budget left out.
    pub fn set_left_out(&self, left_out: u64) {
        self.left_out.store(left_out, Ordering::Relaxed);
    }

    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}
