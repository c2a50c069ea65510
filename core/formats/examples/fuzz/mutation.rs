//! Changes of bytes at random, which a number determines.

/// Files of an input: names and contents.
pub(crate) type InputFiles = Vec<(String, Vec<u8>)>;

/// The largest number of changes of one mutant.
const MAX_CHANGES: u64 = 5;
/// Length that a mutant may have in addition to twice that of its parent, in bytes.
const EXTRA_BYTES: usize = 1 << 10;
/// One mutant in this number lacks a file, if its input has several.
const LACKS_FILE: u64 = 64;
/// Numbers at which readers often go wrong, as text.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "4294967295",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e300",
    "-1e-300",
    "0.0000000001",
    "99999999999999999999999999",
    "null",
    "\"\"",
];
/// Numbers at which readers often go wrong, as integers.
const INTEGERS: &[u64] = &[
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x0010_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Random numbers: SplitMix64 (G. L. Steele et al., "Fast splittable pseudorandom number generators", 2014).
pub(crate) struct Chance(u64);

impl Chance {
    /// Returns the numbers of a purpose, an iteration and a seed.
    pub(crate) fn new(seed: u64, iteration: u64, purpose: u64) -> Self {
        let mut chance = Self(seed);
        for number in [iteration, purpose] {
            chance.0 = chance.next() ^ number;
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// Returns an index of something with this length; 0 if it is empty.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        let end = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(end)).unwrap_or(0)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.index(all.len()))
    }

    /// Returns the start and end of a range in `length` bytes, more often a short one.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let longest = [4, 64, 1024, length][self.index(4)];
        let start = self.index(length);
        let end = start + 1 + self.index(longest);
        (start, end.min(length))
    }
}

/// Returns files that differ from `parent`. `donor` gives what is inserted.
pub(crate) fn mutated(
    parent: &[(String, Vec<u8>)],
    donor: &[(String, Vec<u8>)],
    chance: &mut Chance,
) -> InputFiles {
    let mut files = parent.to_vec();
    if files.len() > 1 && chance.below(LACKS_FILE) == 0 {
        files.remove(chance.index(files.len()));
        return files;
    }
    let which = chance.index(files.len());
    let Some((name, bytes)) = files.get_mut(which) else {
        return files;
    };
    let same = donor.iter().find(|file| file.0 == *name);
    let others = same.or_else(|| chance.of(donor)).map(|file| &file.1[..]);
    let most = 2 * bytes.len() + EXTRA_BYTES;
    for _ in 0..=chance.below(MAX_CHANGES) {
        change(bytes, others.unwrap_or_default(), chance);
        bytes.truncate(most);
    }
    if parent.get(which).is_some_and(|file| file.1 == *bytes) {
        match bytes.first_mut() {
            Some(byte) => *byte ^= 1,
            None => bytes.push(0),
        }
    }
    files
}

fn change(bytes: &mut Vec<u8>, others: &[u8], chance: &mut Chance) {
    let at = chance.index(bytes.len());
    let (start, end) = chance.range(bytes.len());
    match chance.below(12) {
        0 => {
            let bit = chance.below(8);
            bytes.get_mut(at).into_iter().for_each(|it| *it ^= 1 << bit);
        }
        1 => {
            let byte = chance.next().to_le_bytes()[0];
            bytes.get_mut(at).into_iter().for_each(|it| *it = byte);
        }
        2 | 3 => {
            let integer = chance.of(INTEGERS).copied().unwrap_or(0);
            put_integer(bytes, at, chance, |_| integer);
        }
        4 => {
            let difference = chance.below(33).wrapping_sub(16);
            put_integer(bytes, at, chance, |it| it.wrapping_add(difference));
        }
        5 => bytes.truncate(at),
        6 => {
            let repeated = bytes.get(start..end).unwrap_or_default().to_vec();
            let copies = 1 + chance.index(4);
            bytes.splice(at..at, repeated.repeat(copies));
        }
        7 => drop(bytes.drain(start..end.max(start).min(bytes.len()))),
        8 => {
            // Content of another input is put over that of this one, or before it.
            let (from, to) = chance.range(others.len());
            let inserted = others.get(from..to).unwrap_or_default().to_vec();
            let replaced = if chance.below(2) == 0 {
                at
            } else {
                end.max(at)
            };
            bytes.splice(at..replaced, inserted);
        }
        9 => {
            let from = chance.index(others.len());
            bytes.truncate(at);
            bytes.extend(others.get(from..).unwrap_or_default());
        }
        10 => put_number(bytes, at, chance),
        _ => {
            let moved = bytes.get(start..end).unwrap_or_default().to_vec();
            drop(bytes.drain(start..start + moved.len()));
            let at = at.min(bytes.len());
            bytes.splice(at..at, moved);
        }
    }
}

/// Replaces an integer of one to eight bytes, of any byte order.
fn put_integer(bytes: &mut [u8], at: usize, chance: &mut Chance, new: impl Fn(u64) -> u64) {
    let width = [1, 2, 4, 8][chance.index(4)];
    let is_big = chance.below(2) == 0;
    let Some(range) = bytes.get_mut(at..at + width) else {
        return;
    };
    let mut old = [0; 8];
    if is_big {
        range.reverse();
    }
    old[..width].copy_from_slice(range);
    range.copy_from_slice(&new(u64::from_le_bytes(old)).to_le_bytes()[..width]);
    if is_big {
        range.reverse();
    }
}

/// Replaces the next decimal number of a text.
fn put_number(bytes: &mut Vec<u8>, at: usize, chance: &mut Chance) {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(first) = rest.iter().position(u8::is_ascii_digit) else {
        return;
    };
    let digits = rest.iter().skip(first);
    let length = digits.take_while(|it| it.is_ascii_digit()).count();
    let new = chance.of(NUMBERS).copied().unwrap_or_default();
    let place = at + first..at + first + length;
    bytes.splice(place, new.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> InputFiles {
        let text = b"{\"ts\": 12, \"dur\": 3}".to_vec();
        vec![("a".to_owned(), text), ("b".to_owned(), vec![7; 40])]
    }

    #[test]
    fn equal_seeds_give_equal_mutants_and_other_seeds_others() {
        let donor = vec![("a".to_owned(), (0..=255).collect::<Vec<u8>>())];
        let mutant =
            |seed, iteration| mutated(&parent(), &donor, &mut Chance::new(seed, iteration, 1));
        let of_seed = |seed| (0..500).map(|it| mutant(seed, it)).collect::<Vec<_>>();
        assert_eq!(of_seed(1), of_seed(1));
        assert_ne!(of_seed(1), of_seed(2));
    }

    #[test]
    fn a_mutant_differs_from_its_parent_in_one_file_and_is_not_much_longer() {
        let empty = vec![("a".to_owned(), Vec::new())];
        for parent in [parent(), empty] {
            for iteration in 0..5_000 {
                let mutant = mutated(&parent, &parent, &mut Chance::new(5, iteration, 0));
                assert_ne!(mutant, parent);
                if mutant.len() < parent.len() {
                    continue;
                }
                let pairs = mutant.iter().zip(&parent);
                assert_eq!(pairs.filter(|(new, old)| new != old).count(), 1);
                assert!(mutant.iter().all(|it| it.1.len() <= 2 * 40 + EXTRA_BYTES));
            }
        }
    }
}
