//! Repeats in lists of children: a block that occurs several times in a row becomes one.

use super::params::Signature;

/// Maximum length of a block, in runs.
const MAX_BLOCK: usize = 16;

/// A child that occurs several times in a row, or the head of a block of the children after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Item<T> {
    /// The child; for a head the number of items in its block.
    pub(super) what: T,
    /// Number of times in a row, as the signature counts.
    pub(super) count: u64,
    /// True if it is a head.
    pub(super) is_block: bool,
}

impl<T> Item<T> {
    /// Returns a child that occurs `count` times in a row.
    pub(super) fn run(what: T, count: u64) -> Self {
        Self {
            what,
            count,
            is_block: false,
        }
    }
}

/// Finds repeated blocks from the left; if several begin at one item, the one that covers most, and of those the
/// shortest. Items outside all blocks stay.
pub(super) fn blocks(runs: &[Item<u32>], signature: Signature) -> Vec<Item<u32>> {
    let mut found = Vec::with_capacity(runs.len());
    let mut at = 0;
    while at < runs.len() {
        let rest = &runs[at..];
        let (mut len, mut repeats) = (1, 1);
        for longer in 2..=MAX_BLOCK.min(rest.len() / 2) {
            let block = &rest[..longer];
            let times = rest
                .chunks_exact(longer)
                .take_while(|next| *next == block)
                .count();
            if times > 1 && longer * times > len * repeats {
                (len, repeats) = (longer, times);
            }
        }
        if repeats > 1 {
            #[expect(clippy::cast_possible_truncation, reason = "MAX_BLOCK at most")]
            let what = len as u32;
            found.push(Item {
                what,
                count: signature.bucket(repeats as u64),
                is_block: true,
            });
        }
        found.extend_from_slice(&rest[..len]);
        at += len * repeats;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats letters as runs of one, and blocks as `(n×block)`.
    fn shown(letters: &str) -> String {
        let runs: Vec<Item<u32>> = letters.chars().map(|c| Item::run(c.into(), 1)).collect();
        let items = blocks(&runs, Signature::BucketedCounts);
        let mut text = String::new();
        let mut open = 0;
        for item in items {
            if item.is_block {
                text += &format!("({}×", item.count);
                open = item.what + 1;
            } else {
                text.push(char::from_u32(item.what).expect("it was a letter"));
            }
            if open > 0 {
                open -= 1;
                text += if open == 0 { ")" } else { "" };
            }
        }
        text
    }

    #[test]
    fn repeated_blocks_become_one_with_a_count_in_buckets() {
        assert_eq!(shown(""), "");
        assert_eq!(shown("abc"), "abc");
        assert_eq!(shown("xabcabcy"), "x(2×abc)y");
        assert_eq!(shown(&"psw".repeat(10)), shown(&"psw".repeat(14)));
        assert_eq!(shown(&"psw".repeat(10)), "(16×psw)");
        assert_ne!(shown(&"psw".repeat(7)), shown(&"psw".repeat(8)));
    }

    #[test]
    fn takes_the_block_that_covers_most() {
        assert_eq!(shown("ababcababcab"), "(2×ababc)ab");
        assert_eq!(shown("abababab"), "(4×ab)");
    }
}
