//! Retention rules as conditions in the SQL that SQLite and PostgreSQL share.

use std::time::Duration;

use callgrove_provdb::Collection;

/// Rules for documents to delete: those that match every condition that is set. Without any condition nothing matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRules {
    /// Restricts the rules to this program. It is no condition by itself.
    pub program: Option<u32>,
    /// Matches documents that began this long before the newest recorded execution.
    pub older_than: Option<Duration>,
    /// Matches documents with an I/O step before this one.
    pub before_step: Option<u32>,
    /// Matches documents with a severity below this, in microseconds.
    pub below_severity_us: Option<u32>,
}

/// The action on matching documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionMode {
    /// Only counts them.
    Count,
    /// Deletes them.
    Delete,
}

/// The number of counted or deleted documents in each collection that rules apply to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionSummary {
    /// Collection, number of matching documents, and number of all documents before.
    pub collections: Vec<(Collection, u64, u64)>,
}

impl RetentionSummary {
    /// Adds the numbers of a part of the database.
    pub(crate) fn add(&mut self, collection: Collection, num_matching: u64, num_all: u64) {
        match self.collections.iter_mut().find(|it| it.0 == collection) {
            Some((_, matching, all)) => {
                *matching += num_matching;
                *all += num_all;
            }
            None => self.collections.push((collection, num_matching, num_all)),
        }
    }
}

/// Rules in which `older_than` is resolved to a time.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedRules {
    rules: RetentionRules,
    before_us: Option<i64>,
}

impl RetentionRules {
    /// Returns the query for the newest time of entry in a collection; its result is null without documents.
    pub(crate) fn newest_sql(&self, collection: Collection) -> String {
        let of_program = self
            .program
            .map_or_else(String::new, |it| format!(" where pid = {it}"));
        format!("select max(entry) from {collection}{of_program}")
    }

    /// Returns the rules if the newest execution began at `newest_us`.
    pub(crate) fn resolved(&self, newest_us: Option<i64>) -> ResolvedRules {
        let before_us = self.older_than.map(|age| {
            let age_us = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            newest_us.map_or(i64::MIN, |newest_us| newest_us.saturating_sub(age_us))
        });
        ResolvedRules {
            rules: self.clone(),
            before_us,
        }
    }
}

impl ResolvedRules {
    /// Returns the condition for the documents of a collection that are to be deleted.
    ///
    /// A normal execution stays as long as the anomaly that it is compared with: the first normal one of the same
    /// function and rank in the step of the anomaly or later. Trees of the sample stay, since models are learned from
    /// them.
    pub(crate) fn condition(&self, collection: Collection) -> String {
        let anomaly_is_deleted = self.all_of("", true);
        match collection {
            Collection::NormalExecs => format!(
                "{} and id not in (select needed from (select (select n.id from normalexecs as n where n.rid = a.rid and \
                 n.io_step >= a.io_step and n.pid = a.pid and n.fid = a.fid order by n.io_step, n.id limit 1) as needed \
                 from anomalies as a where ({}) is not true) as k where needed is not null)",
                self.all_of("", false),
                self.all_of("a.", true),
            ),
            // A boolean as text is `0` on SQLite, `false` on PostgreSQL.
            Collection::Trees => format!(
                "{anomaly_is_deleted} and cast(doc ->> 'is_sample' as text) in ('0', 'false')"
            ),
            _ => anomaly_is_deleted,
        }
    }

    /// Returns all conditions that are set, on the columns of a table.
    fn all_of(&self, table: &str, with_severity: bool) -> String {
        let rules = &self.rules;
        let severity = rules.below_severity_us.filter(|_| with_severity);
        let conditions = [
            rules.before_step.map(|it| format!("{table}io_step < {it}")),
            self.before_us.map(|it| format!("{table}entry < {it}")),
            severity.map(|it| format!("{table}outlier_severity < {it}")),
        ];
        let mut conditions: Vec<String> = conditions.into_iter().flatten().collect();
        if conditions.is_empty() {
            // A severity alone does not select normal executions.
            let is_any = rules.below_severity_us.is_some();
            conditions.push(if is_any { "1 = 1" } else { "1 = 0" }.to_owned());
        }
        conditions.extend(rules.program.map(|it| format!("{table}pid = {it}")));
        conditions.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_alone_deletes_nothing() {
        let rules = RetentionRules {
            program: Some(3),
            ..RetentionRules::default()
        };
        let condition = rules.resolved(None).condition(Collection::Anomalies);
        assert_eq!(condition, "1 = 0 and pid = 3");
    }

    #[test]
    fn an_age_counts_from_the_newest_execution() {
        let rules = RetentionRules {
            older_than: Some(Duration::from_secs(2)),
            below_severity_us: Some(500),
            ..RetentionRules::default()
        };
        assert_eq!(
            rules
                .resolved(Some(5_000_000))
                .condition(Collection::Anomalies),
            "entry < 3000000 and outlier_severity < 500"
        );
    }
}
