//! The writers of the formats' own tests.

#![expect(
    clippy::unwrap_used,
    dead_code,
    reason = "they are parts of tests, which use them wholly"
)]

#[path = "../../chrome/tests/support/mod.rs"]
mod chrome;
#[path = "../../gpu_sqlite/tests/support/mod.rs"]
mod gpu_sqlite;
#[path = "../../otf2/tests/support/mod.rs"]
mod otf2;
#[path = "../../perfetto/tests/support/mod.rs"]
mod perfetto;
#[path = "../../xplane/tests/support/mod.rs"]
mod xplane;

pub(crate) use chrome::KinetoText;
pub(crate) use gpu_sqlite::{NSIGHT, NSIGHT_MPI, ROCPD_3, ROCPD_3_ROWS, RPD};
pub(crate) use otf2::ArchiveWriter;
pub(crate) use perfetto::{Message, small};
pub(crate) use xplane::small_planes;
