//! Executions that are rare or long by design, as text.

use callgrove_judge::decision::{DesignClass, DesignKind};
use callgrove_trends::rank_ranges;

/// Returns the class of an execution as text: `every 25 executions on rank 0`, `first execution on each rank`.
pub fn design_text(class: &DesignClass) -> String {
    let on_ranks = match (class.is_everywhere, class.ranks.as_slice()) {
        (true, [_, _, ..]) => "on each rank".to_owned(),
        (_, ranks) => format!("on {}", rank_ranges(ranks)),
    };
    match class.kind {
        DesignKind::End { nth, is_start } => {
            format!("{} execution {on_ranks}", name(nth, is_start))
        }
        DesignKind::LongEnd { is_start } => {
            format!("{} execution, longer {on_ranks}", name(0, is_start))
        }
        DesignKind::Together { num_times } => format!("{num_times} times {on_ranks} at once"),
        DesignKind::Every { period } => format!("every {period} executions {on_ranks}"),
        DesignKind::LongEvery { period } => {
            format!("every {period} executions, longer {on_ranks}")
        }
    }
}

fn name(nth: u32, is_start: bool) -> &'static str {
    match (nth, is_start) {
        (0, true) => "first",
        (_, true) => "second",
        (0, false) => "last",
        (_, false) => "last but one",
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::RankId;

    use super::*;

    #[test]
    fn words_have_period_and_ranks() {
        let check = |kind, ranks: &[u32], is_everywhere, expected: &str| {
            let class = DesignClass {
                kind,
                ranks: ranks.iter().map(|&rank| RankId(rank)).collect(),
                is_everywhere,
            };
            assert_eq!(design_text(&class), expected);
        };
        let every = DesignKind::Every { period: 25 };
        check(every, &[0], false, "every 25 executions on rank 0");
        check(
            every,
            &[0, 4, 8],
            false,
            "every 25 executions on ranks 0, 4 and 8",
        );
        let long = DesignKind::LongEvery { period: 20 };
        check(
            long,
            &[1, 2, 3],
            false,
            "every 20 executions, longer on ranks 1 to 3",
        );
        let first = DesignKind::End {
            nth: 0,
            is_start: true,
        };
        check(first, &[0, 1, 2], true, "first execution on each rank");
        check(first, &[0], true, "first execution on rank 0");
        let last = DesignKind::End {
            nth: 1,
            is_start: false,
        };
        check(last, &[0, 1], true, "last but one execution on each rank");
        let long = DesignKind::LongEnd { is_start: true };
        check(
            long,
            &[0, 1, 2],
            false,
            "first execution, longer on ranks 0 to 2",
        );
        let together = DesignKind::Together { num_times: 7 };
        check(together, &[0, 1], true, "7 times on each rank at once");
    }
}
