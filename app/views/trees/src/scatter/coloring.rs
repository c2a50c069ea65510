//! The colourings of the map.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::{MarkShape, PointMark};
use callgrove_model::count_of;
use callgrove_model::{DurationNs, Forest, TreeIdx, thousands};
use callgrove_session::{Analysis, DelayRole, Label, Snapshot};
use callgrove_widgets::theme::{NUM_CATEGORIES, Theme};
use egui::Color32;

use super::delays::{incidents, role_legend, roles, root_ranks};
use super::values::{LegendRow, Values, trees};

/// Number of ranks from which their colours are a continuous scale.
const MAX_RANK_COLORS: usize = 8;

/// The property that colours show.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Coloring {
    /// Abnormal or normal, by the newest model.
    #[default]
    Verdict,
    /// The user's label.
    Label,
    /// The rank that executed the tree.
    Rank,
    /// The start time of the tree.
    Time,
    /// The duration.
    Duration,
    /// The structure: equal trees have one colour.
    Structure,
    /// The role of the tree in the delays of the run.
    Role,
    /// The rank where its delay began.
    RootRank,
    /// The incident that it belongs to.
    Incident,
}

/// The colours of one forest: the value of each tree, and the names of the classes or of the ends of the scale.
pub(super) struct Palette {
    coloring: Coloring,
    values: Values,
}

impl Coloring {
    pub(super) const ALL: [Self; 9] = [
        Self::Verdict,
        Self::Label,
        Self::Rank,
        Self::Time,
        Self::Duration,
        Self::Structure,
        Self::Role,
        Self::RootRank,
        Self::Incident,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Verdict => "abnormal",
            Self::Label => "label",
            Self::Rank => "rank",
            Self::Time => "time in the run",
            Self::Duration => "duration",
            Self::Structure => "structure",
            Self::Role => "role in a delay",
            Self::RootRank => "rank that delayed it",
            Self::Incident => "incident",
        }
    }
}

impl Palette {
    pub(super) fn new(coloring: Coloring, snapshot: &Snapshot, analysis: &Analysis) -> Self {
        let forest = &analysis.forest;
        let values = match coloring {
            Coloring::Verdict | Coloring::Label => Values::Snapshot,
            Coloring::Rank => ranks(forest),
            Coloring::Time => times(forest),
            Coloring::Duration => durations(forest),
            Coloring::Structure => structures(analysis),
            Coloring::Role => Values::Roles(roles(snapshot, forest)),
            Coloring::RootRank => root_ranks(snapshot, forest),
            Coloring::Incident => incidents(snapshot, forest),
        };
        Self { coloring, values }
    }

    /// Returns the mark of each tree, shape `[n_trees]`. Abnormal trees are diamonds in all colourings.
    pub(super) fn marks(&self, ctx: &ViewContext<'_>, num_trees: usize) -> Vec<PointMark> {
        let mark = |tree: TreeIdx| {
            let is_abnormal = is_abnormal(ctx, tree);
            let label = ctx.snapshot.label(tree);
            PointMark {
                color: self.color(ctx.theme, tree, is_abnormal, label),
                ring: label.map_or(Color32::TRANSPARENT, |label| ctx.theme.label(label)),
                shape: shape(is_abnormal),
                is_prominent: is_abnormal || label.is_some(),
            }
        };
        (0..num_trees).map(TreeIdx::from_index).map(mark).collect()
    }

    fn color(
        &self,
        theme: &Theme,
        tree: TreeIdx,
        is_abnormal: bool,
        label: Option<Label>,
    ) -> Color32 {
        match &self.values {
            Values::Snapshot if self.coloring == Coloring::Label => {
                label.map_or(theme.normal(), |label| theme.label(label))
            }
            Values::Snapshot if is_abnormal => theme.abnormal(),
            Values::Snapshot => theme.normal(),
            Values::Scale(shares, _) => shares
                .get(tree.index())
                .map_or(theme.normal(), |&share| theme.heat(share)),
            Values::Classes(classes, ..) => classes
                .get(tree.index())
                .and_then(|&class| theme.category(class as usize))
                .unwrap_or(theme.normal()),
            Values::Roles(roles) => {
                let role = roles.get(tree.index()).copied();
                theme.role(role.unwrap_or(DelayRole::OnTime))
            }
        }
    }

