//! All programs.

use super::program::SimulatedProgram;
use super::{bulk_synchronous, dataflow, regular, within_node};

/// One program of each kind.
pub const PROGRAMS: [SimulatedProgram; 15] = [
    bulk_synchronous::HALO,
    bulk_synchronous::ALL_TO_ALL,
    dataflow::WAVEFRONT,
    dataflow::MASTER_AND_WORKERS,
    bulk_synchronous::DRIFTING_WORK,
    bulk_synchronous::PHASES,
    within_node::THREADS,
    within_node::GPU_STREAMS,
    bulk_synchronous::ROW_COLLECTIVES,
    bulk_synchronous::CHECKPOINTING,
    dataflow::STAGED_PIPELINE,
    bulk_synchronous::RESTARTED_SOLVER,
    regular::SNAPSHOTS,
    regular::LINE_RELAXATION,
    regular::ENSEMBLE,
];

#[cfg(test)]
mod tests {
    use callgrove_evaluate::evaluate::Class;

    use super::*;

    #[test]
    fn a_run_is_reproducible_and_has_anomalies_of_every_kind_where_injected() {
        for program in PROGRAMS {
            let [run, again] = [3, 3].map(|seed| program.injected(seed));
            assert_eq!(run.classes, again.classes, "{}", program.name);
            let share = |wanted: &dyn Fn(Class) -> bool| {
                let count = run.classes.iter().filter(|&&class| wanted(class)).count();
                count as f64 / run.classes.len() as f64
            };
            let abnormal = share(&|class| matches!(class, Class::Positive(_)));
            assert!(
                (0.004..0.25).contains(&abnormal),
                "{} {abnormal}",
                program.name
            );
            let normal = share(&|class| class == Class::Negative);
            assert!(normal > 0.6, "{} {normal}", program.name);
            assert!(run.forest.len() >= 1_000, "{}", program.name);
            let clean = program.clean(3);
            let is_normal = |class: &Class| *class == Class::Negative;
            assert!(clean.classes.iter().all(is_normal), "{}", program.name);
            assert_ne!(
                clean.forest.num_vertices(),
                run.forest.num_vertices(),
                "{}",
                program.name
            );
        }
    }
}
