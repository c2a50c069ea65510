//! Labels of all degrees for each class of complete subtrees.

use std::collections::BTreeSet;

use callgrove_model::{FuncId, NameTable};
use sha2::{Digest, Sha256};

use super::blocks::{Item, blocks};
use super::classes::{ClassId, ClassTable};
use super::mixing::{MixedMap, chain, number_of};
use super::params::{Siblings, Signature, ValidWlParams};
use super::vocabulary::SubtreeHash;

/// A label: a row of [`ClassLabels::labels`].
pub(super) type LabelId = u32;

/// The content of a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubtreeLabel {
    pub(super) hash: SubtreeHash,
    pub(super) degree: u16,
    pub(super) func: FuncId,
}

/// The different labels, and those of each class by degree.
#[derive(Clone, Debug)]
pub(super) struct ClassLabels {
    params: ValidWlParams,
    pub(super) labels: Vec<SubtreeLabel>,
    class_start: Vec<usize>,
    label_of_degree: Vec<LabelId>,
    /// Labels by function and children: a label is hashed once, however many classes have it.
    by_content: MixedMap<(u32, u128), LabelId>,
}

impl ClassLabels {
    pub(super) fn new(params: ValidWlParams) -> Self {
        Self {
            params,
            labels: Vec::new(),
            class_start: vec![0],
            label_of_degree: Vec::new(),
            by_content: MixedMap::default(),
        }
    }

    /// Returns the number of labels of all classes together after [`ClassLabels::extend`].
    pub(super) fn num_after(&self, table: &ClassTable) -> u64 {
        let fresh = table.ids().skip(self.class_start.len() - 1);
        let degrees = fresh.map(|class| self.params.top_degree(table.height(class)));
        self.label_of_degree.len() as u64 + degrees.map(|top| u64::from(top) + 1).sum::<u64>()
    }

    /// Relabels every class that is new in the table up to its height or the cap.
    #[expect(clippy::cast_possible_truncation, reason = "no more than MAX_LABELS")]
    pub(super) fn extend(&mut self, table: &ClassTable, names: &NameTable) {
        let mut items: Vec<Item<LabelId>> = Vec::new();
        for class in table.ids().skip(self.class_start.len() - 1) {
            let func = table.func(class);
            for degree in 0..=self.params.top_degree(table.height(class)) {
                items.clear();
                if let Some(below) = degree.checked_sub(1) {
                    let label_of = |child| {
                        let labels = self.of_class(child);
                        labels[usize::from(below).min(labels.len() - 1)]
                    };
                    list_children(self.params, table.children(class), label_of, &mut items);
                }
                let content = content(&items);
                let next = self.labels.len() as LabelId;
                let label = *self.by_content.entry((func.0, content)).or_insert(next);
                if label == next {
                    let hash = self.content_hash(names.name(func), &items);
                    self.labels.push(SubtreeLabel { hash, degree, func });
                }
                self.label_of_degree.push(label);
            }
            self.class_start.push(self.label_of_degree.len());
        }
    }

    /// Returns the labels of a class: index = degree.
    pub(super) fn of_class(&self, class: ClassId) -> &[LabelId] {
        let class = class as usize;
        &self.label_of_degree[self.class_start[class]..self.class_start[class + 1]]
    }

