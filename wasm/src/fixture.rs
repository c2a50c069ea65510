//! What the tests of this crate open.

use std::fmt::Write as _;

const NUM_TREES: u32 = 60;

/// A forest file of made-up trees, one of which is slow.
pub(crate) fn forest_file() -> Vec<u8> {
    let mut text =
        String::from("{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"us\"}\n");
    for number in 0..NUM_TREES {
        let slow = if number == 31 { 900 } else { 40 + number % 3 };
        writeln!(
            text,
            "{{\"entry\":{number},\"parent\":[-1,0,1],\"names\":[\"step\",\"solve\",\"send\"],\"w\":[{},{slow},5]}}",
            slow + 10
        )
        .unwrap();
    }
    text.into_bytes()
}
