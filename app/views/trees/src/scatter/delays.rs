//! Colourings of the map by the delays of the run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_canvas::points::MarkShape;
use callgrove_model::count_of;
use callgrove_model::{Forest, TreeIdx, thousands};
use callgrove_session::{DelayRole, Snapshot};
use callgrove_widgets::theme::{NUM_CATEGORIES, Theme};

use super::values::{LegendRow, Values, trees};

/// The class of trees without a colour of their own.
const NO_CLASS: u32 = u32::MAX;

/// Returns the role of each tree, shape `[n_trees]`.
pub(super) fn roles(snapshot: &Snapshot, forest: &Forest) -> Vec<DelayRole> {
    let role = |tree| {
        snapshot
            .tree_cause(tree)
            .map_or(DelayRole::OnTime, |cause| cause.role)
    };
    trees(forest).map(role).collect()
}

/// Returns the roles that occur, with counts.
pub(super) fn role_legend(theme: &Theme, roles: &[DelayRole]) -> Vec<LegendRow> {
    let row = |role: DelayRole| {
        let count = roles.iter().filter(|&&other| other == role).count();
        let name = match role {
            DelayRole::Root => count_of(count, "root"),
            DelayRole::Victim => count_of(count, "victim"),
            DelayRole::Undecided => format!("{} delayed, cause unknown", thousands(count)),
            DelayRole::OnTime => format!("{} on time", thousands(count)),
        };
        (count > 0).then(|| LegendRow::Mark(MarkShape::Disc, theme.role(role), name))
    };
    [
        DelayRole::Root,
        DelayRole::Victim,
        DelayRole::Undecided,
        DelayRole::OnTime,
    ]
    .into_iter()
    .filter_map(row)
    .collect()
}

/// Returns the rank where the delay of each tree began; the ranks that delayed most trees have colours.
pub(super) fn root_ranks(snapshot: &Snapshot, forest: &Forest) -> Values {
    let rank = |tree: TreeIdx| {
        let root = snapshot.tree_cause(tree)?.root?;
        let roots = snapshot.causes()?.roots();
        Some(roots.get(root as usize)?.rank.0)
    };
    classes(forest, rank, |rank| format!("rank {rank}"))
}

/// Returns the incident of each tree; the incidents that delayed most trees have colours.
pub(super) fn incidents(snapshot: &Snapshot, forest: &Forest) -> Values {
    let incident = |tree: TreeIdx| snapshot.tree_cause(tree)?.incident;
    let name = |number: u32| {
        let causes = snapshot.causes();
        let known = causes.and_then(|causes| causes.incident(number as usize));
        let rank = known.map_or_else(String::new, |known| format!(", rank {}", known.root.rank));
        format!("incident {}{rank}", number + 1)
    };
    classes(forest, incident, name)
}

/// Classifies trees by a number that some have; the most frequent numbers are classes.
fn classes(
    forest: &Forest,
    number: impl Fn(TreeIdx) -> Option<u32>,
    name: impl Fn(u32) -> String,
) -> Values {
    let numbers: Vec<Option<u32>> = trees(forest).map(number).collect();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for number in numbers.iter().flatten() {
        *counts.entry(*number).or_default() += 1;
    }
    let mut order: Vec<(u32, usize)> = counts.into_iter().collect();
    order.sort_by_key(|&(number, count)| (Reverse(count), number));
    order.truncate(NUM_CATEGORIES);
    let place = |number: u32| order.iter().position(|&(other, _)| other == number);
    let class = |number: &Option<u32>| {
        let place = number.and_then(place);
        place.map_or(NO_CLASS, |place| place as u32)
    };
    let classes: Vec<u32> = numbers.iter().map(class).collect();
    let name = |&(number, count): &(u32, usize)| {
        format!("{}: {}", name(number), count_of(count, "execution"))
    };
    let names: Vec<String> = order.iter().map(name).collect();
    let named = numbers.iter().zip(&classes);
    let num_on_time = numbers.iter().filter(|number| number.is_none()).count();
    let num_others = named.filter(|(number, class)| number.is_some() && **class == NO_CLASS);
    let others = match num_others.count() {
        0 => format!("{} on time or undecided", thousands(num_on_time)),
        num => format!(
            "{} others, on time or in other classes",
            thousands(num + num_on_time)
        ),
    };
    Values::Classes(classes, names, Some(others))
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::demo_snapshot;
    use callgrove_app_tests::stall_run::{stalled_snapshot, trees_of_stall};

    use super::*;

    #[test]
    fn trees_are_coloured_by_role_root_and_incident() {
        let snapshot = stalled_snapshot();
        let forest = &snapshot.analysis().unwrap().forest;
        let trees = trees_of_stall(&snapshot, 0);
        let roles = roles(&snapshot, forest);
        assert_eq!(roles[trees[2].index()], DelayRole::Root);
        assert_eq!(roles[trees[0].index()], DelayRole::Victim);
        assert_eq!(roles[trees[0].index() + 1], DelayRole::OnTime);
        let legend = role_legend(&Theme::new(true, None), &roles);
        let texts: Vec<&str> = legend.iter().map(LegendRow::text).collect();
        assert_eq!(texts, ["2 roots", "6 victims", "992 on time"]);
        for (values, name) in [
            (root_ranks(&snapshot, forest), "rank 1: 4 executions"),
            (
                incidents(&snapshot, forest),
                "incident 1, rank 2: 4 executions",
            ),
        ] {
            let Values::Classes(classes, names, Some(others)) = values else {
                panic!("each root and incident is a class");
            };
            assert_eq!(names.len(), 2);
            assert_eq!(names[0], name);
            assert_eq!(classes[trees[0].index()], classes[trees[3].index()]);
            assert_eq!(classes[trees[0].index() + 1], NO_CLASS);
            assert_eq!(others, "992 on time or undecided");
        }
    }

    #[test]
    fn without_causes_all_trees_have_one_colour() {
        let snapshot = demo_snapshot();
        let forest = &snapshot.analysis().unwrap().forest;
        let of_none = roles(&snapshot, forest);
        assert!(of_none.iter().all(|&role| role == DelayRole::OnTime));
        assert!(
            matches!(incidents(&snapshot, forest), Values::Classes(_, names, _) if names.is_empty())
        );
    }
}
