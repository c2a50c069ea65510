//! The lists of variables and attributes in BP4's `md.0`: whether their entries end where they should, the scalars and
//! the attributes of a step, and the locations of its arrays.
//!
//! ADIOS2 reads them without checking their ends. It follows a text with a wrong length wherever that leads, and the
//! process may crash.
//!
//! ```text
//! entry           length of the rest (4) · member (4) · group, name (texts) · …
//! a variable      … order (1) · 0 (1) · type (1) · sets (8), one for each block that was put · each set
//! an attribute    … path (text) · type (1) · sets (8) · each set
//! set             characteristics (1) · length (4) · each characteristic: which (1), value
//! characteristic  0 the value: of a text attribute, a text · 3 an offset (8) · 6 the offset in the data file (8)
//!                 4 dimensions (1), length (2), for each: of the block, of the array, start of the block (8 each);
//!                   a scalar has none, a text has one
//!                 7 number of the data file (4) · 8 step (4)
//!                 12 blocks (2), of one: least and greatest value (8 each) · others
//! text            length (2) · bytes
//! ```

use super::decode::ARRAYS;
use super::schema::COUNTS;
use super::stored_attributes::StoredAttributes;
use super::stored_step::{StoredArray, StoredStep};

/// The type of a text attribute.
const TEXT: u64 = 9;
/// The type of an `int32_t`.
const I32: u64 = 2;
/// The type of a `uint64_t`.
const U64: u64 = 54;

/// Returns whether the entries of a list of variables are contiguous up to its end, and each name ends within its
/// entry.
pub(super) fn variables_fit(list: &[u8]) -> bool {
    entries_fit(list, |_| Some(()))
}

/// Returns the same of a list of attributes, including all their texts.
pub(super) fn attributes_fit(list: &[u8]) -> bool {
    entries_fit(list, attribute_fits)
}

/// Returns the attributes of the lists of all steps; `None` unless each is one text, has only known properties, and has
/// a unique name.
pub(super) fn attributes_of(lists: &[&[u8]]) -> Option<StoredAttributes> {
    let mut attributes = Vec::new();
    for list in lists {
        let mut rest = Bytes(list);
        while let Some((name, entry)) = rest.entry() {
            let text = stored_text(entry)?;
            // Some releases of ADIOS2 end a text at a zero byte.
            if name.contains(&0) || text.contains(&0) {
                return None;
            }
            attributes.push((0, name, text));
        }
    }
    StoredAttributes::of(attributes)
}

/// Returns the step of a list of variables.
pub(super) fn step_of(list: &[u8]) -> StoredStep {
    let count = |entry: Bytes<'_>| {
        let number = stored_value(entry, I32, 0, |set| set.number(4))?;
        i32::try_from(number).ok()?.try_into().ok()
    };
    let num_rows = |entry: Bytes<'_>| stored_value(entry, U64, 0, |set| set.number(8));
    StoredStep {
        arrays: of_names(list, ARRAYS.map(|it| it.1), stored_blocks).map(Option::unwrap_or_default),
        num_rows: of_names(list, ARRAYS.map(|it| it.0), num_rows),
        counts: of_names(list, COUNTS, count),
        is_empty: list.is_empty(),
        data_end: None,
    }
}

