//! Tests of the Changes view, driven by label without a display.

use callgrove_session::ChangeRow;
use callgrove_widgets::table::Cell;

use super::cells::{cells, sentence};

fn row() -> ChangeRow {
    ChangeRow {
        kind: "path",
        aspect: "duration",
        function: "compute".to_owned(),
        path: ["main", "step", "compute"].map(str::to_owned).into(),
        before: 100.0,
        after: 180.0,
        ratio: Some(1.8),
        ratio_low: Some(1.6),
        ratio_high: Some(2.0),
        cost_us: 2_400_000,
        p_value: 1e-6,
        corrected_p: 1e-4,
        sure: true,
        words: "`compute` under `step` takes 1.8 times as long".to_owned(),
    }
}

fn texts(row: &ChangeRow) -> Vec<String> {
    let texts = cells(row).into_iter().map(|cell| match cell {
        Cell::Text(text) => text,
        _ => String::new(),
    });
    texts.collect()
}

#[test]
fn a_change_has_cost_sign_ratio_with_interval_and_certainty() {
    let expected = [
        "+2.4 s",
        "▲ longer",
        "path",
        "compute under step",
        "1.80 (1.60–2.00)",
        "1.0e-4",
    ];
    assert_eq!(texts(&row()), expected);
    let possible = ChangeRow {
        sure: false,
        ..row()
    };
    assert_eq!(texts(&possible)[5], "? 1.0e-4");
    assert_eq!(
        sentence(&row()),
        "`compute` under `step` takes 1.8 times as long."
    );
}

#[test]
fn the_direction_is_a_sign_and_a_word_and_not_only_a_colour() {
    for (aspect, [before, after], expected) in [
        ("duration", [2.0, 1.0], "▼ shorter"),
        ("waiting", [1.0, 2.0], "▲ waits more"),
        ("frequency", [2.0, 1.0], "▼ less often"),
        ("new", [0.0, 1.0], "+ new"),
        ("vanished", [1.0, 0.0], "− vanished"),
    ] {
        let row = ChangeRow {
            aspect,
            before,
            after,
            ..row()
        };
        assert_eq!(texts(&row)[1], expected);
    }
}
