//! Differences of a tree from the usual tree of its kind.

use callgrove_ml_tests::{PlainTree, forest};
use callgrove_model::{Forest, FuncId, NameTable, TreeIdx, WeightUnit};
use callgrove_trees::Progress;
use callgrove_trees::explain::{
    CallPaths, Difference, DifferenceKind, TreeExplanation, UsualArtifact, UsualTrees, explain,
};
use proptest::prelude::*;

/// Returns a tree from lines `depth name exclusive-time`, times in the unit of the clock.
fn tree(names: &mut Vec<String>, vertices: &[(usize, String, i64)]) -> PlainTree {
    let mut parent: Vec<i64> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut w: Vec<i64> = vertices.iter().map(|vertex| vertex.2).collect();
    let mut func = Vec::new();
    for (at, (depth, name, _)) in vertices.iter().enumerate() {
        open.truncate(*depth);
        parent.push(open.last().map_or(-1, |&caller| caller as i64));
        open.push(at);
        let known = names.iter().position(|known| known == name);
        func.push(known.unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        }) as u32);
    }
    for at in (1..w.len()).rev() {
        w[parent[at] as usize] += w[at];
    }
    PlainTree {
        node: 0,
        parent,
        func,
        w,
        kind: String::new(),
    }
}

/// Returns trees written as `root 10 > step 5 > wait 3 > wait 3`, an indent of one `>` per level.
fn grow(trees: &[String]) -> Forest {
    let mut names = Vec::new();
    let plain: Vec<PlainTree> = trees
        .iter()
        .map(|text| {
            let mut vertices = Vec::new();
            for vertex in text.split(';') {
                let name = vertex.trim_start_matches('>');
                let depth = vertex.len() - name.len();
                let (name, time) = name.split_once(' ').expect("a name and a time");
                vertices.push((depth, name.to_owned(), time.parse().expect("a time")));
            }
            tree(&mut names, &vertices)
        })
        .collect();
    forest(&names, &plain)
}

/// Explains `odd`; only the trees of `is_odd` do not count as usual.
fn why(forest: &Forest, odd: u32, is_odd: impl Fn(usize) -> bool) -> TreeExplanation {
    let paths = CallPaths::of(forest, Progress::none()).expect("no cancellation");
    let is_normal: Vec<bool> = (0..forest.len()).map(|tree| !is_odd(tree)).collect();
    let usual = UsualTrees::of(forest, &paths, &is_normal);
    explain(forest, &paths, &usual, TreeIdx(odd))
}

/// Explains `odd` by the usual trees of a model of the other trees.
fn why_by_model(forest: &Forest, odd: u32) -> TreeExplanation {
    let paths = CallPaths::of(forest, Progress::none()).expect("no cancellation");
    let is_normal: Vec<bool> = (0..forest.len()).map(|tree| tree != odd as usize).collect();
    let usual = UsualTrees::of(forest, &paths, &is_normal);
    let stored = UsualArtifact::new(forest, &paths, &usual);
    let stored = serde_json::to_string(&stored).expect("it is plain data");
    let stored: UsualArtifact = serde_json::from_str(&stored).expect("it was just written");
    let (_, paths, usual) = stored
        .of_forest(forest, Progress::none())
        .expect("no cancellation");
    explain(forest, &paths, &usual, TreeIdx(odd))
}

/// Formats a difference as `kind path count/usual excess`.
fn difference_text(names: &NameTable<FuncId>, difference: &Difference) -> String {
    let path: Vec<&str> = difference
        .path
        .iter()
        .map(|&func| names.name(func))
        .collect();
    format!(
        "{} {} {}/{} {:+}",
        difference.kind.words(&WeightUnit::Time),
        path.join("/"),
        difference.count,
        difference.usual_count,
        difference.excess.0
    )
}

/// Returns the differences of one tree after 20 usual ones that vary a little.
fn differences(usual: &str, odd: &str) -> Vec<String> {
    let mut trees: Vec<String> = vec![usual.to_owned(); 20];
    trees.push(odd.to_owned());
    let forest = grow(&trees);
    let why = why(&forest, 20, |tree| tree == 20);
    assert_eq!(why_by_model(&forest, 20).differences, why.differences);
    let difference_text = |difference| difference_text(&forest.trace().names, difference);
    why.differences.iter().map(difference_text).collect()
}

