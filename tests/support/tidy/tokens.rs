//! Rust source as a flat list of tokens with lines: comments are removed, a quoted text is one token.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Finding, TextFile};

/// A word, punctuation mark or literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    /// The line that it begins on, from 1.
    pub(super) line: usize,
}

/// Returns the tokens of a file, or a finding if it is not valid Rust.
pub(super) fn tokens(file: &TextFile) -> Result<Vec<Token>, Finding> {
    let stream: TokenStream = file.text.parse().map_err(|error: proc_macro2::LexError| {
        let line = error.span().start().line;
        Finding::new(&file.path, line, format!("this is not valid Rust: {error}"))
    })?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

/// Returns whether the tokens from `at` on equal `words`.
pub(super) fn reads(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    let found = tokens.iter().skip(at).map(|token| token.text.as_str());
    found.take(words.len()).eq(words.iter().copied())
}

/// Returns the text of the token at `at`; empty outside the file.
pub(super) fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| &token.text)
}

/// Returns whether a token is a name or keyword.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(tokens, open, line);
                flatten(group.stream(), tokens);
                push(tokens, close, group.span_close().start().line);
            }
            other => push(tokens, &other.to_string(), line),
        }
    }
}

fn push(tokens: &mut Vec<Token>, text: &str, line: usize) {
    tokens.push(Token {
        text: text.to_owned(),
        line,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_vanish_and_quoted_text_is_one_token() {
        let file = TextFile::new(
            "a.rs",
            "// unsafe\nfn f() { /* unsafe */ g(\"unsafe x\") }\n",
        );
        let tokens = tokens(&file).unwrap();
        let texts: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(
            texts,
            ["fn", "f", "(", ")", "{", "g", "(", "\"unsafe x\"", ")", "}"]
        );
        assert_eq!(tokens[0].line, 2);
        assert!(reads(&tokens, 5, &["g", "("]) && !reads(&tokens, 9, &["}", "}"]));
    }

    #[test]
    fn invalid_rust_is_a_finding() {
        let finding = tokens(&TextFile::new("a.rs", "fn f() {\n")).unwrap_err();
        assert_eq!(finding.path, "a.rs");
    }
}
