//! `callgrove open`: a trace in a window.

use anyhow::Result;

use crate::args::OpenArgs;
use crate::window;

pub(crate) fn run(args: &OpenArgs) -> Result<()> {
    window::show(&args.trace, args.function.as_deref())
}
