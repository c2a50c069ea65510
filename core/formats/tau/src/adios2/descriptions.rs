//! Verifies the checksums in BP5's `mmd.0`. The description of the metadata's layout is an FFS format, and its id
//! contains a checksum of it.
//!
//! ```text
//! id   2, the version · 0 · length of the description in words of 32 bits (16 bits) · checksum (64 bits)
//! ```
//!
//! Both numbers are big-endian. The checksum is lookup3 (`hashlittle2`) of Bob Jenkins (2006,
//! burtleburtle.net/bob/c/lookup3.c) with seeds of 0. The use of this checksum by FFS was inferred from files, and
//! confirmed by the 67 descriptions of all available traces.

/// Returns whether a description matches its id. An id of another version matches any description.
pub(super) fn fits(id: &[u8], description: &[u8]) -> bool {
    let [2, 0, high, low, checksum @ ..] = id else {
        return true;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low])) * 4;
    let described = description.get(..length).map(lookup3);
    described.is_some_and(|sums| checksum == sums.map(u32::to_be_bytes).as_flattened())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a description has 2¹⁶ words at most"
)]
fn lookup3(bytes: &[u8]) -> [u32; 2] {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let mut state = [start; 3];
    let mut blocks = bytes.chunks(12).peekable();
    while let Some(block) = blocks.next() {
        state = std::array::from_fn(|word| state[word].wrapping_add(word_at(block, word)));
        if blocks.peek().is_some() {
            // Each of the three numbers is the first one in turn.
            state = [4, 6, 8, 16, 19, 4].iter().fold(state, |[a, b, c], turn| {
                let mixed = a.wrapping_sub(c) ^ c.rotate_left(*turn);
                [b, c.wrapping_add(b), mixed]
            });
        } else {
            let [a, b, c] = state;
            let turns = [14, 11, 25, 16, 4, 14, 24];
            let [_, c, b] = turns.iter().fold([c, b, a], |[x, y, z], turn| {
                [z, (x ^ y).wrapping_sub(y.rotate_left(*turn)), y]
            });
            return [c, b];
        }
    }
    [start; 2]
}

/// Returns the little-endian number at an index of a block. Missing bytes at its end are 0.
fn word_at(block: &[u8], word: usize) -> u32 {
    let bytes = std::array::from_fn(|byte| block.get(word * 4 + byte).copied().unwrap_or(0));
    u32::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_lookup3() {
        assert_eq!(lookup3(b""), [0xdead_beef; 2]);
        let text = b"Four score and seven years ago";
        assert_eq!(lookup3(text), [0x1777_0551, 0xce72_26e6]);
    }
}
