//! Words of a private language, where an engineer of the field would use others.

use super::TextFile;

/// Words and phrases, in lower case, that a new reader stumbles over.
const BANNED: &[&[&str]] = &[
    &["told"],
    &["tell"],
    &["tells"],
    &["telling"],
    &["untold"],
    &["teller"],
    &["stood"],
    &["stand"],
    &["stands"],
    &["room"],
    &["rooms"],
    &["wish"],
    &["wishes"],
    &["patience"],
    &["nobody"],
    &["somebody"],
    &["whoever"],
    &["carrier"],
    &["shelf"],
    &["desk"],
    &["notebook"],
    &["border"],
    &["borders"],
    &["beside"],
    &["so", "many"],
    &["so", "long"],
    &["in", "words"],
    &["is", "none"],
    &["are", "none"],
    &["let", "go"],
    &["stretch", "of"],
    &["stretches", "of"],
];

/// A word of a text.
struct Word {
    text: String,
    line: usize,
    /// True if only spaces and comment marks separate the word from the one before it: `is_none` is not a phrase.
    continues: bool,
}

/// Returns the lines of a file's banned words, one for each occurrence: in comments, texts and names.
pub(super) fn banned_words(file: &TextFile) -> Vec<usize> {
    let words = words(&file.text);
    let is_at = |at: usize, phrase: &[&str]| {
        let found = words[at..].iter().map(|word| word.text.as_str());
        let mut later = words[at + 1..].iter().take(phrase.len() - 1);
        found.take(phrase.len()).eq(phrase.iter().copied()) && later.all(|word| word.continues)
    };
    let found = (0..words.len()).filter(|&at| BANNED.iter().any(|phrase| is_at(at, phrase)));
    found.map(|at| words[at].line).collect()
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut continues = true;
    for (index, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some(start) = rest.find(char::is_alphabetic) {
            continues &= rest[..start]
                .chars()
                .all(|it| matches!(it, ' ' | '/' | '!'));
            let word = &rest[start..];
            let end = word.find(|it: char| !it.is_alphabetic());
            let (word, after) = word.split_at(end.unwrap_or(word.len()));
            words.push(Word {
                text: word.to_lowercase(),
                line: index + 1,
                continues,
            });
            (rest, continues) = (after, true);
        }
        continues &= rest.chars().all(|it| matches!(it, ' ' | '/' | '!'));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        banned_words(&TextFile::new("core/model/src/a.rs", text))
    }

    #[test]
    fn words_are_found_in_comments_texts_and_names() {
        let text =
            "//! The reason is told.\nfn tell_all() {}\nconst PATIENCE: u8 = 1;\n\"no room\"\n";
        assert_eq!(lines(text), [1, 2, 3, 4]);
    }

    #[test]
    fn phrases_continue_across_lines_and_parts_of_words_do_not_count() {
        let across = format!("// as {}\n// {} as fit\n", "so", "many");
        assert_eq!(lines(&across), [1]);
        assert_eq!(
            lines("understood, a restaurant, ballroom, sometimes so"),
            [0; 0]
        );
    }
}