    /// Returns SHA-256 of name and children, truncated to 128 bits. Every field has a fixed size or is preceded by
    /// its length, so no name can imitate another structure; the domain separates the settings.
    fn content_hash(&self, name: &str, items: &[Item<LabelId>]) -> SubtreeHash {
        let domain: &[u8; 16] = match (self.params.siblings(), self.params.signature()) {
            (Siblings::Unordered, Signature::Exact) => b"cg-subtree-exact",
            (Siblings::Unordered, Signature::BucketedCounts) => b"cg-subtree-bucks",
            (Siblings::Ordered, Signature::Exact) => b"cg-ordered-exact",
            (Siblings::Ordered, Signature::BucketedCounts) => b"cg-ordered-bucks",
        };
        // The head of a block represents its length; it cannot be confused with a label, which is hashed.
        let hash_of = |item: &Item<LabelId>| {
            if item.is_block {
                u128::from(item.what)
            } else {
                self.labels[item.what as usize].hash.0
            }
        };
        let mut children: Vec<(u128, u64)> = items
            .iter()
            .map(|item| (hash_of(item), item.count))
            .collect();
        if self.params.siblings() == Siblings::Unordered {
            children.sort_unstable();
        }
        let mut hasher = Sha256::new();
        hasher.update(domain);
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update((children.len() as u64).to_le_bytes());
        for (hash, count) in children {
            hasher.update(hash.to_le_bytes());
            hasher.update(count.to_le_bytes());
        }
        let digest = hasher.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        SubtreeHash(u128::from_le_bytes(half))
    }
}

/// Returns the largest degree up to which all classes together have at most `max_labels` different labels, but at
/// least 1; `None` if they have no more with all degrees, or no more among the first `max_work` labels that are
/// examined. Cost: a pass over the classes for each degree up to the result, and one more.
pub(super) fn largest_degree_within(
    max_labels: u64,
    max_work: u64,
    table: &ClassTable,
    params: ValidWlParams,
) -> Option<u16> {
    let classes = || table.ids();
    let top_of = |class| params.top_degree(table.height(class));
    let top = classes().map(top_of).max().unwrap_or(0);
    let mut by_content: MixedMap<(u32, u128), LabelId> = MixedMap::default();
    // Labels of one degree, or of the height of a lower class.
    let mut labels: Vec<LabelId> = classes().map(|class| table.func(class).0).collect();
    let mut next = labels.iter().max().map_or(0, |&most| most + 1);
    let mut num_labels = labels.iter().collect::<BTreeSet<_>>().len() as u64;
    let mut items: Vec<Item<LabelId>> = Vec::new();
    let mut work = 0;
    for degree in 1..=top {
        let mut refined = labels.clone();
        by_content.clear();
        for class in classes().filter(|&class| top_of(class) >= degree) {
            items.clear();
            let label_of = |child: ClassId| labels[child as usize];
            list_children(params, table.children(class), label_of, &mut items);
            let key = (table.func(class).0, content(&items));
            let label = *by_content.entry(key).or_insert(next);
            next += LabelId::from(label == next);
            refined[class as usize] = label;
            work += 1;
        }
        labels = refined;
        num_labels += by_content.len() as u64;
        if num_labels > max_labels && top > 1 {
            return Some(degree.max(2) - 1);
        }
        if work > max_work {
            return None;
        }
    }
    None
}

/// Lists the children's labels, as the settings distinguish them.
fn list_children(
    params: ValidWlParams,
    children: &[(ClassId, u64)],
    label_of: impl Fn(ClassId) -> LabelId,
    items: &mut Vec<Item<LabelId>>,
) {
    let (signature, siblings) = (params.signature(), params.siblings());
    let runs = children.iter();
    items.extend(runs.map(|&(child, count)| Item::run(label_of(child), count)));
    if siblings == Siblings::Unordered {
        items.sort_unstable_by_key(|item| item.what);
    }
    // Different complete subtrees may be equal down to this degree.
    items.dedup_by(|item, before| {
        let is_same = item.what == before.what;
        if is_same {
            before.count += item.count;
        }
        is_same
    });
    for item in items.iter_mut() {
        item.count = signature.bucket(item.count);
    }
    if siblings == Siblings::Ordered && signature == Signature::BucketedCounts {
        *items = blocks(items, signature);
    }
}

/// Returns a hash of the children of a label.
fn content(items: &[Item<LabelId>]) -> u128 {
    items.iter().fold(0, |state, item| {
        let number = number_of(item.what).wrapping_mul(u128::from(item.count) << 1 | 1);
        chain(state, number.rotate_left(u32::from(item.is_block)))
    })
}
