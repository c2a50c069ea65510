//! The tables of commands: their format, and where they are written.
//!
//! ```text
//!  TableArgs ── TableDestination::of ──▶ TableDestination ── write ──▶ TableOut ── rows ──▶ a sink of callgrove-export
//!               refuses early                  standard output, or a new file that replaces FILE
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use callgrove_args::TableArgs;
use callgrove_export::{ResultTable, RowSink, SinkFormat};
use callgrove_headless::{Readers, replace_file_with};

/// Where a table is written, in which format.
pub(crate) struct TableDestination {
    format: SinkFormat,
    /// `None` for standard output.
    file: Option<FileKind>,
}

impl TableDestination {
    /// Checks format and file of a table. A command calls this before its work, so that a mistake shows at once.
    ///
    /// # Errors
    /// If the file cannot be created, or is not for the format.
    pub(crate) fn of(args: &TableArgs) -> Result<Self> {
        let format = args.format();
        let file = args.out.as_deref().map(FileKind::of).transpose()?;
        if format == SinkFormat::Parquet {
            let remedy = "name a file, as in --out table.parquet";
            match &file {
                None => bail!("Parquet is not written to standard output: {remedy}"),
                Some(FileKind::Special(path)) if is_terminal(path) => {
                    bail!(
                        "{} is a terminal, which cannot show Parquet: {remedy}",
                        path.display()
                    )
                }
                Some(_) => {}
            }
        }
        Ok(Self { format, file })
    }
}

enum FileKind {
    /// A file that is replaced when the new one is complete.
    Regular(PathBuf),
    /// A device or pipe, such as `/dev/null`, that is written to.
    Special(PathBuf),
}

impl FileKind {
    fn of(path: &Path) -> Result<Self> {
        let Ok(metadata) = path.metadata() else {
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            ensure!(
                folder.is_dir(),
                "cannot write {}: the folder {} does not exist",
                path.display(),
                folder.display()
            );
            return Ok(Self::Regular(path.to_owned()));
        };
        ensure!(
            !metadata.is_dir(),
            "cannot write {}: it is a folder; name a file in it",
            path.display()
        );
        Ok(if metadata.is_file() {
            // The file behind a symbolic link is replaced, not the link.
            Self::Regular(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
        } else {
            Self::Special(path.to_owned())
        })
    }
}

/// Returns whether a device is a terminal.
fn is_terminal(path: &Path) -> bool {
    fs::File::open(path).is_ok_and(|file| file.is_terminal())
}

impl TableDestination {
    /// Returns whether the output is text for reading.
    pub(crate) fn is_text(&self) -> bool {
        self.format == SinkFormat::Text
    }

    /// Returns the format.
    pub(crate) fn format(&self) -> SinkFormat {
        self.format
    }

    /// Writes the output of `write`. A file is replaced only if `write` succeeds.
    ///
    /// # Errors
    /// Those of `write` and of the file.
    pub(crate) fn write(&self, write: impl FnOnce(&mut TableOut<'_>) -> Result<()>) -> Result<()> {
        let format = self.format;
        match &self.file {
            None => write_to(io::stdout(), format, write),
            Some(FileKind::Special(path)) => {
                let opened = OpenOptions::new().write(true).open(path);
                let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
                write_to(file, format, write)
            }
            Some(FileKind::Regular(path)) => {
                replace_file_with(path, Readers::ByMask, |file| write_to(file, format, write))
                    .with_context(|| format!("{} is not written", path.display()))
            }
        }
    }

    /// Writes the rows of a table, and nothing else.
    ///
    /// # Errors
    /// Those of the file, and of rows that the format cannot hold.
    pub(crate) fn write_rows<T: ResultTable>(
        &self,
        table: &T,
        rows: impl IntoIterator<Item = T::Row>,
    ) -> Result<()> {
        self.write(|out| out.rows(table, rows))
    }
}

fn write_to(
    file: impl Write + Send,
    format: SinkFormat,
    write: impl FnOnce(&mut TableOut<'_>) -> Result<()>,
) -> Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut TableOut {
        format,
        out: &mut out,
    })?;
    Ok(out.flush()?)
}

/// The open output of a command. Text around its table is written to it directly.
pub(crate) struct TableOut<'a> {
    format: SinkFormat,
    out: &'a mut (dyn Write + Send),
}

impl TableOut<'_> {
    /// Writes the rows of a table.
    ///
    /// # Errors
    /// Those of the file, and of rows that the format cannot hold.
    pub(crate) fn rows<T: ResultTable>(
        &mut self,
        table: &T,
        rows: impl IntoIterator<Item = T::Row>,
    ) -> Result<()> {
        self.rows_of(table, |sink| {
            Ok(rows.into_iter().try_for_each(|row| sink.write(&row))?)
        })
    }

    /// Writes the rows that `write` passes to the sink.
    ///
    /// # Errors
    /// Those of `write`, of the file, and of rows that the format cannot hold.
    pub(crate) fn rows_of<T: ResultTable>(
        &mut self,
        table: &T,
        write: impl FnOnce(&mut dyn RowSink<T>) -> Result<()>,
    ) -> Result<()> {
        let mut sink = self.format.sink(table, &mut *self.out)?;
        write(&mut *sink)?;
        Ok(sink.finish()?)
    }
}

impl Write for TableOut<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
