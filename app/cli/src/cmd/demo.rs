//! `callgrove demo`.

use anyhow::Result;

use crate::example::open_example;
use crate::follow::Reach;
use crate::window;

pub(crate) fn run() -> Result<()> {
    window::show(vec![open_example()?], Reach::default())
}
