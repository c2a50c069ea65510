//! Names ⇄ ids. Ranks number their names differently, so ranks are joined by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::id::{CounterId, FuncId};

/// Largest size of a function name in bytes; longer names are cut. Names of C++ templates reach thousands of bytes, and
/// databases and the parameter server accept no longer ones.
pub const MAX_NAME_BYTES: usize = 64 << 10;
/// Largest size of a counter name in bytes. It is smaller because counter names are sent more often.
pub const MAX_COUNTER_NAME_BYTES: usize = 4 << 10;

/// Returns a text that every database can store: at most `max_bytes` bytes long, and without NUL characters, which
/// databases interpret as the end.
pub fn storable_text(text: &str, max_bytes: usize) -> Cow<'_, str> {
    const ELLIPSIS: &str = "…";
    if text.len() <= max_bytes && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    let mut kept = text.replace('\0', "?");
    if kept.len() > max_bytes {
        kept.truncate(kept.floor_char_boundary(max_bytes.saturating_sub(ELLIPSIS.len())));
        kept.push_str(ELLIPSIS);
    }
    Cow::Owned(kept)
}

/// An id of a name.
pub trait Name: Copy {
    /// Returns the id at an index.
    fn from_index(index: usize) -> Self;
    /// Returns the index of the id.
    fn index(self) -> usize;
}

macro_rules! name {
    ($id:ty) => {
        impl Name for $id {
            fn from_index(index: usize) -> Self {
                Self::from_index(index)
            }
            fn index(self) -> usize {
                self.index()
            }
        }
    };
}
name!(FuncId);
name!(CounterId);

/// Names in order of first use; each name has one id.
#[derive(Clone, Debug)]
pub struct NameTable<Id = FuncId> {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, Id>,
}

impl<Id> Default for NameTable<Id> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            ids: HashMap::new(),
        }
    }
}

impl<Id: Name> NameTable<Id> {
    /// Returns the id of `name`, adding the name if it is new.
    pub fn intern(&mut self, name: &str) -> Id {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = Id::from_index(self.names.len());
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        id
    }

    /// Returns the id of `name` if it is known.
    pub fn get(&self, name: &str) -> Option<Id> {
        self.ids.get(name).copied()
    }

    /// Returns the name of an id of this table; `?` for an unknown id.
    pub fn name(&self, id: Id) -> &str {
        self.names.get(id.index()).map_or("?", |name| name)
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns ids and names in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &str)> {
        self.names
            .iter()
            .enumerate()
            .map(|(index, name)| (Id::from_index(index), &**name))
    }

    /// Adds all names of `other`. Returns the id in this table of each of its ids, by index.
    pub fn join(&mut self, other: &Self) -> Vec<Id> {
        other.names.iter().map(|name| self.intern(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_and_nuls_are_replaced() {
        assert!(matches!(storable_text("MPI_Send()", 10), Cow::Borrowed(_)));
        assert_eq!(storable_text("a\0b", 10), "a?b");
        assert_eq!(storable_text("ééééé", 9), "ééé…");
        assert_eq!(storable_text("ééééé", 8), "éé…", "characters are not split");
        assert_eq!(storable_text("\0\0\0\0\0", 4), "?…");
    }

    #[test]
    fn joining_maps_names_and_keeps_ids() {
        let mut left: NameTable = NameTable::default();
        let a = left.intern("a");
        let mut right: NameTable = NameTable::default();
        right.intern("b");
        right.intern("a");
        assert_eq!(left.join(&right), [FuncId(1), a]);
        assert_eq!(left.name(FuncId(1)), "b");
        assert_eq!(left.get("c"), None);
        assert_eq!(left.len(), 2);
    }
}
