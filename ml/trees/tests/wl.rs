//! Subtrees compared with the hand-written trees and the generated forest of the fixtures.

use std::collections::BTreeMap;

use callgrove_ml_tests::{PlainTree, fixture, fixture_path, forest, read_forest};
use callgrove_model::{Forest, TreeIdx};
use callgrove_trees::Progress;
use callgrove_trees::wl::{Siblings, Signature, Subtrees, WlParams, label_tree, relabel};
use proptest::prelude::*;
use serde_json::Value;

fn subtrees_of(forest: &Forest, signature: Signature, max_degree: Option<u16>) -> Subtrees {
    let params = WlParams {
        signature,
        max_degree,
        siblings: Siblings::Unordered,
    };
    relabel(
        forest,
        params.check().expect("it is valid"),
        Progress::none(),
    )
    .expect("it is valid")
}

/// Returns a tree of the hand-written fixture as a forest of one.
fn tiny_forest(tree: &Value) -> Forest {
    let names: Vec<String> = serde_json::from_value(tree["names"].clone()).expect("it is valid");
    let parent: Vec<i64> = serde_json::from_value(tree["parent"].clone()).expect("it is valid");
    let w: Vec<i64> = serde_json::from_value(tree["w"].clone()).expect("it is valid");
    let func = (0..names.len())
        .map(|vertex| {
            names
                .iter()
                .position(|name| *name == names[vertex])
                .expect("it is one of them") as u32
        })
        .collect();
    let tree = PlainTree {
        node: 0,
        parent,
        func,
        w,
        kind: String::new(),
    };
    forest(&names, &[tree])
}

/// Returns the subtree rooted at a vertex down to a degree, children sorted.
fn canonical(forest: &Forest, tree: TreeIdx, vertex: usize, degree: u16) -> String {
    let view = forest.tree(tree);
    let name = forest.trace().names.name(view.funcs()[vertex]);
    let mut children: Vec<String> = if degree == 0 {
        Vec::new()
    } else {
        view.children(vertex)
            .map(|child| canonical(forest, tree, child, degree - 1))
            .collect()
    };
    children.sort();
    if children.is_empty() {
        name.to_owned()
    } else {
        format!("{name}({})", children.join(","))
    }
}

fn rows_of(forest: &Forest, subtrees: &Subtrees) -> Vec<(String, u64, u64, i64)> {
    let bag = subtrees.bags.bag(TreeIdx(0));
    let mut rows: Vec<_> = (0..bag.subtree.len())
        .map(|place| {
            let subtree = subtrees.vocabulary.get(bag.subtree[place]);
            let text = canonical(
                forest,
                subtree.example_tree,
                subtree.example_vertex as usize,
                subtree.degree,
            );
            let degree = u64::from(subtree.degree);
            (text, degree, bag.count[place], bag.inclusive_ns[place])
        })
        .collect();
    rows.sort();
    rows
}