#[test]
fn a_model_explains_trees_of_another_run_and_names_missing_functions() {
    let training = grow(&vec![USUAL.to_owned(); 20]);
    let paths = CallPaths::of(&training, Progress::none()).expect("no cancellation");
    let usual = UsualTrees::of(&training, &paths, &[true; 20]);
    let stored = UsualArtifact::new(&training, &paths, &usual);
    // Its functions have other numbers there, and there are others.
    let other = grow(&["run 1000;>hash 70;>wait 500;>>poll 100;>>poll 9000;>pack 200".to_owned()]);
    let (names, paths, usual) = stored
        .of_forest(&other, Progress::none())
        .expect("no cancellation");
    let why = explain(&other, &paths, &usual, TreeIdx(0));
    let found: Vec<String> = why
        .differences
        .iter()
        .map(|it| difference_text(&names, it))
        .collect();
    let expected = [
        "longer run/wait/poll 2/2 +8900",
        "new run/hash 1/0 +70",
        "missing run/send 0/1 -300",
    ];
    let mut sorted = found.clone();
    sorted.sort_unstable();
    let mut expected = expected.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!((why.usual, why.num_usual), (None, 20));
}

#[test]
fn the_calls_of_the_only_tree_are_compared_with_each_other() {
    let polls = ">poll 100;".repeat(20);
    let forest = grow(&[format!("run 20000;{polls}>poll 9000")]);
    let paths = CallPaths::of(&forest, Progress::none()).expect("no cancellation");
    let usual = UsualTrees::of(&forest, &paths, &[true]);
    let why = explain(&forest, &paths, &usual, TreeIdx(0));
    assert_eq!((why.usual, why.num_usual), (None, 0));
    let found: Vec<String> = why
        .differences
        .iter()
        .map(|it| difference_text(&forest.trace().names, it))
        .collect();
    assert_eq!(found, ["longer run/poll 21/21 +8900"]);
}

const USUAL: &str = "run 1000;>pack 200;>send 300;>wait 500;>>poll 100;>>poll 100";

#[test]
fn the_usual_tree_has_no_differences() {
    assert_eq!(differences(USUAL, USUAL), [""; 0]);
}

#[test]
fn a_long_call_is_reported_without_its_callers() {
    let odd = USUAL.replace("poll 100;", "poll 9000;");
    assert_eq!(differences(USUAL, &odd), ["longer run/wait/poll 2/2 +8900"]);
}

