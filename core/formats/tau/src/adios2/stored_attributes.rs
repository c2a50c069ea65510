//! Attributes that were read from a folder's files, without ADIOS2.

/// The attributes of all steps. Each is visible from its step on until it is dropped.
#[derive(Default, Debug)]
pub(super) struct StoredAttributes {
    /// Each name and its text, one after another.
    texts: String,
    /// The attributes in the order of ADIOS2: by the bytes of their names.
    attributes: Vec<Attribute>,
    /// First step whose attributes are not dropped.
    first_step: usize,
    /// Number of steps that have begun.
    num_begun: usize,
}

#[derive(Debug)]
struct Attribute {
    step: usize,
    /// The start of the name, its end, which is the start of the text, and the end of the text.
    places: [usize; 3],
}

impl StoredAttributes {
    /// Returns the attributes of steps, by name and text; `None` if a name occurs twice, as only ADIOS2 knows which
    /// text counts.
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

    /// Goes to the next step, at first to the first one.
    pub(super) fn begin_step(&mut self) -> &Self {
        self.num_begun += 1;
        self
    }

    /// Drops the visible attributes.
    pub(super) fn forget(&mut self) {
        self.first_step = self.num_begun;
        if self.attributes.iter().all(|it| it.step < self.first_step) {
            (self.texts, self.attributes) = Default::default();
        }
    }

    /// Returns each name and its text. Invalid UTF-8 is replaced, as in attributes from ADIOS2.
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
