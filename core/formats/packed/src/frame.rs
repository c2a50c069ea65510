//! Frames: a kind and content with a checksum, which detects damage in a file and on the wire.
//!
//! ```text
//! kind (1) · checksum (8, little endian) · content
//! ```

use callgrove_model::fnv1a;

/// Length of the head of a frame, in bytes.
const HEAD_BYTES: usize = 9;

/// The checksum of a frame is wrong, or it has no complete head.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a checksum is wrong")]
pub struct FrameDamaged;

/// Returns an empty head, to which the content is appended before [`seal`]; with capacity for `num_bytes` of it.
pub fn begin(num_bytes: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_BYTES + num_bytes);
    frame.resize(HEAD_BYTES, 0);
    frame
}

/// Completes a frame that [`begin`] began.
pub fn seal(kind: u8, mut frame: Vec<u8>) -> Vec<u8> {
    if let Some((head, content)) = frame.split_first_chunk_mut::<HEAD_BYTES>() {
        head[0] = kind;
        head[1..].copy_from_slice(&sum(kind, content).to_le_bytes());
    }
    frame
}

/// Returns a frame with this content.
pub fn of(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = begin(content.len());
    frame.extend_from_slice(content);
    seal(kind, frame)
}

/// Returns kind and content of a frame.
///
/// # Errors
/// [`FrameDamaged`].
pub fn open(frame: &[u8]) -> Result<(u8, &[u8]), FrameDamaged> {
    let (head, content) = frame
        .split_first_chunk::<HEAD_BYTES>()
        .ok_or(FrameDamaged)?;
    let [kind, stored @ ..] = *head;
    if sum(kind, content) != u64::from_le_bytes(stored) {
        return Err(FrameDamaged);
    }
    Ok((kind, content))
}

fn sum(kind: u8, content: &[u8]) -> u64 {
    fnv1a(content) ^ u64::from(kind)
}
