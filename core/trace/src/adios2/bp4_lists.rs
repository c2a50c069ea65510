//! The lists of variables and attributes in BP4's `md.0`: whether what they hold ends where it should.
//!
//! ADIOS2 goes through them without looking at their ends: a text that states a wrong length is read from wherever that
//! leads, and the process may crash.
//!
//! ```text
//! entry           length of the rest (4) · member (4) · group, name (texts) · …
//! an attribute    … path (text) · type (1) · sets (8) · each set
//! set             characteristics (1) · length (4) · each characteristic: which (1), value
//! characteristic  0 the value: of a text attribute, a text · 3, 6 a place (8) · 4 dimensions (1), length (2), these
//!                 7, 8 a number (4) · others, with what only numbers have
//! text            length (2) · bytes
//! ```

/// The type of a text attribute.
const TEXT: u8 = 9;

/// Whether the entries of a list of variables follow one another to its end, and the names in each end within it.
pub(super) fn variables_fit(list: &[u8]) -> bool {
    entries_fit(list, |_| Some(()))
}

/// The same of a list of attributes, and all their texts.
pub(super) fn attributes_fit(list: &[u8]) -> bool {
    entries_fit(list, attribute_fits)
}

/// `rest_fits` is asked about what each entry has after its name.
fn entries_fit(list: &[u8], rest_fits: impl Fn(Bytes<'_>) -> Option<()>) -> bool {
    let mut rest = Bytes(list);
    let mut next_fits = || {
        let length = rest.number(4)?;
        let mut entry = rest.take(length)?;
        entry.take(4)?;
        entry.text()?;
        entry.text()?;
        rest_fits(entry)?;
        Some(rest.0.len())
    };
    let mut num_left = Some(list.len());
    while num_left.is_some_and(|it| it > 0) {
        num_left = next_fits();
    }
    num_left == Some(0)
}

fn attribute_fits(mut entry: Bytes<'_>) -> Option<()> {
    entry.text()?;
    let is_text = entry.number(1)? == u64::from(TEXT);
    let num_sets = entry.number(8)?;
    for _ in 0..num_sets {
        let num_characteristics = entry.number(1)?;
        let length = entry.number(4)?;
        let set = entry.take(length)?;
        if is_text {
            text_fits(set, num_characteristics)?;
        }
    }
    Some(())
}

/// The characteristics of a text attribute. Nothing is said against those that are not known.
fn text_fits(mut set: Bytes<'_>, num_characteristics: u64) -> Option<()> {
    for _ in 0..num_characteristics {
        match set.number(1)? {
            0 => set.text()?,
            3 | 6 => set.take(8)?,
            4 => {
                set.take(1)?;
                set.text()?
            }
            7 | 8 => set.take(4)?,
            _ => return Some(()),
        };
    }
    Some(())
}

/// What is left to look at.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: u64) -> Option<Bytes<'a>> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Bytes(taken))
    }

    /// A number of so many bytes, the lowest first.
    fn number(&mut self, num_bytes: u64) -> Option<u64> {
        let bytes = self.take(num_bytes)?;
        let digits = bytes.0.iter().rev();
        Some(digits.fold(0, |number, &byte| (number << 8) | u64::from(byte)))
    }

    /// Bytes after their length.
    fn text(&mut self) -> Option<Bytes<'a>> {
        let length = self.number(2)?;
        self.take(length)
    }
}
