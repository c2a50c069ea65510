//! Labels of all degrees for each class of whole subtrees.

use std::collections::HashMap;

use callgrove_model::{FuncId, NameTable};
use sha2::{Digest, Sha256};

use super::classes::{ClassId, ClassTable};
use super::params::{Signature, ValidWlParams};
use super::vocabulary::SubtreeHash;

/// What a label says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) hash: SubtreeHash,
    pub(super) degree: u16,
    pub(super) func: FuncId,
}

/// The different labels, and those of each class by degree.
#[derive(Debug)]
pub(super) struct ClassLabels {
    pub(super) labels: Vec<Label>,
    class_start: Vec<usize>,
    label_of_degree: Vec<u32>,
}

impl ClassLabels {
    /// Relabels every class up to its height or the cap.
    pub(super) fn new(table: &ClassTable, names: &NameTable, params: ValidWlParams) -> Self {
        let mut built = Self {
            labels: Vec::new(),
            class_start: vec![0],
            label_of_degree: Vec::new(),
        };
        let mut by_hash: HashMap<SubtreeHash, u32> = HashMap::new();
        for class in 0..table.len() as ClassId {
            for degree in 0..=params.top_degree(table.height(class)) {
                let children = built.children_labels(table, class, degree, params.signature());
                let func = table.func(class);
                let hash = content_hash(names.name(func), params.signature(), &children);
                let next = built.labels.len() as u32;
                let label = *by_hash.entry(hash).or_insert(next);
                if label == next {
                    built.labels.push(Label { hash, degree, func });
                }
                built.label_of_degree.push(label);
            }
            built.class_start.push(built.label_of_degree.len());
        }
        built
    }

    /// Labels of a class: index = degree.
    pub(super) fn of_class(&self, class: ClassId) -> &[u32] {
        let class = class as usize;
        &self.label_of_degree[self.class_start[class]..self.class_start[class + 1]]
    }

    /// The children's labels of one degree less with their repeat counts, sorted.
    fn children_labels(
        &self,
        table: &ClassTable,
        class: ClassId,
        degree: u16,
        signature: Signature,
    ) -> Vec<(SubtreeHash, u64)> {
        if degree == 0 {
            return Vec::new();
        }
        let mut children: Vec<(SubtreeHash, u64)> = table
            .children(class)
            .iter()
            .map(|&(child, count)| {
                let labels = self.of_class(child);
                let stopped_at = (usize::from(degree) - 1).min(labels.len() - 1);
                (self.labels[labels[stopped_at] as usize].hash, count)
            })
            .collect();
        children.sort_unstable();
        // Different whole subtrees may look the same down to this degree.
        let mut merged: Vec<(SubtreeHash, u64)> = Vec::with_capacity(children.len());
        for (hash, count) in children {
            match merged.last_mut() {
                Some((last, total)) if *last == hash => *total += count,
                _ => merged.push((hash, count)),
            }
        }
        for (_, count) in &mut merged {
            *count = signature.bucket(*count);
        }
        merged
    }
}

/// SHA-256 of name and children, cut to 128 bits. Every field has a fixed size or its length before
/// it, so no name can imitate another structure; the domain keeps the two signatures apart.
fn content_hash(name: &str, signature: Signature, children: &[(SubtreeHash, u64)]) -> SubtreeHash {
    let domain: &[u8; 16] = match signature {
        Signature::Exact => b"cg-subtree-exact",
        Signature::BucketedCounts => b"cg-subtree-bucks",
    };
    let mut hasher = Sha256::new();
    hasher.update(domain);
    hasher.update((name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update((children.len() as u64).to_le_bytes());
    for (hash, count) in children {
        hasher.update(hash.0.to_le_bytes());
        hasher.update(count.to_le_bytes());
    }
    let digest = hasher.finalize();
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    SubtreeHash(u128::from_le_bytes(half))
}
