//! Tests of the pictures of all views of a run.

use std::sync::Arc;

use callgrove_actions::PictureView;
use callgrove_app_tests::demo_run::demo_snapshot;
use callgrove_app_tests::stall_run::stalled_snapshot;
use callgrove_app_tests::{changed, run_of};
use callgrove_model::Progress;
use callgrove_session::{ComparedWith, Selection, Snapshot};

use super::of_snapshot::draw_snapshot;
use super::picture_request::ViewPicture;

/// Controls of the views, which a picture does not have.
const CONTROLS: [&str; 6] = ["Search", "Normal", "Copy", "End", "All", "Whole run"];

/// Returns a run with everything known about it.
fn known() -> Snapshot {
    let after = stalled_snapshot();
    let before = demo_snapshot();
    let [earlier, open] = [&before, &after].map(|it| it.trace().unwrap());
    let comparison = ComparedWith::new("earlier", [earlier, open], None, Progress::none()).unwrap();
    let first = after.detection().unwrap().order[0];
    let root = after.analysis().unwrap().forest.trees()[first.index()].root;
    changed(after, |it| {
        run_of(it).comparison = Some(Arc::new(comparison));
        it.selection = Selection::One(first);
        it.inspected.call = Some(root);
    })
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let nodes = document.descendants();
    let nodes = nodes.filter(|node| node.has_tag_name("text"));
    nodes
        .filter_map(|node| Some(node.text()?.to_owned()))
        .collect()
}

#[test]
fn each_view_of_a_run_has_a_title_and_content_and_no_controls() {
    let snapshot = known();
    for (view, title, content) in [
        (PictureView::Incidents, "Incidents", "rank 2"),
        (PictureView::Candidates, "Candidates", "#2-"),
        (PictureView::Waits, "Waits", "… for rank"),
        (PictureView::Changes, "changed", "BEFORE"),
        (PictureView::Details, "Details", "compute"),
    ] {
        let wanted = ViewPicture::new(view, [900.0, 600.0]);
        let svg = draw_snapshot(&snapshot, &wanted).unwrap().svg().unwrap();
        let texts = texts(&svg);
        for expected in [title, content] {
            let is_there = texts.iter().any(|text| text.contains(expected));
            assert!(is_there, "{view:?} lacks `{expected}`: {texts:?}");
        }
        let controls = texts.iter().find(|text| CONTROLS.contains(&text.as_str()));
        assert_eq!(controls, None, "{view:?}");
    }
}

#[test]
fn a_list_that_does_not_fit_ends_with_a_whole_row_and_says_so() {
    let snapshot = demo_snapshot();
    let drawn = |height: f32| {
        let wanted = ViewPicture::new(PictureView::Candidates, [700.0, height]);
        let svg = draw_snapshot(&snapshot, &wanted).unwrap().svg().unwrap();
        texts(&svg)
    };
    let says = |texts: &[String]| texts.iter().any(|text| text.contains("are drawn"));
    assert!(says(&drawn(400.0)));
    assert!(!says(&drawn(8_000.0)));
}