/// Returns the results of `read` for the entries of these names.
fn of_names<T, const N: usize>(
    list: &[u8],
    names: [&str; N],
    read: impl Fn(Bytes<'_>) -> Option<T>,
) -> [Option<T>; N] {
    let (mut rest, mut found) = (Bytes(list), [const { None }; N]);
    while let Some((name, entry)) = rest.entry() {
        if let Some(at) = names.iter().position(|wanted| wanted.as_bytes() == name) {
            found[at] = read(entry);
        }
    }
    found
}

/// Returns whether the entries of a list are contiguous and `rest_fits` accepts the bytes after the name of each.
fn entries_fit(list: &[u8], rest_fits: impl Fn(Bytes<'_>) -> Option<()>) -> bool {
    let mut rest = Bytes(list);
    let mut next_fits = || {
        let (_, entry) = rest.entry()?;
        rest_fits(entry)?;
        Some(rest.0.len())
    };
    let mut num_left = Some(list.len());
    while num_left.is_some_and(|it| it > 0) {
        num_left = next_fits();
    }
    num_left == Some(0)
}

/// Returns the characteristics of an entry of this type with one set, and their number.
fn only_set(mut entry: Bytes<'_>, data_type: u64) -> Option<(u64, Bytes<'_>)> {
    entry.take(2)?;
    if (entry.number(1)?, entry.number(8)?) != (data_type, 1) {
        return None;
    }
    let num_characteristics = entry.number(1)?;
    let length = entry.number(4)?;
    Some((num_characteristics, entry.take(length)?))
}

/// Returns the value of an entry with this number of dimensions, which `read` reads.
fn stored_value<'a, T>(
    entry: Bytes<'a>,
    data_type: u64,
    num_dimensions: u64,
    read: impl Fn(&mut Bytes<'a>) -> Option<T>,
) -> Option<T> {
    let (num_characteristics, mut set) = only_set(entry, data_type)?;
    let mut value = None;
    for _ in 0..num_characteristics {
        match set.number(1)? {
            0 => value = Some(read(&mut set)?),
            3 | 6 => _ = set.take(8)?,
            4 if (set.number(1)?, set.number(2)?) == (num_dimensions, num_dimensions * 24) => {
                set.take(num_dimensions * 24)?;
            }
            7 | 8 => _ = set.take(4)?,
            _ => return None,
        }
    }
    // ADIOS2 reads on to the end of the set, whatever their stated number.
    value.filter(|_| set.0.is_empty())
}

/// Returns the value of an attribute that is one text and has no path, which would precede its name.
fn stored_text(entry: Bytes<'_>) -> Option<&[u8]> {
    if !entry.0.starts_with(&[0, 0]) {
        return None;
    }
    stored_value(entry, TEXT, 1, Bytes::text).map(|it| it.0)
}

/// Returns the blocks of an array, one for each set.
fn stored_blocks(mut entry: Bytes<'_>) -> Option<Vec<StoredArray>> {
    entry.take(2)?;
    let (data_type, num_sets) = (entry.number(1)?, entry.number(8)?);
    let next = |_| {
        let num_characteristics = entry.number(1)?;
        let length = entry.number(4)?;
        let set = entry.take(length)?;
        stored_block(num_characteristics, set, num_sets == 1)
    };
    let blocks = (0..num_sets).map(next);
    (data_type == U64).then(|| blocks.collect()).flatten()
}

/// Returns a block, which must cover its array if it is the only one.
fn stored_block(
    num_characteristics: u64,
    mut set: Bytes<'_>,
    is_only: bool,
) -> Option<StoredArray> {
    let (mut offset, mut dimensions) = (None, None);
    for _ in 0..num_characteristics {
        match set.number(1)? {
            3 => _ = set.take(8)?,
            4 if (set.number(1)?, set.number(2)?) == (2, 48) => {
                let numbers = [(); 6].map(|()| set.number(8));
                let [rows, all_rows, start, columns, all_columns, 0] =
                    numbers.map(Option::unwrap_or_default)
                else {
                    return None;
                };
                let has_all_rows = !is_only || (rows, start) == (all_rows, 0);
                let is_whole = has_all_rows && columns == all_columns;
                dimensions = is_whole.then_some((rows, columns));
            }
            6 => offset = set.number(8),
            7 if set.number(4)? == 0 => {}
            8 => _ = set.take(4)?,
            12 if set.number(2)? == 1 => _ = set.take(16)?,
            _ => return None,
        }
    }
    let (num_rows, num_columns) = dimensions?;
    StoredArray::at(offset?, num_rows, num_columns)
}

fn attribute_fits(mut entry: Bytes<'_>) -> Option<()> {
    entry.text()?;
    let is_text = entry.number(1)? == TEXT;
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

/// Checks the characteristics of a text attribute. Unknown ones are accepted.
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

/// The bytes that remain to be read.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Returns the next entry of a list: its name, and the bytes after that.
    fn entry(&mut self) -> Option<(&'a [u8], Bytes<'a>)> {
        let length = self.number(4)?;
        let mut entry = self.take(length)?;
        entry.take(4)?;
        entry.text()?;
        let name = entry.text()?;
        Some((name.0, entry))
    }

    fn take(&mut self, length: u64) -> Option<Bytes<'a>> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Bytes(taken))
    }

    /// Returns a little-endian number of `num_bytes` bytes.
    fn number(&mut self, num_bytes: u64) -> Option<u64> {
        let bytes = self.take(num_bytes)?;
        let digits = bytes.0.iter().rev();
        Some(digits.fold(0, |number, &byte| (number << 8) | u64::from(byte)))
    }

    /// Returns the bytes that follow their length.
    fn text(&mut self) -> Option<Bytes<'a>> {
        let length = self.number(2)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &str) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).unwrap();
        [&length.to_le_bytes(), bytes.as_bytes()].concat()
    }

    /// Returns an attribute in the form of ADIOS2.
    fn attribute(name: &str, value: &str) -> Vec<u8> {
        let mut set = vec![8, 1, 0, 0, 0, 7, 0, 0, 0, 0, 4, 1, 24, 0, 1];
        set.extend([0; 23]);
        set.push(0);
        set.extend(text(value));
        set.extend([3; 9]);
        set.extend([6; 9]);
        let mut entry = [[0; 4].as_slice(), &text(""), &text(name), &text("")].concat();
        entry.extend([9, 1, 0, 0, 0, 0, 0, 0, 0, 6]);
        entry.extend(u32::try_from(set.len()).unwrap().to_le_bytes());
        entry.extend(set);
        let length = u32::try_from(entry.len()).unwrap();
        [length.to_le_bytes().as_slice(), &entry].concat()
    }

    fn list() -> Vec<u8> {
        [
            attribute("timer 0", "main"),
            attribute("MetaData:0:0:a", ""),
        ]
        .concat()
    }

    #[test]
    fn attributes_of_several_steps_are_in_the_order_of_their_names() {
        let (first, second) = (list(), attribute("timer 1", "solve"));
        let mut found = attributes_of(&[&second, &[], &first]).unwrap();
        let expected = [
            ("MetaData:0:0:a", ""),
            ("timer 0", "main"),
            ("timer 1", "solve"),
        ];
        assert_eq!(found.begin_step().list(), expected);
        assert!(attributes_of(&[&first, &second, &second]).is_none());
    }

    proptest! {
        #[test]
        fn a_damaged_list_gives_texts_or_nothing(place in 0..list().len(), byte: u8) {
            let mut damaged = list();
            damaged[place] = byte;
            let found = attributes_of(&[&damaged]);
            prop_assert!(found.is_none_or(|it| it.list().len() <= 2));
            prop_assert!(!step_of(&damaged).is_complete());
        }
    }
}
