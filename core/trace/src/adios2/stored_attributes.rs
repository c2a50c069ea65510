//! Attributes that were read from a folder's files, without ADIOS2.

/// Names and texts, in the order in which ADIOS2 lists them: by the bytes of their names.
#[derive(Default, Debug)]
pub(super) struct StoredAttributes {
    /// Each name and its text, one after another.
    texts: String,
    /// Where each name and its text end.
    ends: Vec<[usize; 2]>,
}

impl StoredAttributes {
    /// `None` if a name comes twice: which of its texts counts then is left to ADIOS2.
    pub(super) fn of(mut attributes: Vec<(&[u8], &[u8])>) -> Option<Self> {
        attributes.sort_unstable_by_key(|(name, _)| *name);
        if !attributes.is_sorted_by(|(name, _), (next, _)| name < next) {
            return None;
        }
        let lengths = attributes
            .iter()
            .map(|(name, text)| name.len() + text.len());
        let mut stored = Self {
            texts: String::with_capacity(lengths.sum()),
            ends: Vec::with_capacity(attributes.len()),
        };
        for (name, text) in attributes {
            let ends = [name, text].map(|bytes| {
                stored.texts.push_str(&String::from_utf8_lossy(bytes));
                stored.texts.len()
            });
            stored.ends.push(ends);
        }
        Some(stored)
    }

    /// Each name and its text; what is not UTF-8 in them is replaced, as it is in those that come from ADIOS2.
    pub(super) fn list(&self) -> Vec<(&str, &str)> {
        let mut start = 0;
        let each = self.ends.iter().map(|&[middle, end]| {
            let named = (&self.texts[start..middle], &self.texts[middle..end]);
            start = end;
            named
        });
        each.collect()
    }
}