fn expected_rows(bag: &Value) -> Vec<(String, u64, u64, i64)> {
    let mut rows: Vec<_> = bag
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            (
                row["subtree"].as_str().expect("it is valid").to_owned(),
                row["degree"].as_u64().expect("it is valid"),
                row["count"].as_u64().expect("it is valid"),
                row["weight"].as_i64().expect("it is valid"),
            )
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn hand_written_trees_have_exactly_the_expected_bags() {
    let fixture = fixture("wl_tiny.json");
    for tree in fixture["trees"].as_array().unwrap() {
        // The root function may be called again deeper down: then it has trees of its own, which the fixture does not
        // contain.
        let names: Vec<&str> = tree["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        if names[1..].contains(&names[0]) {
            continue;
        }
        let forest = tiny_forest(tree);
        for (bag, cap) in [
            ("bag_full", None),
            ("bag_max1", Some(1)),
            ("bag_max2", Some(2)),
        ] {
            let subtrees = subtrees_of(&forest, Signature::Exact, cap);
            assert_eq!(
                rows_of(&forest, &subtrees),
                expected_rows(&tree[bag]),
                "{} {bag}",
                tree["name"]
            );
        }
    }
}

#[test]
fn the_generated_forest_has_exactly_the_expected_subtrees() {
    let expected = fixture("wl_forest_small.json");
    let (names, trees) = read_forest(fixture_path("forest_small_200.jsonl"));
    let forest = forest(&names, &trees);
    let subtrees = subtrees_of(&forest, Signature::Exact, None);
    let mut totals: BTreeMap<usize, (u64, u64, i64)> = BTreeMap::new();
    let mut per_tree = Vec::new();
    for bag in subtrees.bags.iter() {
        per_tree.push(serde_json::json!([
            bag.subtree.len(),
            bag.count.iter().sum::<u64>(),
            bag.inclusive_ns.iter().sum::<i64>()
        ]));
        for (place, subtree) in bag.subtree.iter().enumerate() {
            let total = totals.entry(subtree.index()).or_default();
            total.0 += 1;
            total.1 += bag.count[place];
            total.2 += bag.inclusive_ns[place];
        }
    }
    let mut labels: Vec<_> = subtrees
        .vocabulary
        .iter()
        .map(|(index, subtree)| {
            let (num_trees, count, weight) = totals[&index.index()];
            assert_eq!(num_trees, u64::from(subtree.num_trees));
            (
                subtree.degree,
                subtree.name.to_string(),
                num_trees,
                count,
                weight,
            )
        })
        .collect();
    labels.sort();
    let labels: Vec<Value> = labels.iter().map(|row| serde_json::json!(row)).collect();
    assert_eq!(Value::from(labels), expected["labels_sorted"]);
    assert_eq!(Value::from(per_tree), expected["per_tree"]);
}

#[test]
fn a_single_tree_gets_the_same_labels_as_in_its_forest() {
    let (names, trees) = read_forest(fixture_path("forest_small_200.jsonl"));
    let forest = forest(&names, &trees);
    for signature in [Signature::Exact, Signature::BucketedCounts] {
        let subtrees = subtrees_of(&forest, signature, None);
        let params = WlParams {
            signature,
            ..WlParams::default()
        };
        for index in [0, 17, 199] {
            let tree = TreeIdx(index);
            let labels = label_tree(&forest, tree, params.check().unwrap());
            let bag = subtrees.bags.bag(tree);
            for (place, &subtree) in bag.subtree.iter().enumerate() {
                let hash = subtrees.vocabulary.get(subtree).hash;
                assert_eq!(labels.occurrences(hash).count() as u64, bag.count[place]);
            }
            let root = subtrees.vocabulary.get(bag.root).hash;
            assert_eq!(labels.of_vertex(0).last(), Some(&root));
        }
    }
}

/// Returns a root with `count` equal children.
fn loop_tree(count: usize) -> PlainTree {
    PlainTree {
        node: 0,
        parent: std::iter::once(-1).chain((0..count).map(|_| 0)).collect(),
        func: std::iter::once(0).chain((0..count).map(|_| 1)).collect(),
        w: std::iter::once(count as i64)
            .chain((0..count).map(|_| 1))
            .collect(),
        kind: String::new(),
    }
}

#[test]
fn long_loops_of_similar_length_are_one_subtree_and_short_ones_are_not() {
    let names = ["loop".to_owned(), "body".to_owned()];
    let trees: Vec<PlainTree> = [7, 8, 9, 16, 17, 2427, 3222].map(loop_tree).to_vec();
    let forest = forest(&names, &trees);
    let exact = subtrees_of(&forest, Signature::Exact, None).bags;
    let bucketed = subtrees_of(&forest, Signature::BucketedCounts, None).bags;
    let (exact, bucketed) = (exact.roots(), bucketed.roots());
    for a in 0..trees.len() {
        for b in 0..a {
            assert_ne!(exact[a], exact[b]);
            let same_bucket = [(3, 2), (6, 5)].contains(&(a, b));
            assert_eq!(bucketed[a] == bucketed[b], same_bucket, "{a} {b}");
        }
    }
}

#[test]
fn labels_of_the_two_signatures_are_disjoint() {
    let names = ["loop".to_owned(), "body".to_owned()];
    let forest = forest(&names, &[loop_tree(3)]);
    let exact = subtrees_of(&forest, Signature::Exact, None).vocabulary;
    let bucketed = subtrees_of(&forest, Signature::BucketedCounts, None).vocabulary;
    assert!(
        exact
            .iter()
            .all(|(_, subtree)| bucketed.find(subtree.hash).is_none())
    );
}

#[test]
fn labels_are_stable_across_versions() {
    let names = ["loop".to_owned(), "body".to_owned()];
    let forest = forest(&names, &[loop_tree(3)]);
    let vocabulary = subtrees_of(&forest, Signature::BucketedCounts, None).vocabulary;
    let hashes: Vec<String> = vocabulary
        .iter()
        .map(|(_, subtree)| subtree.hash.to_string())
        .collect();
    // Model files contain these labels.
    assert_eq!(hashes, GOLDEN_HASHES);
}

const GOLDEN_HASHES: [&str; 3] = [
    "68f6793ddfcaf84716be9223bf6dec91",
    "6d37527f62b36e8d853fdd8ed1f758e2",
    "0dcc8c2a26c4dec501d51b1679e114b6",
];

/// A random tree as nested lists of children.
#[derive(Clone, Debug)]
struct Nested(u32, Vec<Nested>);

fn nested() -> impl Strategy<Value = Nested> {
    let leaf = (1_u32..4).prop_map(|func| Nested(func, Vec::new()));
    leaf.prop_recursive(4, 40, 6, |child| {
        (1_u32..4, prop::collection::vec(child, 0..6)).prop_map(|(func, kids)| Nested(func, kids))
    })
}

fn flatten(children: &[Nested], reverse: bool) -> PlainTree {
    fn push(tree: &mut PlainTree, node: &Nested, parent: i64, reverse: bool) {
        let vertex = tree.func.len() as i64;
        tree.parent.push(parent);
        tree.func.push(node.0);
        tree.w.push(1);
        let mut kids: Vec<&Nested> = node.1.iter().collect();
        if reverse {
            kids.reverse();
        }
        for kid in kids {
            push(tree, kid, vertex, reverse);
        }
        tree.w[vertex as usize] += tree.w[vertex as usize + 1..].len() as i64;
    }
    let mut tree = PlainTree {
        node: 0,
        parent: Vec::new(),
        func: Vec::new(),
        w: Vec::new(),
        kind: String::new(),
    };
    push(&mut tree, &Nested(0, children.to_vec()), -1, reverse);
    tree
}

proptest! {
    #[test]
    fn the_order_of_siblings_does_not_matter(children in prop::collection::vec(nested(), 0..5)) {
        let names = ["root", "a", "b", "c"].map(str::to_owned);
        let plain = forest(&names, &[flatten(&children, false)]);
        let reversed = forest(&names, &[flatten(&children, true)]);
        for signature in [Signature::Exact, Signature::BucketedCounts] {
            let plain = subtrees_of(&plain, signature, None);
            let reversed = subtrees_of(&reversed, signature, None);
            prop_assert_eq!(&plain.bags, &reversed.bags);
        }
    }

    #[test]
    fn two_subtrees_share_a_label_if_and_only_if_they_are_equal(
        children in prop::collection::vec(nested(), 0..5),
    ) {
        let names = ["root", "a", "b", "c"].map(str::to_owned);
        let forest = forest(&names, &[flatten(&children, false)]);
        let labels = label_tree(&forest, TreeIdx(0), WlParams::paper().check().unwrap());
        let mut hash_of_text = BTreeMap::new();
        let mut text_of_hash = BTreeMap::new();
        for vertex in 0..forest.tree(TreeIdx(0)).len() {
            for (degree, &hash) in labels.of_vertex(vertex).iter().enumerate() {
                let text = canonical(&forest, TreeIdx(0), vertex, degree as u16);
                prop_assert_eq!(*hash_of_text.entry(text.clone()).or_insert(hash), hash);
                prop_assert_eq!(text_of_hash.entry(hash).or_insert_with(|| text.clone()), &text);
            }
        }
    }
}
