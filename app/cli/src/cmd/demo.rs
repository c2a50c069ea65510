//! `callgrove demo`: opens the example trace in a window.

use anyhow::Result;
use callgrove_pipeline::ServerAccess;

use crate::example::open_example;
use crate::window;

pub(crate) fn run() -> Result<()> {
    window::show(vec![open_example()?.into()], ServerAccess::default())
}
