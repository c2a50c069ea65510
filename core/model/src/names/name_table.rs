//! Names ⇄ ids. Ranks number their names differently, so ranks are joined by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::{CounterId, FuncId};

/// Longer names of functions are cut: those of C++ templates run to thousands of bytes, and whoever keeps names, databases
/// and the parameter server, takes no longer ones.
pub const MAX_NAME_BYTES: usize = 64 << 10;
/// The same for counters, whose names travel more often.
pub const MAX_COUNTER_NAME_BYTES: usize = 4 << 10;

/// A text as it can be kept anywhere: at most `max_bytes` long, and without the character NUL, which databases take for
/// its end.
pub fn keepable(text: &str, max_bytes: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= max_bytes && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    let mut kept = text.replace('\0', "?");
    if kept.len() > max_bytes {
        kept.truncate(kept.floor_char_boundary(max_bytes.saturating_sub(MARK.len())));
        kept.push_str(MARK);
    }
    Cow::Owned(kept)
}

/// An id that stands for a name.
pub trait Name: Copy {
    /// The id at an index.
    fn from_index(index: usize) -> Self;
    /// The index of the id.
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
    /// The id of `name`, new if the name is new.
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

    /// The id of `name` if it is known.
    pub fn get(&self, name: &str) -> Option<Id> {
        self.ids.get(name).copied()
    }

    /// The name of an id of this table; `?` for an id of another.
    pub fn name(&self, id: Id) -> &str {
        self.names.get(id.index()).map_or("?", |name| name)
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Ids and names in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &str)> {
        self.names
            .iter()
            .enumerate()
            .map(|(index, name)| (Id::from_index(index), &**name))
    }

    /// Takes in all names of `other`; the answer maps its ids (by index) to ids of this table.
    pub fn join(&mut self, other: &Self) -> Vec<Id> {
        other.names.iter().map(|name| self.intern(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_keeps_is_cut_or_marked() {
        assert!(matches!(keepable("MPI_Send()", 10), Cow::Borrowed(_)));
        assert_eq!(keepable("a\0b", 10), "a?b");
        assert_eq!(keepable("ééééé", 9), "ééé…");
        assert_eq!(keepable("ééééé", 8), "éé…", "letters stay whole");
        assert_eq!(keepable("\0\0\0\0\0", 4), "?…");
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
