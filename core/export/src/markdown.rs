//! Markdown: tables and text in which no name can be read as markup.

use std::io::{Result, Write};

/// Writes a table in the syntax of GitHub.
///
/// # Errors
/// Those of the output.
pub fn write_markdown_table(
    out: &mut dyn Write,
    headings: &[&str],
    rows: &[Vec<String>],
) -> Result<()> {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let head = headings.iter().map(|heading| markdown_text(heading));
    writeln!(out, "{}", line(head.collect()))?;
    writeln!(
        out,
        "{}",
        line(headings.iter().map(|_| "---".to_owned()).collect())
    )?;
    for row in rows {
        let cells = row.iter().map(|cell| markdown_text(cell));
        writeln!(out, "{}", line(cells.collect()))?;
    }
    Ok(())
}

/// Returns a text in one line that is shown as it is. Code in backquotes without markup stays code.
pub fn markdown_text(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_balanced = parts.len() % 2 == 1;
    let mut shown = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        let is_code = is_balanced && at % 2 == 1;
        if at > 0 {
            shown.push_str(if is_balanced { "`" } else { "\\`" });
        }
        for c in part.chars() {
            match c {
                '\n' | '\r' => shown.push(' '),
                '|' => shown.push_str("\\|"),
                '\\' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '~' | '&' if !is_code => {
                    shown.push('\\');
                    shown.push(c);
                }
                c if c.is_control() => shown.push('\u{fffd}'),
                c => shown.push(c),
            }
        }
    }
    shown
}
