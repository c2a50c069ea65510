//! Attributes that were read from a folder's files, without ADIOS2.

/// The attributes of all steps; each shows from the step on that brings it, until it is forgotten.
#[derive(Default, Debug)]
pub(super) struct StoredAttributes {
    /// Each name and its text, one after another.
    texts: String,
    /// In the order in which ADIOS2 lists them: by the bytes of their names.
    attributes: Vec<Attribute>,
    /// Those of steps before this one are forgotten.
    first_step: usize,
    /// How many steps have begun.
    num_begun: usize,
}

#[derive(Debug)]
struct Attribute {
    step: usize,
    /// Where the name starts, where it ends and its text starts, and where that ends.
    places: [usize; 3],
}

impl StoredAttributes {
    /// Of steps, names and texts. `None` if a name comes twice: which of its texts counts then is left to ADIOS2.
    pub(super) fn of(mut attributes: Vec<(usize, &[u8], &[u8])>) -> Option<Self> {
        attributes.sort_unstable_by_key(|(_, name, _)| *name);
        if !attributes.is_sorted_by(|(_, name, _), (_, next, _)| name < next) {
            return None;
        }
        let lengths = attributes
            .iter()
            .map(|(_, name, text)| name.len() + text.len());
        let mut stored = Self {
            texts: String::with_capacity(lengths.sum()),
            attributes: Vec::with_capacity(attributes.len()),
            ..Self::default()
        };
        for (step, name, text) in attributes {
            let start = stored.texts.len();
            let [middle, end] = [name, text].map(|bytes| {
                stored.texts.push_str(&String::from_utf8_lossy(bytes));
                stored.texts.len()
            });
            let places = [start, middle, end];
            stored.attributes.push(Attribute { step, places });
        }
        Some(stored)
    }

    /// Goes to the next step, from the first one on.
    pub(super) fn begin_step(&mut self) -> &Self {
        self.num_begun += 1;
        self
    }

    /// Forgets what shows.
    pub(super) fn forget(&mut self) {
        self.first_step = self.num_begun;
        if self.attributes.iter().all(|it| it.step < self.first_step) {
            (self.texts, self.attributes) = Default::default();
        }
    }

    /// Each name and its text; what is not UTF-8 in them is replaced, as it is in those that come from ADIOS2.
    pub(super) fn list(&self) -> Vec<(&str, &str)> {
        let shown = self.first_step..self.num_begun;
        let shown = self.attributes.iter().filter(|it| shown.contains(&it.step));
        let named = shown.map(|it| {
            let [start, middle, end] = it.places;
            (&self.texts[start..middle], &self.texts[middle..end])
        });
        named.collect()
    }
}