#[test]
fn the_largest_excess_is_first_and_decreases_are_last() {
    let odd = "run 1000;>pack 700;>send 10;>wait 9500;>>poll 100;>>poll 100";
    let expected = [
        "longer run/wait 1/1 +9000",
        "shorter run/send 1/1 -290",
        "longer run/pack 1/1 +500",
    ];
    let mut found = differences(USUAL, odd);
    assert_eq!(found[0], expected[0]);
    found.sort();
    let mut expected = expected.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn more_and_fewer_calls_are_distinguished_from_longer_ones() {
    let more = USUAL.replace(">send 300", ">send 300;>send 300;>send 310");
    assert_eq!(differences(USUAL, &more), ["more calls run/send 3/1 +610"]);
    let fewer = USUAL.replace(";>>poll 100;>>poll 100", ";>>poll 100");
    let found = differences(USUAL, &fewer);
    assert_eq!(found, ["fewer calls run/wait/poll 1/2 -100"]);
    let longer = USUAL.replace(">send 300", ">send 3000;>send 3000");
    assert_eq!(differences(USUAL, &longer), ["longer run/send 2/1 +5700"]);
}

#[test]
fn a_new_call_is_one_difference_at_its_top_however_short() {
    let odd = USUAL.replace(">send 300", ">send 300;>check 1;>>hash 4;>>hash 5;>>>mix 2");
    let found = differences(USUAL, &odd);
    assert_eq!(found, ["new run/check 1/0 +12"]);
}

#[test]
fn a_new_function_under_a_known_one_at_a_new_place_is_named() {
    // `pack` and `send` call each other here only, and one function is nowhere else.
    let usual = "run 1000;>pack 200;>>send 30;>send 300;>wait 500";
    let odd = "run 1000;>pack 200;>>send 30;>send 300;>>pack 5;>>>send 5;>>>>check 900;>wait 500";
    let found = differences(usual, odd);
    assert_eq!(found[0], "new run/send/pack 1/0 +910", "{found:?}");
    let mut trees: Vec<String> = vec![usual.to_owned(); 20];
    trees.extend(vec![odd.replace(";>>>>check 900", ""); 4]);
    trees.push(odd.to_owned());
    let forest = grow(&trees);
    // If other trees have the place, but not the function, the function itself is named.
    let why = why(&forest, 24, |tree| tree == 24);
    let first = difference_text(&forest.trace().names, &why.differences[0]);
    assert_eq!(first, "new run/send/pack/send/check 1/0 +900");
}

#[test]
fn a_missing_call_with_its_callees_is_one_difference() {
    let odd = "run 1000;>pack 200;>send 300";
    assert_eq!(differences(USUAL, odd), ["missing run/wait 0/1 -700"]);
}

#[test]
fn missing_calls_are_never_first_in_a_slow_tree() {
    let odd = "run 1000;>pack 9200;>send 300";
    let expected = ["longer run/pack 1/1 +9000", "missing run/wait 0/1 -700"];
    assert_eq!(differences(USUAL, odd), expected);
}

#[test]
fn a_clock_tick_is_not_a_difference() {
    // The clock counts in thousands; the call takes 0, 1 or 2 of them.
    let with = |ticks: i64| format!("run 9000;>send {}", 1000 * ticks);
    let trees: Vec<String> = (0..30).map(|at| with(at % 2)).chain([with(2)]).collect();
    let forest = grow(&trees);
    let found = why(&forest, 30, |tree| tree == 30);
    assert_eq!(found.differences, []);
}

#[test]
fn a_rare_structure_is_compared_with_the_plain_one() {
    // Output steps check and write; one step only checks.
    let plain = "run 1000;>pack 200;>send 300;>wait 500";
    let (checks, writes) = (";>check 400", ";>write 4");
    let mut trees: Vec<String> = vec![plain.to_owned(); 500];
    trees.extend(vec![format!("{plain}{checks}{writes}"); 10]);
    trees.push(format!("{plain}{checks}"));
    let forest = grow(&trees);
    let why = why(&forest, 510, |tree| tree == 510);
    let found: Vec<String> = why
        .differences
        .iter()
        .map(|difference| difference_text(&forest.trace().names, difference))
        .collect();
    assert_eq!(found, ["new run/check 1/0 +400"]);
    assert_eq!((why.num_usual, why.is_same_shape), (500, false));
}

#[test]
fn a_kind_with_mostly_abnormal_trees_is_not_used() {
    let odd = USUAL.replace(">send 300", ">send 300;>check 1");
    let mut trees: Vec<String> = vec![USUAL.to_owned(); 50];
    trees.extend(vec![odd; 30]);
    let forest = grow(&trees);
    // Ten of the thirty are labelled normal.
    let why = why(&forest, 79, |tree| tree >= 60);
    assert_eq!(
        difference_text(&forest.trace().names, &why.differences[0]),
        "new run/check 1/0 +1"
    );
}

/// Returns a tree of recursion on data: `advance` calls `refine` some levels deep, each `flux` and `update`.
fn recursive(seed: u64, times: &mut dyn FnMut(&str, usize) -> (i64, usize)) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % bound
    };
    let mut text = String::from("advance 1000");
    let mut open = vec![(1_usize, 3)];
    while let Some((depth, children)) = open.pop() {
        for _ in 0..children {
            let indent = ">".repeat(depth);
            text.push_str(&format!(";{indent}refine {}", 900 + draw(200)));
            for name in ["flux", "update"] {
                let (time, count) = times(name, depth);
                for _ in 0..count {
                    text.push_str(&format!(";{indent}>{name} {time}"));
                }
            }
            if depth < 5 && draw(2) == 0 {
                let indent = ">".repeat(depth + 1);
                for _ in 0..=draw(3) {
                    text.push_str(&format!(";{indent}refine {}", 900 + draw(200)));
                }
            }
        }
    }
    text
}

