//! Prints the accuracy of the decision on simulated programs, as Markdown.

use std::error::Error;
use std::io::Write;

use callgrove_benches::program_study::program_study;
use callgrove_benches::programs::PROGRAMS;

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for table in program_study(&PROGRAMS)? {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(())
}
