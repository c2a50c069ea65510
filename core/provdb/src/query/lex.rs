//! The tokens of the query language.

use super::filter::FilterError;

/// A token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QueryToken<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) at_byte: usize,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'t> {
    /// A name or keyword.
    Word(&'t str),
    /// A name in double quotes, which is never a keyword.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// A number.
    Number(&'t str),
    /// An operator or parenthesis.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Symbols, longer ones first.
const SYMBOLS: [&str; 17] = [
    "[*]", "<=", ">=", "!=", "<>", "==", "=", "<", ">", "(", ")", "[", "]", ".", ",", "*", "-",
];

/// Splits a text into tokens; the last one is [`TokenKind::End`].
pub(super) fn lex(text: &str) -> Result<Vec<QueryToken<'_>>, FilterError> {
    let mut tokens = Vec::new();
    let mut at_byte = 0;
    loop {
        let rest = &text[at_byte..];
        let trimmed = rest.trim_start();
        at_byte += rest.len() - trimmed.len();
        let (kind, length) = next(trimmed).map_err(|(cause, offset)| FilterError {
            cause: cause.to_owned(),
            text: text.to_owned(),
            at_byte: at_byte + offset,
        })?;
        let is_end = kind == TokenKind::End;
        tokens.push(QueryToken { kind, at_byte });
        if is_end {
            return Ok(tokens);
        }
        at_byte += length;
    }
}

/// Returns the token at the start of a text and its length in bytes, or the error and its position.
fn next(text: &str) -> Result<(TokenKind<'_>, usize), (&'static str, usize)> {
    let Some(first) = text.chars().next() else {
        return Ok((TokenKind::End, 0));
    };
    if first == '\'' || first == '"' {
        let (content, length) = quoted(text, first)?;
        if first == '\'' {
            return Ok((TokenKind::Text(content), length));
        }
        let is_odd = |it: char| it == '\\' || it == '"' || it.is_control();
        if content.is_empty() || content.contains(is_odd) {
            return Err((
                "a field's name is not empty and has no \", \\ or control characters",
                0,
            ));
        }
        return Ok((TokenKind::Quoted(content), length));
    }
    if first.is_ascii_digit() {
        let length = number_length(text);
        return Ok((TokenKind::Number(&text[..length]), length));
    }
    if first.is_alphabetic() || first == '_' {
        let is_word = |it: char| it.is_alphanumeric() || it == '_';
        let length = text.find(|it| !is_word(it)).unwrap_or(text.len());
        return Ok((TokenKind::Word(&text[..length]), length));
    }
    SYMBOLS
        .into_iter()
        .find(|symbol| text.starts_with(symbol))
        .map(|symbol| (TokenKind::Symbol(symbol), symbol.len()))
        .ok_or((
            "this character has no meaning here; texts are written in 'single quotes'",
            0,
        ))
}

/// Returns the content of a quoted text, in which a doubled quote means one, and its length with quotes.
fn quoted(text: &str, quote: char) -> Result<(String, usize), (&'static str, usize)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, it)) = chars.next() {
        if it != quote {
            content.push(it);
        } else if chars.next_if(|&(_, next)| next == quote).is_some() {
            content.push(quote);
        } else {
            return Ok((content, at + 1));
        }
    }
    Err(("this quote is never closed", 0))
}

/// Returns the length of digits, fraction and exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let count = bytes[from..]
            .iter()
            .take_while(|it| it.is_ascii_digit())
            .count();
        from + count
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}
