//! The tree models of a server: published by people, kept with the run, told to instances with their next answer.

use std::collections::BTreeMap;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::{ServerState, lock};
use crate::{ModelPublication, PserverError, TreeModelBook, TreeModelInfo, TreeModelUpdate};

/// Tree models of about so many bytes go into one answer, and at least one.
const MAX_REPLY_BYTES: usize = 1 << 20;

impl ServerState {
    /// Publishes a model as the next version of its name, in force from the next step of every instance on. The answer is
    /// the version, and the generation that [`ServerState::has_saved_tree_models`] takes.
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

    /// Puts a version in force again, or takes the model out of force. The answer is the version that was, and the
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

    /// Tells that nobody judges by tree models any more, nor will save them after this: what is changed from now on would
    /// be lost.
    pub fn close_tree_models(&self) {
        let _held = lock(&self.tree_models.book);
        self.tree_models.is_closed.store(true, Ordering::Release);
    }

    /// The book, if it may be changed.
    fn open_book(&self) -> Result<MutexGuard<'_, TreeModelBook>, PserverError> {
        let book = lock(&self.tree_models.book);
        if self.tree_models.is_closed.load(Ordering::Acquire) {
            return Err(PserverError::RunIsOver);
        }
        Ok(book)
    }

    /// All tree models in order of their names, and the generation.
    pub fn tree_models(&self) -> (Vec<TreeModelInfo>, u64) {
        let book = lock(&self.tree_models.book);
        (book.list(), book.generation())
    }

    /// A tree model and its number: a version, or the one in force.
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

    /// What changed since the generation that an instance has, and up to which that is.
    pub(super) fn tree_models_since(
        &self,
        instance: &str,
        generation: u64,
    ) -> (Vec<TreeModelUpdate>, u64) {
        let mut told = lock(&self.tree_models.told);
        match told.get_mut(instance) {
            Some(told) => *told = generation,
            None => {
                told.insert(instance.to_owned(), generation);
            }
        }
        drop(told);
        lock(&self.tree_models.book).since(generation, MAX_REPLY_BYTES)
    }

    /// The generation that each live instance had when it asked last.
    pub fn tree_generations(&self) -> BTreeMap<String, u64> {
        lock(&self.tree_models.told).clone()
    }

    /// An instance takes leave.
    pub(super) fn forget_tree_generation(&self, instance: &str) {
        lock(&self.tree_models.told).remove(instance);
    }

    /// Whether the run has called functions, but none of these.
    pub fn lacks_all(&self, names: &[String]) -> bool {
        let table = self.function_table();
        let mut known = table.iter().map(|(_, _, name)| name).peekable();
        known.peek().is_some() && !known.any(|known| names.iter().any(|name| name == known))
    }

    /// The book to be saved, and its generation, if it changed since it was saved last.
    pub fn unsaved_tree_models(&self) -> Option<(TreeModelBook, u64)> {
        let book = lock(&self.tree_models.book);
        let generation = book.generation();
        let is_saved = generation <= self.tree_models.saved.load(Ordering::Acquire);
        (!is_saved).then(|| (book.clone(), generation))
    }

    /// Tells that a book is safe on disk.
    pub fn confirm_saved_tree_models(&self, generation: u64) {
        self.tree_models
            .saved
            .fetch_max(generation, Ordering::AcqRel);
    }

    /// Whether a generation is safe on disk.
    pub fn has_saved_tree_models(&self, generation: u64) -> bool {
        self.tree_models.saved.load(Ordering::Acquire) >= generation
    }

    /// Goes on from a saved book.
    pub fn restore_tree_models(&self, book: TreeModelBook) {
        self.confirm_saved_tree_models(book.generation());
        *lock(&self.tree_models.book) = book;
    }
}