    /// Returns the legend of the marks, with counts.
    pub(super) fn legend(&self, ctx: &ViewContext<'_>) -> Vec<LegendRow> {
        let (theme, snapshot) = (ctx.theme, ctx.snapshot);
        let mut rows = Vec::new();
        match &self.values {
            Values::Snapshot => {}
            Values::Roles(roles) => rows.extend(role_legend(theme, roles)),
            Values::Scale(_, ends) => rows.push(LegendRow::Scale(ends.clone())),
            Values::Classes(_, names, others) => {
                rows.extend(names.iter().enumerate().map(|(class, name)| {
                    let color = theme.category(class).unwrap_or(theme.normal());
                    LegendRow::Mark(MarkShape::Disc, color, name.clone())
                }));
                let others = others.iter().cloned();
                rows.extend(
                    others.map(|name| LegendRow::Mark(MarkShape::Disc, theme.normal(), name)),
                );
            }
        }
        let has_verdict = self.coloring == Coloring::Verdict;
        if let Some(detection) = snapshot.detection() {
            let num_normal = detection.scores.len() - detection.num_abnormal;
            let color = |verdict| {
                if has_verdict {
                    verdict
                } else {
                    theme.weak_text()
                }
            };
            for (count, name, shape, verdict) in [
                (
                    detection.num_abnormal,
                    "abnormal",
                    MarkShape::Diamond,
                    theme.abnormal(),
                ),
                (num_normal, "normal", MarkShape::Disc, theme.normal()),
            ] {
                let text = format!("{} {name}", thousands(count));
                rows.push(LegendRow::Mark(shape, color(verdict), text));
            }
        }
        for label in [Label::Abnormal, Label::Normal] {
            let labels = snapshot.edits.labels_by_tree.iter();
            let count = labels.filter(|&&other| other == Some(label)).count();
            if count > 0 {
                let name = label.name();
                let text = format!("{} labelled {name}", thousands(count));
                let shape = shape(label == Label::Abnormal);
                rows.push(LegendRow::Ring(
                    shape,
                    theme.normal(),
                    theme.label(label),
                    text,
                ));
            }
        }
        rows
    }
}

fn shape(is_abnormal: bool) -> MarkShape {
    if is_abnormal {
        MarkShape::Diamond
    } else {
        MarkShape::Disc
    }
}

fn is_abnormal(ctx: &ViewContext<'_>, tree: TreeIdx) -> bool {
    let detection = ctx.snapshot.detection();
    detection.is_some_and(|detection| detection.is_abnormal(tree))
}

/// Returns the positions of values on a scale from the smallest to the largest, and the trees at both ends.
fn scale(values: &[f64], end: impl Fn(TreeIdx) -> String) -> Values {
    let at = |place: Option<usize>| place.map(TreeIdx::from_index).map_or(String::new(), &end);
    let by_value = |&a: &usize, &b: &usize| values[a].total_cmp(&values[b]);
    let (least, most) = (
        (0..values.len()).min_by(by_value),
        (0..values.len()).max_by(by_value),
    );
    let value = |place: Option<usize>| place.map_or(0.0, |place| values[place]);
    let (low, length) = (
        value(least),
        (value(most) - value(least)).max(f64::MIN_POSITIVE),
    );
    let shares = values.iter().map(|value| ((value - low) / length) as f32);
    Values::Scale(shares.collect(), [at(least), at(most)])
}

fn times(forest: &Forest) -> Values {
    let entry = |tree: TreeIdx| forest.tree(tree).entry()[0];
    let begin = trees(forest).map(entry).min();
    let values: Vec<f64> = trees(forest).map(|tree| entry(tree).0 as f64).collect();
    scale(&values, |tree| {
        let begin = begin.unwrap_or_else(|| entry(tree));
        let since = DurationNs(entry(tree).0 - begin.0);
        forest.unit().amount(since).to_string()
    })
}