#[test]
fn the_odd_vertex_is_first_even_if_every_tree_has_its_own_structure() {
    let usual = |name: &str, _: usize| match name {
        "flux" => (5_000, 1),
        _ => (2_000, 1),
    };
    let trees: Vec<String> = (0..200)
        .map(|seed| recursive(seed, &mut usual.clone()))
        .collect();
    let with = |odd: String| {
        let mut trees = trees.clone();
        trees.push(odd);
        let forest = grow(&trees);
        let why = why(&forest, 200, |tree| tree == 200);
        difference_text(&forest.trace().names, &why.differences[0])
    };
    let mut num = 0;
    let heavy = recursive(777, &mut |name, depth| {
        num += 1;
        let (time, count) = usual(name, depth);
        (if num == 3 { 20 * time } else { time }, count)
    });
    let found = with(heavy);
    assert!(found.starts_with("longer advance/refine/flux"), "{found}");
    let mut num = 0;
    let without = recursive(778, &mut |name, depth| {
        num += usize::from(name == "update");
        let (time, count) = usual(name, depth);
        (time, if name == "update" { 0 } else { count })
    });
    assert!(num > 0);
    let found = with(without);
    assert!(
        found.starts_with("missing advance/refine/update"),
        "{found}"
    );
    let found = with(format!(
        "{};>>verify 30",
        recursive(779, &mut usual.clone())
    ));
    assert!(found.starts_with("new advance/refine/"), "{found}");
    assert!(found.contains("verify"), "{found}");
}

fn any_tree() -> impl Strategy<Value = String> {
    let vertex = (1_usize..4, 0_usize..4, 0_i64..1_000);
    prop::collection::vec(vertex, 0..12).prop_map(|vertices| {
        let mut text = String::from("run 50");
        let mut last = 0;
        for (depth, name, time) in vertices {
            last = depth.min(last + 1);
            text.push_str(&format!(";{}f{name} {time}", ">".repeat(last)));
        }
        text
    })
}

proptest! {
    #[test]
    fn differences_are_ordered_exclusive_and_name_calls_of_the_tree(
        trees in prop::collection::vec(any_tree(), 1..20),
        normal in any::<u32>(),
    ) {
        let forest = grow(&trees);
        for odd in 0..trees.len() {
            let why = why(&forest, odd as u32, |tree| normal >> tree & 1 == 0);
            let tree = forest.tree(TreeIdx(odd as u32));
            let mut seen = Vec::new();
            for pair in why.differences.windows(2) {
                prop_assert!(pair[0].importance >= pair[1].importance);
            }
            for difference in &why.differences {
                prop_assert_eq!(difference.excess, difference.time - difference.usual_time);
                prop_assert!((0.0..=1.0).contains(&difference.importance));
                prop_assert!((0.0..=1.0).contains(&difference.share));
                prop_assert_eq!(difference.path.last(), Some(&difference.func));
                prop_assert!(!seen.contains(&difference.path), "each path once");
                seen.push(difference.path.clone());
                prop_assert_eq!(difference.vertices.len() as u64, difference.count);
                for &vertex in &difference.vertices {
                    prop_assert_eq!(tree.funcs()[vertex as usize], difference.func);
                    prop_assert_eq!(tree.depth(vertex as usize) + 1, difference.path.len());
                }
            }
            // No time is reported twice, except that of rare calls within something new.
            let whole = why.differences.iter().filter(|found| found.kind != DifferenceKind::FewerCalls);
            let reported_ns: i64 = whole.map(|found| found.time.0).sum();
            prop_assert!(reported_ns <= tree.duration().0);
            let missing = DifferenceKind::Missing;
            prop_assert!(why.differences.iter().all(|found| (found.kind == missing) == (found.count == 0)));
        }
    }
}
