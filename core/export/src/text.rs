//! Text for terminals.

use std::borrow::Cow;
use std::io::{Result, Write};

/// A table with aligned columns: numbers right-aligned, text left-aligned.
pub struct TextTable {
    columns: Vec<TableColumn>,
    /// The text of all cells, row by row.
    text: String,
    /// End of each cell in `text`.
    ends: Vec<usize>,
}

struct TableColumn {
    name: String,
    /// Width of the widest cell.
    num_chars: usize,
    /// True if all cells are numbers.
    is_numeric: bool,
}

impl TextTable {
    /// Returns a table without rows.
    pub fn new(header: &[&str]) -> Self {
        let column = |name: &&str| TableColumn {
            name: printable(name).into_owned(),
            num_chars: printable(name).chars().count(),
            is_numeric: true,
        };
        Self {
            columns: header.iter().map(column).collect(),
            text: String::new(),
            ends: Vec::new(),
        }
    }

    /// Appends a row with one cell per column.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        for (cell, column) in row.into_iter().zip(&mut self.columns) {
            let cell = printable(&cell);
            column.num_chars = column.num_chars.max(cell.chars().count());
            column.is_numeric &= cell.is_empty() || is_number(&cell);
            self.text.push_str(&cell);
            self.ends.push(self.text.len());
        }
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Prints the table, each line after `indent` spaces.
    ///
    /// # Errors
    /// Those of the output.
    pub fn print(&self, out: &mut dyn Write, indent: usize) -> Result<()> {
        let mut header = String::new();
        for (at, column) in self.columns.iter().enumerate() {
            self.set(&mut header, at, &column.name);
        }
        let margin = " ".repeat(indent);
        writeln!(out, "{margin}{}", header.trim_end())?;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut cells = starts
            .zip(&self.ends)
            .map(|(start, end)| &self.text[start..*end]);
        let mut line = String::new();
        for _ in 0..self.ends.len() / self.columns.len().max(1) {
            line.clear();
            for (at, cell) in (0..self.columns.len()).zip(&mut cells) {
                self.set(&mut line, at, cell);
            }
            writeln!(out, "{margin}{line}")?;
        }
        Ok(())
    }

    /// Appends a cell to a line.
    fn set(&self, line: &mut String, at: usize, cell: &str) {
        let column = &self.columns[at];
        let padding = column.num_chars - cell.chars().count();
        let is_last = at + 1 == self.columns.len();
        if column.is_numeric {
            line.extend(std::iter::repeat_n(' ', padding));
        }
        line.push_str(cell);
        if !column.is_numeric && !is_last {
            line.extend(std::iter::repeat_n(' ', padding));
        }
        if !is_last {
            line.push_str("  ");
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
}

/// Returns a number for reading: three decimals, or two digits and a power of ten if it is too small for these.
pub fn rounded(number: f64) -> String {
    /// Smallest size that three decimals do not round to zero.
    const SMALLEST: f64 = 0.000_5;
    let size = number.abs();
    if size < SMALLEST && size > 0.0 {
        format!("{number:.1e}")
    } else {
        // Minus zero is zero.
        format!("{:.3}", if size == 0.0 { 0.0 } else { number })
    }
}

/// Returns a text that is safe for a terminal: control characters and direction overrides are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| {
        !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let spell = |c: char| match c {
        c if is_plain(c) => c.to_string(),
        c => c.escape_default().to_string(),
    };
    Cow::Owned(text.chars().map(spell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_columns_are_right_aligned() {
        let mut table = TextTable::new(&["name", "calls"]);
        table.push(vec!["a".into(), "1,024".into()]);
        table.push(vec!["long".into(), "7".into()]);
        let mut text = Vec::new();
        table.print(&mut text, 1).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            " name  calls\n a     1,024\n long      7\n"
        );
    }

    #[test]
    fn numbers_for_reading_keep_their_size() {
        assert_eq!(rounded(-0.500_342_9), "-0.500");
        assert_eq!(rounded(0.000_5), "0.001");
        assert_eq!(rounded(-0.000_012_34), "-1.2e-5");
        assert_eq!(rounded(-0.0), "0.000");
        assert_eq!(rounded(12_345.678_9), "12345.679");
        assert_eq!(rounded(f64::NAN), "NaN");
        assert_eq!(rounded(f64::INFINITY), "inf");
    }

    #[test]
    fn control_characters_in_cells_are_escaped() {
        let mut table = TextTable::new(&["name", "next"]);
        table.push(vec!["a\r\n\u{1b}[31mred\u{202e}é".into(), "x".into()]);
        let mut text = Vec::new();
        table.print(&mut text, 0).unwrap();
        let cell = "a\\r\\n\\u{1b}[31mred\\u{202e}é";
        let expected = format!("{:27}  next\n{cell}  x\n", "name");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
