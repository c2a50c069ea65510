//! Which documents are deleted, as conditions in the SQL that SQLite and PostgreSQL share.

use std::time::Duration;

use crate::Collection;

/// Documents to delete: those to which every condition that is set applies. Without any condition there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRules {
    /// Of this program only. It is no condition by itself.
    pub program: Option<u32>,
    /// They began this long before the newest execution that is recorded.
    pub older_than: Option<Duration>,
    /// Their I/O step is before this one.
    pub before_step: Option<u32>,
    /// Their severity is below this, in microseconds.
    pub below_severity_us: Option<u32>,
}

/// Whether documents are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionMode {
    /// They are counted only.
    Count,
    /// They are deleted.
    Delete,
}

/// The documents that were counted or deleted, and how many there were, of each collection that rules are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Collection, number that the rules are about, and number of all before.
    pub collections: Vec<(Collection, u64, u64)>,
}

impl Retained {
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

/// Rules with the time that `older_than` stands for.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedRules {
    rules: RetentionRules,
    before_us: Option<i64>,
}

impl RetentionRules {
    /// Asks for the newest time of entry in a collection; null without documents.
    pub(crate) fn newest_sql(&self, collection: Collection) -> String {
        let of_program = self
            .program
            .map_or_else(String::new, |it| format!(" where pid = {it}"));
        format!("select max(entry) from {collection}{of_program}")
    }

    /// The rules, where the newest execution began at `newest_us`.
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
    /// The condition for the documents of a collection that are to be deleted.
    ///
    /// A normal execution stays as long as an anomaly does that it is compared with: the first normal one of the same
    /// function and rank in the step of the anomaly or after it. Trees of the sample stay, for models are learned from
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
            // A truth value as text is `0` on SQLite, `false` on PostgreSQL.
            Collection::Trees => format!(
                "{anomaly_is_deleted} and cast(doc ->> 'is_sample' as text) in ('0', 'false')"
            ),
            _ => anomaly_is_deleted,
        }
    }

    /// All conditions that are set, on the columns of a table.
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
            // Severity alone says nothing of normal executions.
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
