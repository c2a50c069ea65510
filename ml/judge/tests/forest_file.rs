//! Forests as JSON lines: valid files, errors, and no panics on damage.

use callgrove_forest::{ForestFile, ForestFileError, ForestFileLimits, read_forest};
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, ModelArtifact, TreeModel, Yardstick, order_by_score,
};
use callgrove_ml_tests::{fixture_path, forest, read_text};
use callgrove_model::{Label, TimeNs, TreeIdx};
use callgrove_trees::Progress;
use callgrove_trees::wl::{WlParams, relabel};
use proptest::prelude::*;

const HEADER: &str =
    r#"{"format":"callgrove-forest","version":1,"unit":"ns","functions":["a","b","c"]}"#;

fn read(text: &[u8]) -> Result<ForestFile, ForestFileError> {
    let limits = ForestFileLimits {
        line_bytes: 1 << 20,
        names: 100,
    };
    read_forest(text, text.len() as u64, limits, Progress::none())
}

fn read_lines(lines: &[&str]) -> Result<ForestFile, ForestFileError> {
    read(lines.join("\n").as_bytes())
}

/// Returns name, inclusive and exclusive weight of each vertex of a tree, indented by depth.
fn shown(file: &ForestFile, tree: u32) -> Vec<String> {
    let view = file.forest.tree(TreeIdx(tree));
    (0..view.len())
        .map(|vertex| {
            format!(
                "{}{} {} {}",
                " ".repeat(view.depth(vertex)),
                file.forest.trace().names.name(view.funcs()[vertex]),
                view.inclusive()[vertex].0,
                view.exclusive()[vertex].0
            )
        })
        .collect()
}

#[test]
fn trees_are_read_with_names_weights_ranks_and_labels() {
    let file = read_lines(&[
        HEADER,
        r#"{"id":7,"rank":2,"entry":5,"label":-1,"parent":[-1,0,1,0],"fn":[0,1,2,1],"w":[9,5,5,3]}"#,
        "",
        r#"{"node":0,"label":"normal","parent":[-1],"names":["new"],"w":[0],"more":{"x":[1]}}"#,
        r#"{"rank":2,"parent":[-1,0],"fn":[2,2],"w":[1,4]}"#,
    ])
    .unwrap();
    let forest = &file.forest;
    let codes: Vec<String> = forest.trees().iter().map(|t| t.code.to_string()).collect();
    assert_eq!(codes, ["#0-0", "#2-0", "#2-1"]);
    assert_eq!(
        file.labels,
        [Some(Label::Normal), Some(Label::Abnormal), None]
    );
    assert_eq!(shown(&file, 0), ["new 0 0"]);
    assert_eq!(shown(&file, 1), ["a 9 1", " b 5 0", "  c 5 5", " b 3 3"]);
    // Children may weigh more than their parent.
    assert_eq!(shown(&file, 2), ["c 1 0", " c 4 4"]);
    let labels: Vec<String> = forest
        .trees()
        .iter()
        .map(|tree| forest.trace().label(tree.root).to_string())
        .collect();
    assert_eq!(labels, ["0:0:8", "2:0:7", "2:0:9"]);
    // A tree without an entry has that of the previous tree on its rank.
    assert_eq!(forest.tree(TreeIdx(2)).entry()[0], TimeNs(5));
}

#[test]
fn own_weights_are_summed_up_and_units_become_nanoseconds() {
    let header = r#"{"format":"callgrove-forest","version":1,"unit":"ms","weights":"own"}"#;
    let tree = r#"{"parent":[-1,0,1],"names":["a","b","a"],"w":[1,2,3]}"#;
    let file = read_lines(&[header, tree]).unwrap();
    assert_eq!(
        shown(&file, 0),
        [
            "a 6000000 1000000",
            " b 5000000 2000000",
            "  a 3000000 3000000"
        ]
    );
    let header = header.replace("\"ms\"", "\"readers\"");
    let file = read_lines(&[&header, tree]).unwrap();
    assert_eq!(file.forest.tree(TreeIdx(0)).duration().0, 6_000);
}

#[test]
fn vertices_in_any_order_with_parents_first_are_put_in_pre_order() {
    let file = read_lines(&[
        HEADER,
        r#"{"parent":[-1,0,0,1,2,1],"fn":[0,1,2,0,1,2],"w":[32,16,8,4,2,1]}"#,
    ])
    .unwrap();
    assert_eq!(
        shown(&file, 0),
        [
            "a 32 8", " b 16 11", "  a 4 4", "  c 1 1", " c 8 6", "  b 2 2"
        ]
    );
}

