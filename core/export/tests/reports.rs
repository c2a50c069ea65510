//! Reports of checks: JUnit's XML and Markdown.

use std::io::{Error, Result};

use callgrove_export::{
    JunitCase, JunitOutcome, JunitSuite, markdown_text, write_junit, write_markdown_table,
};

fn case(name: &str, outcome: JunitOutcome) -> JunitCase {
    JunitCase {
        name: name.to_owned(),
        seconds: None,
        outcome,
    }
}

fn junit(cases: &[JunitCase]) -> Result<String> {
    let mut out = Vec::new();
    let suite = JunitSuite {
        name: "callgrove check".to_owned(),
        ..JunitSuite::default()
    };
    write_junit(&mut out, &suite, cases)?;
    String::from_utf8(out).map_err(Error::other)
}

#[test]
fn a_suite_counts_its_outcomes() -> Result<()> {
    let text = junit(&[
        case("incident", JunitOutcome::Passed),
        case(
            "slower",
            JunitOutcome::Failed {
                message: "`f` takes 2 times as long".to_owned(),
                details: "one\ntwo".to_owned(),
            },
        ),
        case("abnormal", JunitOutcome::Error("too few".to_owned())),
        case("other", JunitOutcome::Skipped("not asked for".to_owned())),
    ])?;
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    for part in [
        "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"",
        "<testcase classname=\"callgrove check\" name=\"incident\"/>",
        "<failure message=\"`f` takes 2 times as long\">one&#10;two</failure>",
        "<error message=\"too few\"/>",
        "<skipped message=\"not asked for\"/>",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    Ok(())
}

#[test]
fn names_cannot_break_the_document() -> Result<()> {
    let text = junit(&[case("a<b> & \"c\"\u{1}\n", JunitOutcome::Passed)])?;
    assert!(
        text.contains("name=\"a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}&#10;\""),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_markdown_table_shows_names_as_they_are() -> Result<()> {
    let mut out = Vec::new();
    let rows = [vec!["a|b".to_owned(), "`Vec<T>` *x*\nnext".to_owned()]];
    write_markdown_table(&mut out, &["check", "reason"], &rows)?;
    assert_eq!(
        String::from_utf8(out).map_err(Error::other)?,
        "| check | reason |\n| --- | --- |\n| a\\|b | `Vec<T>` \\*x\\* next |\n"
    );
    assert_eq!(markdown_text("one ` alone"), "one \\` alone");
    Ok(())
}
