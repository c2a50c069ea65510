//! Growing corpora, sibling order, threads, and the content of bags.

use std::collections::BTreeMap;

use callgrove_ml_tests::{PlainTree, fixture_path, forest, read_forest};
use callgrove_model::{Forest, TreeIdx};
use callgrove_trees::Progress;
use callgrove_trees::wl::{
    Relabeler, Siblings, Signature, Subtrees, WlParams, label_tree, relabel,
};
use proptest::prelude::*;

const SETTINGS: [WlParams; 4] = [
    settings(Signature::Exact, Siblings::Unordered),
    settings(Signature::Exact, Siblings::Ordered),
    settings(Signature::BucketedCounts, Siblings::Unordered),
    settings(Signature::BucketedCounts, Siblings::Ordered),
];

const fn settings(signature: Signature, siblings: Siblings) -> WlParams {
    WlParams {
        signature,
        siblings,
        max_degree: None,
    }
}

fn names() -> [String; 4] {
    ["root", "a", "b", "c"].map(str::to_owned)
}

fn at_once(forest: &Forest, params: WlParams) -> Subtrees {
    let params = params.check().expect("it is valid");
    relabel(forest, params, Progress::none()).expect("there are trees")
}

fn all_trees(forest: &Forest) -> Vec<TreeIdx> {
    (0..forest.len()).map(TreeIdx::from_index).collect()
}

/// Returns a tree from a list of (parent, function), the parent taken modulo the number of previous vertices.
fn tree(vertices: &[(usize, u32)]) -> PlainTree {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); vertices.len() + 1];
    for (place, &(parent, _)) in vertices.iter().enumerate() {
        children[parent % (place + 1)].push(place + 1);
    }
    let mut tree = PlainTree {
        node: 0,
        parent: Vec::new(),
        func: Vec::new(),
        w: Vec::new(),
        kind: String::new(),
    };
    let mut open = vec![(0, -1)];
    while let Some((vertex, parent)) = open.pop() {
        let place = tree.func.len() as i64;
        tree.parent.push(parent);
        tree.func.push(if vertex == 0 {
            0
        } else {
            vertices[vertex - 1].1
        });
        tree.w.push(1 + vertex as i64);
        open.extend(children[vertex].iter().rev().map(|&child| (child, place)));
    }
    for vertex in (1..tree.w.len()).rev() {
        tree.w[tree.parent[vertex] as usize] += tree.w[vertex];
    }
    tree
}

fn trees() -> impl Strategy<Value = Vec<PlainTree>> {
    let vertices = prop::collection::vec((0_usize..30, 1_u32..4), 0..20);
    prop::collection::vec(vertices.prop_map(|vertices| tree(&vertices)), 1..12)
}

/// Returns the subtree rooted at a vertex down to a degree, children in order.
fn ordered_text(forest: &Forest, tree: TreeIdx, vertex: usize, degree: usize) -> String {
    let view = forest.tree(tree);
    let name = forest.trace().names.name(view.funcs()[vertex]);
    let children: Vec<String> = view
        .children(vertex)
        .filter(|_| degree > 0)
        .map(|child| ordered_text(forest, tree, child, degree - 1))
        .collect();
    format!("{name}({})", children.join(","))
}

