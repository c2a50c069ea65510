//! Words of the private language that this project once had, where an engineer of the field would use another.

use super::TextFile;

/// Words and phrases, in lower case, that a stranger stumbles over; `docs/architecture.md` names the words to use instead.
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

/// Returns the lines of a file's banned words, one for each occurrence: in comments, texts and names.
pub(super) fn banned_words(file: &TextFile) -> Vec<usize> {
    let mut words: Vec<(String, usize)> = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let of_line = line.split(|letter: char| !letter.is_alphabetic());
        let of_line = of_line.filter(|word| !word.is_empty());
        words.extend(of_line.map(|word| (word.to_lowercase(), index + 1)));
    }
    let is_at = |at: usize, phrase: &[&str]| {
        let found = words[at..].iter().map(|(word, _)| word.as_str());
        found.take(phrase.len()).eq(phrase.iter().copied())
    };
    let found = (0..words.len()).filter(|&at| BANNED.iter().any(|phrase| is_at(at, phrase)));
    found.map(|at| words[at].1).collect()
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
    fn phrases_go_across_lines_and_parts_of_words_are_none_of_them() {
        let across = format!("// as {}\n// {} as fit\n", "so", "many");
        assert_eq!(lines(&across), [1]);
        assert_eq!(
            lines("understood, a restaurant, ballroom, sometimes so"),
            [0; 0]
        );
    }
}
