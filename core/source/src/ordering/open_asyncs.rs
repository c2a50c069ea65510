//! The open calls of one asynchronous activity, which may overlap.

use std::collections::HashMap;

use callgrove_model::FuncId;

/// The open calls that a file joins by one id. An end that names a function ends the last call of it, so that calls of
/// several functions may overlap; other ends end the innermost call.
#[derive(Debug)]
pub struct OpenAsyncs<T> {
    /// In order of their beginnings; `None` for those that have ended.
    calls: Vec<Option<(FuncId, T)>>,
    /// The indices of the calls of each function, also of some that have ended.
    by_func: HashMap<FuncId, Vec<usize>>,
}

impl<T> Default for OpenAsyncs<T> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            by_func: HashMap::new(),
        }
    }
}

impl<T> OpenAsyncs<T> {
    /// Adds a call.
    pub fn begin(&mut self, func: FuncId, call: T) {
        let indices = self.by_func.entry(func).or_default();
        indices.push(self.calls.len());
        self.calls.push(Some((func, call)));
    }

    /// Removes the last call of a function, or of all, and returns it. Cost: O(1) on average.
    pub fn end(&mut self, func: Option<FuncId>) -> Option<(FuncId, T)> {
        self.remove_ended();
        let Some(func) = func else {
            return self.calls.pop().flatten();
        };
        let indices = self.by_func.get_mut(&func)?;
        loop {
            let call = self.calls.get_mut(indices.pop()?);
            if let Some(ended) = call.and_then(|it| it.take_if(|it| it.0 == func)) {
                self.remove_ended();
                return Some(ended);
            }
        }
    }

    /// Removes the places of ended calls at the end of the list, so that none is passed twice.
    fn remove_ended(&mut self) {
        while self.calls.pop_if(|it| it.is_none()).is_some() {}
    }

    /// Returns whether no call is open.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the calls that are open, in order of their beginnings.
    pub fn into_open(self) -> impl Iterator<Item = (FuncId, T)> {
        self.calls.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_with_a_name_end_the_last_call_of_it_and_others_the_innermost() {
        let (a, b) = (FuncId(0), FuncId(1));
        let mut open = OpenAsyncs::default();
        for (func, number) in [(a, 1), (b, 2), (a, 3), (b, 4)] {
            open.begin(func, number);
        }
        assert_eq!(open.end(Some(a)), Some((a, 3)));
        assert_eq!(open.end(None), Some((b, 4)));
        assert_eq!(open.end(None), Some((b, 2)), "3 has ended");
        assert_eq!(open.end(Some(b)), None);
        open.begin(b, 5);
        assert_eq!(open.end(Some(a)), Some((a, 1)));
        assert_eq!(open.end(Some(a)), None);
        assert!(!open.is_empty());
        assert_eq!(open.end(Some(b)), Some((b, 5)));
        assert!(open.is_empty());
        assert_eq!(open.end(None), None);
        assert_eq!(open.into_open().next(), None);
    }
}