#[test]
fn reads_the_fixture_like_the_reader_of_the_tests() {
    let text = read_text(fixture_path("forest_small_200.jsonl"));
    let file = read(text.as_bytes()).unwrap();
    let (names, trees) = callgrove_ml_tests::read_forest(fixture_path("forest_small_200.jsonl"));
    let theirs = forest(&names, &trees);
    let params = WlParams::paper().check().unwrap();
    let [ours, theirs] =
        [&file.forest, &theirs].map(|forest| relabel(forest, params, Progress::none()).unwrap());
    assert_eq!(ours, theirs);
    let num_abnormal = file
        .labels
        .iter()
        .filter(|&&it| it == Some(Label::Abnormal));
    let expected = trees
        .iter()
        .filter(|tree| !["normal", "init", "thermo", "neigh"].contains(&tree.kind.as_str()));
    assert_eq!(num_abnormal.count(), expected.count());
}

#[test]
fn every_error_names_its_line_and_a_remedy() {
    let cases = [
        (
            r#"{"parent":[-1,0],"fn":[0],"w":[1]}"#,
            "2 parents, 1 names and 1 weights",
        ),
        (r#"{"parent":[],"fn":[],"w":[]}"#, "leave the line out"),
        (r#"{"parent":[-1],"w":[1]}"#, "either `fn` or `names`"),
        (
            r#"{"parent":[-1],"fn":[0],"names":["a"],"w":[1]}"#,
            "either `fn` or `names`",
        ),
        (
            r#"{"parent":[0],"fn":[0],"w":[1]}"#,
            "the first vertex is the root",
        ),
        (
            r#"{"parent":[-1,1],"fn":[0,0],"w":[1,1]}"#,
            "before its child (0 to 0)",
        ),
        (
            r#"{"parent":[-1,-1],"fn":[0,0],"w":[1,1]}"#,
            "only vertex 0 has none",
        ),
        (
            r#"{"parent":[-1],"fn":[3],"w":[1]}"#,
            "vertex 0 has fn 3, but `functions` of the header has 3",
        ),
        (
            r#"{"parent":[-1],"fn":[0],"w":[-1]}"#,
            "vertex 0 has weight -1",
        ),
        (
            r#"{"parent":[-1],"fn":[0],"w":[9223372036854775807]}"#,
            "scale all of them",
        ),
        (r#"{"parent":[-1],"fn":[0],"w":[1.5]}"#, "expected i64"),
        (
            r#"{"parent":[-1],"fn":[0],"w":[1],"label":"odd"}"#,
            "label is \"odd\"",
        ),
        (
            r#"{"id":0,"parent":[-1],"fn":[0],"w":[1]}"#,
            "id 0 is not unique",
        ),
        (
            r#"{"entry":9,"parent":[-1],"fn":[0],"w":[1]}"#,
            "sort the lines of a rank by entry",
        ),
        (
            r#"{"entry":9223372036854775807,"parent":[-1],"fn":[0],"w":[1]}"#,
            "later start",
        ),
        (r#"{"parent":[-1],"fn":[0]}"#, "missing field `w`"),
        ("[1,2]", "a tree is an object"),
        ("{\"parent\":[-1", "a tree is an object"),
    ];
    let first = r#"{"id":0,"entry":10,"parent":[-1],"fn":[0],"w":[1]}"#;
    for (line, expected) in cases {
        let error = read_lines(&[HEADER, first, "", line])
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("line 4"), "{line}: {error}");
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn other_files_are_refused_at_once() {
    let tree = r#"{"parent":[-1],"fn":[0],"w":[1]}"#;
    let header = |format: &str, version: u32| {
        format!("{{\"format\":\"{format}\",\"version\":{version},\"functions\":[\"a\"]}}")
    };
    let error_of = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(error_of("").contains("the file is empty"));
    assert!(error_of("rank,index\n1,2\n").starts_with("line 1 is not a header"));
    assert!(error_of(tree).contains("missing field `format`"));
    assert!(error_of(&header("trace", 1)).contains("its format is \"trace\""));
    assert!(error_of(&header("callgrove-forest", 2)).contains("use a newer Callgrove"));
    assert!(error_of(HEADER).contains("the file has no trees"));
    assert!(read_lines(&[&header("cstree-forest", 1), tree]).is_ok());
}

#[test]
fn lines_and_names_are_bounded() {
    let limits = ForestFileLimits {
        line_bytes: 100,
        names: 4,
    };
    let error_of = |lines: &[&str]| {
        let text = lines.join("\n");
        let file = read_forest(text.as_bytes(), 0, limits, Progress::none());
        file.unwrap_err().to_string()
    };
    let long = format!("{{\"parent\":[-1{}]}}", ",0".repeat(50));
    assert_eq!(
        error_of(&[HEADER, &long]),
        "line 2 is longer than 100 bytes; each tree has a line of its own"
    );
    let names = r#"{"parent":[-1,0],"names":["x","y"],"w":[1,1]}"#;
    assert!(error_of(&[HEADER, names]).contains("more than 4 different names"));
}

#[test]
fn reads_a_tree_of_a_hundred_thousand_levels() {
    let len = 100_000;
    let list = |entry: &dyn Fn(i64) -> i64| {
        let list: Vec<String> = (0..len).map(|vertex| entry(vertex).to_string()).collect();
        list.join(",")
    };
    let deep = format!(
        "{{\"parent\":[{}],\"fn\":[{}],\"w\":[{}]}}",
        list(&|vertex| vertex - 1),
        list(&|vertex| vertex % 3),
        list(&|vertex| len - vertex)
    );
    let text = [HEADER, &deep].join("\n");
    let file = read_forest(
        text.as_bytes(),
        0,
        ForestFileLimits::default(),
        Progress::none(),
    )
    .unwrap();
    let subtrees =
        |params: WlParams| relabel(&file.forest, params.check().unwrap(), Progress::none());
    let capped = subtrees(WlParams::default()).unwrap();
    // Each of the three functions with 0 to 64 levels below it.
    assert_eq!(capped.vocabulary.len(), 3 * 65);
    let all = subtrees(WlParams::paper()).unwrap_err().to_string();
    assert!(all.contains("lower `max_degree`"), "{all}");
}

/// Returns the planted trees of a fixture, and all trees in order of score.
fn planted_and_order(name: &str) -> (Vec<TreeIdx>, Vec<TreeIdx>, ForestFile) {
    let file = read(read_text(fixture_path(name)).as_bytes()).expect("it is a forest");
    let params = DetectorParams::default()
        .check()
        .expect("defaults are valid");
    let embedding =
        Embedding::fit(&file.forest, &params, 1, Progress::none()).expect("there are trees");
    let unlabelled = vec![None; file.forest.len()];
    let detector =
        Detector::train(&embedding, &unlabelled, None, Progress::none()).expect("there are trees");
    let model = ModelArtifact::new(&file.forest, &embedding, &detector, Progress::none())
        .expect("no cancellation");
    let scores = TreeModel::new(model)
        .expect("it is valid")
        .judge(&file.forest, Yardstick::Run, Progress::none())
        .expect("there are trees")
        .scores;
    let order = order_by_score(&scores);
    let planted = (0..file.forest.len())
        .filter(|&tree| file.labels[tree] == Some(Label::Abnormal))
        .map(TreeIdx::from_index);
    (planted.collect(), order, file)
}

#[test]
fn odd_papers_come_first_among_citations() {
    let (planted, order, _) = planted_and_order("trees_citations.jsonl");
    assert_eq!(planted.len(), 3);
    assert!(
        order[..3].iter().all(|tree| planted.contains(tree)),
        "{:?}",
        &order[..8]
    );
}

#[test]
fn odd_threads_come_first_among_replies() {
    let (planted, order, file) = planted_and_order("trees_replies.jsonl");
    assert_eq!(planted.len(), 3);
    assert!(
        order[..3].iter().all(|tree| planted.contains(tree)),
        "{:?}",
        &order[..8]
    );
    assert_eq!(file.forest.code(TreeIdx(133)).to_string(), "#1-53");
}

/// Damage to a text: position, kind, and byte.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0_u8..5, any::<u8>()), 1..8)
}

proptest! {
    #[test]
    fn damaged_files_give_an_error_with_a_line_or_a_forest(damage in damage()) {
        let mut text = [
            HEADER,
            r#"{"id":1,"rank":0,"entry":10,"parent":[-1,0,1,0],"fn":[0,1,2,1],"w":[90,50,50,30]}"#,
            r#"{"id":2,"label":-1,"parent":[-1,0],"names":["a","new"],"w":[70,25]}"#,
            r#"{"id":3,"rank":1,"label":"normal","parent":[-1],"fn":[2],"w":[0]}"#,
        ]
        .join("\n")
        .into_bytes();
        for (place, how, byte) in damage {
            if text.is_empty() {
                break;
            }
            let at = place.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => drop(text.remove(at)),
                3 => text[at] = b"-0129,[]{}\":\n"[usize::from(byte) % 13],
                _ => {
                    let end = (at + usize::from(byte)).min(text.len());
                    let piece = text[at..end].to_vec();
                    text.splice(at..at, piece);
                }
            }
        }
        match read(&text) {
            Ok(file) => {
                let params = WlParams::default().check().unwrap();
                let subtrees = relabel(&file.forest, params, Progress::none()).unwrap();
                prop_assert_eq!(subtrees.bags.len(), file.labels.len());
            }
            Err(ForestFileError::NoTrees | ForestFileError::Version { .. }) => {}
            Err(error) => prop_assert!(error.to_string().starts_with("line "), "{}", error),
        }
    }
}
