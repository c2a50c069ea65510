//! Compact encoding of bars, which are most of the data that a moving timeline requests.

use callgrove_model::{ExecIdx, FuncId, TimeNs};
use serde::{Deserialize, Serialize};

use crate::timeline::Bar;

/// Nanoseconds per microsecond, the unit of most tracers.
const NS_PER_US: i64 = 1_000;

/// The bars of a lane in a time range.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BarColumns", into = "BarColumns")]
pub struct LaneBars(pub Vec<Bar>);

/// The bars in columns, each number as the difference from the one before.
#[derive(Serialize, Deserialize)]
struct BarColumns {
    /// Unit of all times, in nanoseconds.
    unit: i64,
    exec: Vec<i64>,
    func: Vec<FuncId>,
    from: Vec<i64>,
    /// Duration of each bar.
    length: Vec<i64>,
    level: Vec<i64>,
    num_calls: Vec<u64>,
    in_tree: Vec<bool>,
}

impl From<LaneBars> for BarColumns {
    fn from(LaneBars(bars): LaneBars) -> Self {
        let is_in_us = |bar: &Bar| bar.from.0 % NS_PER_US == 0 && bar.to.0 % NS_PER_US == 0;
        let unit = if bars.iter().all(is_in_us) {
            NS_PER_US
        } else {
            1
        };
        let differences = |of: &dyn Fn(&Bar) -> i64| -> Vec<i64> {
            let mut last = 0;
            let difference = |bar| {
                let value = of(bar);
                value.wrapping_sub(std::mem::replace(&mut last, value))
            };
            bars.iter().map(difference).collect()
        };
        Self {
            unit,
            exec: differences(&|bar| i64::from(bar.exec.0)),
            func: bars.iter().map(|bar| bar.func).collect(),
            from: differences(&|bar| bar.from.0 / unit),
            length: (bars.iter())
                .map(|bar| (bar.to.0 / unit).wrapping_sub(bar.from.0 / unit))
                .collect(),
            level: differences(&|bar| i64::try_from(bar.level).unwrap_or(i64::MAX)),
            num_calls: bars.iter().map(|bar| bar.num_calls as u64).collect(),
            in_tree: bars.iter().map(|bar| bar.in_tree).collect(),
        }
    }
}

impl From<BarColumns> for LaneBars {
    fn from(columns: BarColumns) -> Self {
        let (mut exec, mut from, mut level) = (0_i64, 0_i64, 0_i64);
        let rows = columns.exec.iter().zip(&columns.func).zip(&columns.from);
        let rows = rows.zip(&columns.length).zip(&columns.level);
        let rows = rows.zip(&columns.num_calls).zip(&columns.in_tree);
        let bars = rows.map(
            |((((((of_exec, func), of_from), length), of_level), num_calls), in_tree)| {
                exec = exec.wrapping_add(*of_exec);
                from = from.wrapping_add(*of_from);
                level = level.wrapping_add(*of_level);
                Bar {
                    exec: ExecIdx(u32::try_from(exec).unwrap_or(u32::MAX)),
                    func: *func,
                    from: TimeNs(from.wrapping_mul(columns.unit)),
                    to: TimeNs(from.wrapping_add(*length).wrapping_mul(columns.unit)),
                    level: usize::try_from(level).unwrap_or(usize::MAX),
                    num_calls: usize::try_from(*num_calls).unwrap_or(usize::MAX),
                    in_tree: *in_tree,
                }
            },
        );
        Self(bars.collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bars_survive_encoding(
            rows in prop::collection::vec((any::<u32>(), 0..9_u32, any::<i64>(), any::<i64>(), 0..40_usize), 0..30),
            in_us in any::<bool>(),
        ) {
            let unit = if in_us { NS_PER_US } else { 1 };
            let time = |ns: i64| TimeNs(ns / 2 / NS_PER_US * unit);
            let bar = |&(exec, func, from, to, level): &(u32, u32, i64, i64, usize)| Bar {
                exec: ExecIdx(exec),
                func: FuncId(func),
                from: time(from),
                to: time(to),
                level,
                num_calls: level + 1,
                in_tree: level % 2 == 0,
            };
            let bars = LaneBars(rows.iter().map(bar).collect());
            let bytes = rmp_serde::to_vec(&bars).unwrap();
            prop_assert_eq!(rmp_serde::from_slice::<LaneBars>(&bytes).unwrap(), bars);
        }
    }

    #[test]
    fn a_bar_takes_few_bytes() {
        let bar = |at: i64| Bar {
            exec: ExecIdx(at as u32 * 7),
            func: FuncId(at as u32 % 5),
            from: TimeNs(1_795_231_715_000_000_000 + at * 900_000),
            to: TimeNs(1_795_231_715_000_000_000 + at * 900_000 + 700_000),
            level: 0,
            num_calls: 7,
            in_tree: false,
        };
        let bars = LaneBars((0..1_000).map(bar).collect());
        let num_bytes = rmp_serde::to_vec(&bars).unwrap().len();
        assert!(num_bytes < 12_000, "{num_bytes} bytes");
    }
}
