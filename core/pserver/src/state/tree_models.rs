//! The tree models of a server: published by users, saved with the run, sent to instances with the next reply.

use std::collections::BTreeMap;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::{ServerState, lock};
use crate::error::PserverError;
use crate::tree_model_book::{ModelPublication, TreeModelBook, TreeModelInfo, TreeModelUpdate};

/// Approximate maximum size of the tree models in one reply, in bytes; a reply has at least one.
const MAX_REPLY_BYTES: usize = 1 << 20;

impl ServerState {
    /// Publishes a model as the next version of its name, in force from the next step of every instance on. Returns the
    /// version, and the generation for [`ServerState::has_saved_tree_models`].
    ///
    /// # Errors
    /// Those of [`TreeModelBook::publish`]; [`PserverError::RunIsOver`].
    pub fn publish_tree_model(
        &self,
        publication: &ModelPublication,
        functions: &[String],
        time_us: u64,
    ) -> Result<(u32, u64), PserverError> {
        let mut book = self.open_book()?;
        let version = book.publish(publication, functions, time_us)?;
        Ok((version, book.generation()))
    }

    /// Puts a version in force again, or takes the model out of force. Returns the version that was in force, and the
    /// generation.
    ///
    /// # Errors
    /// Those of [`TreeModelBook::put_in_force`]; [`PserverError::RunIsOver`].
    pub fn put_tree_model_in_force(
        &self,
        name: &str,
        version: Option<u32>,
    ) -> Result<(Option<u32>, u64), PserverError> {
        let mut book = self.open_book()?;
        let before = book.put_in_force(name, version)?;
        Ok((before, book.generation()))
    }

    /// Closes the tree models: no instance uses them any more, and later changes would not be saved.
    pub fn close_tree_models(&self) {
        let _held = lock(&self.tree_models.book);
        self.tree_models.is_closed.store(true, Ordering::Release);
    }

    /// Returns the book, if it may be changed.
    fn open_book(&self) -> Result<MutexGuard<'_, TreeModelBook>, PserverError> {
        let book = lock(&self.tree_models.book);
        if self.tree_models.is_closed.load(Ordering::Acquire) {
            return Err(PserverError::RunIsOver);
        }
        Ok(book)
    }

    /// Returns all tree models ordered by name, and the generation.
    pub fn tree_models(&self) -> (Vec<TreeModelInfo>, u64) {
        let book = lock(&self.tree_models.book);
        (book.list(), book.generation())
    }

    /// Returns a tree model and its version: a given one, or the one in force.
    ///
    /// # Errors
    /// [`PserverError::UnknownTreeModel`].
    pub fn tree_model(
        &self,
        name: &str,
        version: Option<u32>,
    ) -> Result<(u32, String), PserverError> {
        let book = lock(&self.tree_models.book);
        let (version, model) = book.model(name, version)?;
        Ok((version, model.to_owned()))
    }

    /// Returns the changes since the generation that an instance has, and the generation that they reach.
    pub(super) fn tree_models_since(
        &self,
        instance: &str,
        generation: u64,
    ) -> (Vec<TreeModelUpdate>, u64) {
        let mut sent = lock(&self.tree_models.sent_generations);
        match sent.get_mut(instance) {
            Some(sent) => *sent = generation,
            None => {
                sent.insert(instance.to_owned(), generation);
            }
        }
        drop(sent);
        lock(&self.tree_models.book).since(generation, MAX_REPLY_BYTES)
    }

    /// Returns the generation that each live instance had when it last asked.
    pub fn tree_generations(&self) -> BTreeMap<String, u64> {
        lock(&self.tree_models.sent_generations).clone()
    }

    /// Removes an instance that signs off.
    pub(super) fn forget_tree_generation(&self, instance: &str) {
        lock(&self.tree_models.sent_generations).remove(instance);
    }

    /// Returns whether the run has called functions, but none of these.
    pub fn lacks_all(&self, names: &[String]) -> bool {
        let table = self.function_table();
        let mut known = table.iter().map(|(_, _, name)| name).peekable();
        known.peek().is_some() && !known.any(|known| names.iter().any(|name| name == known))
    }

    /// Returns the book to be saved, and its generation, if it changed since the last save.
    pub fn unsaved_tree_models(&self) -> Option<(TreeModelBook, u64)> {
        let book = lock(&self.tree_models.book);
        let generation = book.generation();
        let is_saved = generation <= self.tree_models.saved.load(Ordering::Acquire);
        (!is_saved).then(|| (book.clone(), generation))
    }

    /// Records that a book is safe on disk.
    pub fn confirm_saved_tree_models(&self, generation: u64) {
        self.tree_models
            .saved
            .fetch_max(generation, Ordering::AcqRel);
    }

    /// Returns whether a generation is safe on disk.
    pub fn has_saved_tree_models(&self, generation: u64) -> bool {
        self.tree_models.saved.load(Ordering::Acquire) >= generation
    }

    /// Continues from a saved book.
    pub fn restore_tree_models(&self, book: TreeModelBook) {
        self.confirm_saved_tree_models(book.generation());
        *lock(&self.tree_models.book) = book;
    }
}