/// Returns the durations on a logarithmic scale: ten times as long is as far from the median as a tenth.
fn durations(forest: &Forest) -> Values {
    let duration = |tree: TreeIdx| forest.tree(tree).duration();
    let values: Vec<f64> = trees(forest)
        .map(|tree| (duration(tree).0.max(1) as f64).ln())
        .collect();
    let unit = forest.unit();
    scale(&values, |tree| unit.amount(duration(tree)).to_string())
}

fn ranks(forest: &Forest) -> Values {
    let rank = |tree: TreeIdx| forest.code(tree).rank.0;
    let mut known: Vec<u32> = trees(forest).map(rank).collect();
    known.sort_unstable();
    known.dedup();
    if known.len() > MAX_RANK_COLORS {
        let values: Vec<f64> = trees(forest).map(|tree| f64::from(rank(tree))).collect();
        return scale(&values, |tree| format!("rank {}", rank(tree)));
    }
    let class = |tree| known.binary_search(&rank(tree)).unwrap_or_default() as u32;
    let names = known.iter().map(|rank| format!("rank {rank}")).collect();
    Values::Classes(trees(forest).map(class).collect(), names, None)
}

fn structures(analysis: &Analysis) -> Values {
    let mut counts: Vec<usize> = Vec::new();
    for &class in &analysis.structures {
        let class = class as usize;
        if counts.len() <= class {
            counts.resize(class + 1, 0);
        }
        counts[class] += 1;
    }
    let named = counts.iter().take(NUM_CATEGORIES).enumerate();
    let names = named.map(|(class, &count)| {
        format!("structure {}: {}", class + 1, count_of(count, "execution"))
    });
    let num_others: usize = counts.iter().skip(NUM_CATEGORIES).sum();
    let others = (num_others > 0).then(|| {
        let num_structures = counts.len() - NUM_CATEGORIES;
        format!(
            "{} of {}",
            count_of(num_others, "execution"),
            count_of(num_structures, "other structure")
        )
    });
    Values::Classes(analysis.structures.clone(), names.collect(), others)
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::demo_snapshot;

    use super::*;

    #[test]
    fn scales_begin_and_end_with_the_trees_that_they_name() {
        let snapshot = demo_snapshot();
        let analysis = snapshot.analysis().unwrap();
        for coloring in [Coloring::Time, Coloring::Duration] {
            let Values::Scale(shares, ends) = Palette::new(coloring, &snapshot, analysis).values
            else {
                panic!("{coloring:?} is a scale");
            };
            assert_eq!(shares.len(), analysis.forest.len());
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
            assert!(shares.contains(&0.0) && shares.contains(&1.0));
            assert_ne!(ends[0], ends[1]);
        }
    }

    #[test]
    fn few_ranks_have_a_colour_each_and_many_a_scale() {
        let few = demo_snapshot();
        let few = Palette::new(Coloring::Rank, &few, few.analysis().unwrap());
        assert!(
            matches!(few.values, Values::Classes(_, names, None) if names == ["rank 0", "rank 1"])
        );
        let many = callgrove_app_tests::demo_run::snapshot(12, 3);
        let many = Palette::new(Coloring::Rank, &many, many.analysis().unwrap());
        assert!(matches!(many.values, Values::Scale(_, ends) if ends == ["rank 0", "rank 11"]));
    }

    #[test]
    fn the_colour_of_abnormal_trees_is_in_no_class_and_no_scale() {
        for is_dark in [true, false] {
            let theme = Theme::new(is_dark, None);
            let far = |color: Color32| {
                let parts = color
                    .to_array()
                    .into_iter()
                    .zip(theme.abnormal().to_array());
                parts.map(|(a, b)| a.abs_diff(b) as u32).sum::<u32>() > 90
            };
            assert!((0..NUM_CATEGORIES).all(|class| far(theme.category(class).unwrap())));
            assert!((0..=10).all(|at| far(theme.heat(at as f32 / 10.0))));
        }
    }
}
