//! Time ranges that do not overlap.

use callgrove_model::{DurationNs, TimeNs};

/// Time ranges in order; none touches another.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<(TimeNs, TimeNs)>);

impl Spans {
    /// Joins time ranges in any order.
    pub(super) fn join(mut parts: Vec<(TimeNs, TimeNs)>) -> Self {
        parts.sort_unstable();
        let mut joined: Vec<(TimeNs, TimeNs)> = Vec::new();
        for (from, to) in parts {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Self(joined)
    }

    /// Returns the parts of the ranges between two times.
    pub(super) fn within(
        &self,
        from: TimeNs,
        to: TimeNs,
    ) -> impl Iterator<Item = (TimeNs, TimeNs)> {
        let first = self.0.partition_point(|span| span.1 <= from);
        let end = self.0.partition_point(|span| span.0 < to);
        let spans = self.0.get(first..end).unwrap_or_default();
        spans
            .iter()
            .map(move |span| (span.0.max(from), span.1.min(to)))
    }

    /// Returns their total length.
    pub(super) fn length(&self) -> DurationNs {
        self.0.iter().map(|(from, to)| to.since(*from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_moment_is_in_them_if_it_is_in_a_part(
            parts in proptest::collection::vec((0..60_i64, 1..9_i64), 0..12),
            from in 0..60_i64,
            length in 0..40_i64,
        ) {
            let parts: Vec<_> = parts
                .iter()
                .map(|&(from, length)| (TimeNs(from), TimeNs(from + length)))
                .collect();
            let (from, to) = (TimeNs(from), TimeNs(from + length));
            let spans = Spans::join(parts.clone());
            let is_in = |at: i64| parts.iter().any(|part| (part.0.0..part.1.0).contains(&at));
            let length = |moments: std::ops::Range<i64>| -> DurationNs {
                moments.filter(|&at| is_in(at)).map(|_| DurationNs(1)).sum()
            };
            let found: DurationNs = spans.within(from, to).map(|(from, to)| to.since(from)).sum();
            prop_assert_eq!(found, length(from.0..to.0));
            prop_assert_eq!(spans.length(), length(0..100));
        }
    }
}
