//! Filters and sort keys as text, which parses back to the same value: the form in which they are sent to a server.

use std::fmt;

use super::filter::{Filter, Literal, Path, PathStep, SortKey, Test};
use super::parse::is_keyword;

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(parts) => join(f, parts, " and "),
            Self::Or(parts) => join(f, parts, " or "),
            // Never nested deeper than the parsed text, so that the result can be parsed again.
            Self::Not(part) => match part.as_ref() {
                Self::Test(path, test @ (Test::In(_) | Test::Like(_))) => {
                    write!(f, "{path} not {test}")
                }
                Self::Not(_) | Self::Test(..) => write!(f, "not {part}"),
                Self::And(_) | Self::Or(_) => write!(f, "not ({part})"),
            },
            Self::Test(path, test) => write!(f, "{path} {test}"),
        }
    }
}

/// Writes parts with a keyword between them, each in parentheses unless it is a single test.
fn join(f: &mut fmt::Formatter<'_>, parts: &[Filter], word: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        match part {
            Filter::And(_) | Filter::Or(_) => write!(f, "({part})")?,
            Filter::Not(_) | Filter::Test(..) => write!(f, "{part}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Field(name) => {
                    f.write_str(if index > 0 { "." } else { "" })?;
                    let quote = if is_plain(name) { "" } else { "\"" };
                    write!(f, "{quote}{name}{quote}")?;
                }
                PathStep::Index(element) => write!(f, "[{element}]")?,
                PathStep::Any => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// Returns whether a field's name needs no quotes.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|it| it.is_alphabetic() || it == '_')
        && chars.all(|it| it.is_alphanumeric() || it == '_')
        && !is_keyword(name)
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(op, literal) => write!(f, "{} {literal}", op.symbol()),
            Self::In(values) => {
                f.write_str("in (")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Like(pattern) => write!(f, "like '{}'", pattern.replace('\'', "''")),
            Self::IsNull => f.write_str("is null"),
            Self::IsNotNull => f.write_str("is not null"),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            // The exponent keeps it a float when it is parsed again.
            Self::Float(value) => write!(f, "{value:e}"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.path,
            if self.is_descending { "desc" } else { "asc" }
        )
    }
}