proptest! {
    #[test]
    fn joining_trees_in_parts_gives_the_same_corpus(
        trees in trees(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let forest = forest(&names(), &trees);
        let all = all_trees(&forest);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(all.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(all.len());
        for params in SETTINGS {
            let mut grown = Relabeler::new(params.check().unwrap());
            let mut from = 0;
            for &to in &cuts {
                grown.join(&forest, &all[from..to], Progress::none()).unwrap();
                from = to;
            }
            prop_assert_eq!(grown.into_subtrees(), at_once(&forest, params));
        }
    }

    #[test]
    fn a_limit_lowers_the_largest_degree_as_little_as_possible(
        trees in trees(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        limit in 3_u64..60,
    ) {
        let forest = forest(&names(), &trees);
        let all = all_trees(&forest);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(all.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(all.len());
        for params in SETTINGS {
            let mut grown = Relabeler::with_at_most(limit, params.check().unwrap());
            let mut from = 0;
            for &to in &cuts {
                grown.join(&forest, &all[from..to], Progress::none()).unwrap();
                from = to;
            }
            let bounded = grown.into_subtrees();
            let num_of = |degree: u16| {
                let capped = WlParams { max_degree: Some(degree), ..params };
                at_once(&forest, capped).vocabulary.len() as u64
            };
            match bounded.max_degree {
                None => prop_assert!(bounded.vocabulary.len() as u64 <= limit || num_of(1) == num_of(2)),
                Some(degree) => {
                    prop_assert!(num_of(degree) <= limit || degree == 1);
                    prop_assert!(num_of(degree + 1) > limit);
                }
            }
            let capped = WlParams { max_degree: bounded.max_degree, ..params };
            prop_assert_eq!(bounded, at_once(&forest, capped));
        }
    }

    #[test]
    fn trees_of_another_run_join_by_name(first in trees(), second in trees()) {
        // The other run has its names in another order.
        let other_names = ["root", "c", "b", "a"].map(str::to_owned);
        let renamed = |tree: &PlainTree| {
            let mut tree = tree.clone();
            for func in &mut tree.func {
                *func = [0, 3, 2, 1][*func as usize];
            }
            tree
        };
        let others: Vec<PlainTree> = second.iter().map(renamed).collect();
        let (one, other) = (forest(&names(), &first), forest(&other_names, &others));
        let both = forest(&names(), &[first, second].concat());
        for params in SETTINGS {
            let mut grown = Relabeler::new(params.check().unwrap());
            grown.join(&one, &all_trees(&one), Progress::none()).unwrap();
            grown.join(&other, &all_trees(&other), Progress::none()).unwrap();
            prop_assert_eq!(grown.into_subtrees(), at_once(&both, params));
        }
    }

    #[test]
    fn ordered_subtrees_share_a_label_if_and_only_if_they_are_equal(trees in trees()) {
        let forest = forest(&names(), &trees);
        let exact = settings(Signature::Exact, Siblings::Ordered).check().unwrap();
        let bucketed = settings(Signature::BucketedCounts, Siblings::Ordered).check().unwrap();
        let (mut hash_of, mut text_of) = (BTreeMap::new(), BTreeMap::new());
        let mut bucketed_of = BTreeMap::new();
        for tree in all_trees(&forest) {
            let labels = label_tree(&forest, tree, exact);
            let coarse = label_tree(&forest, tree, bucketed);
            for vertex in 0..forest.tree(tree).len() {
                for (degree, &hash) in labels.of_vertex(vertex).iter().enumerate() {
                    let text = ordered_text(&forest, tree, vertex, degree);
                    prop_assert_eq!(*hash_of.entry(text.clone()).or_insert(hash), hash);
                    prop_assert_eq!(text_of.entry(hash).or_insert_with(|| text.clone()), &text);
                    let coarse = coarse.of_vertex(vertex)[degree];
                    prop_assert_eq!(*bucketed_of.entry(hash).or_insert(coarse), coarse);
                }
            }
        }
    }

    #[test]
    fn bags_hold_counts_and_sums(trees in trees()) {
        let forest = forest(&names(), &trees);
        let params = WlParams::paper();
        let subtrees = at_once(&forest, params);
        for tree in all_trees(&forest) {
            let labels = label_tree(&forest, tree, params.check().unwrap());
            let (view, bag) = (forest.tree(tree), subtrees.bags.bag(tree));
            for (place, &subtree) in bag.subtree.iter().enumerate() {
                let hash = subtrees.vocabulary.get(subtree).hash;
                let at: Vec<usize> = labels.occurrences(hash).collect();
                let inclusive = at.iter().map(|&vertex| view.inclusive()[vertex].0);
                prop_assert_eq!(bag.count[place], at.len() as u64);
                prop_assert_eq!(bag.inclusive_ns[place], inclusive.sum::<i64>());
            }
        }
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let (names, trees) = read_forest(fixture_path("forest_small_200.jsonl"));
    // More than one task of trees.
    let many: Vec<PlainTree> = (0..5).flat_map(|_| trees.iter().cloned()).collect();
    let mut many = many;
    many.sort_by_key(|tree| tree.node);
    let forest = forest(&names, &many);
    for params in SETTINGS {
        let with_threads = |num_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads);
            pool.build().unwrap().install(|| at_once(&forest, params))
        };
        let one = with_threads(1);
        for num_threads in [2, 3, 7] {
            assert_eq!(with_threads(num_threads), one);
        }
    }
}

/// Returns a root whose children are the letters of a text.
fn list(letters: &str) -> PlainTree {
    let vertices: Vec<(usize, u32)> = letters
        .bytes()
        .map(|letter| (0, u32::from(letter - b'a') + 1))
        .collect();
    PlainTree {
        node: 0,
        parent: std::iter::once(-1)
            .chain(vertices.iter().map(|_| 0))
            .collect(),
        func: std::iter::once(0)
            .chain(vertices.iter().map(|it| it.1))
            .collect(),
        w: std::iter::once(letters.len() as i64)
            .chain(vertices.iter().map(|_| 1))
            .collect(),
        kind: String::new(),
    }
}

#[test]
fn order_distinguishes_equal_counts_and_long_repeats_stay_one() {
    let lists = [
        "abab",
        "aabb",
        &"ab".repeat(10),
        &"ab".repeat(15),
        &"ab".repeat(17),
        "b",
    ];
    let trees: Vec<PlainTree> = lists.iter().map(|letters| list(letters)).collect();
    let forest = forest(&names(), &trees);
    let roots = |signature, siblings| {
        let subtrees = at_once(&forest, settings(signature, siblings));
        subtrees.bags.roots().to_vec()
    };
    let counts = roots(Signature::Exact, Siblings::Unordered);
    assert_eq!(counts[0], counts[1]);
    let order = roots(Signature::Exact, Siblings::Ordered);
    assert!((0..6).all(|a| (0..a).all(|b| order[a] != order[b])));
    let both = roots(Signature::BucketedCounts, Siblings::Ordered);
    assert_ne!(both[0], both[1]);
    assert_eq!(both[2], both[3]);
    assert_ne!(both[3], both[4]);
}

#[test]
fn a_cancelled_join_does_not_change_the_corpus() {
    let trees = [list("ab"), list("ba"), list("c")];
    let forest = forest(&names(), &trees);
    let mut grown = Relabeler::new(WlParams::paper().check().unwrap());
    let all = all_trees(&forest);
    grown.join(&forest, &all[..1], Progress::none()).unwrap();
    let before = grown.subtrees().clone();
    let stop = |_| std::ops::ControlFlow::Break(());
    grown
        .join(&forest, &all[1..], Progress::new(&stop))
        .unwrap_err();
    assert_eq!(grown.subtrees(), &before);
    grown.join(&forest, &all[1..], Progress::none()).unwrap();
    assert_eq!(grown.into_subtrees(), at_once(&forest, WlParams::paper()));
}
