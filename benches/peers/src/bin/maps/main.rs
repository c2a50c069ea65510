//! Callgrove's t-SNE and nearest neighbours compared with those of manifolds-rs, on the same rows.

mod callgrove;
mod manifolds;
mod rows;

use std::time::Instant;

use callgrove_trees::dataset::Rows;
use callgrove_map::knn::all_nearest;
use callgrove_map::projection::{
    Affinities, Tsne, TsneParams, kruskal_stress, neighbours_preserved, trustworthiness_sampled,
};
use callgrove_trees::{MlError, Progress};
use cpu_time::ProcessTime;

/// Number of rows sampled for the quality measures.
const SAMPLE: usize = 2_000;

const HELP: &str =
    "usage: callgrove-peers FOREST.jsonl [--copies N] [--ours-only] [--iterations N]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or(HELP)?;
    let (mut copies, mut iterations, mut is_alone) = (1, 1_000, false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--copies" => copies = args.next().ok_or(HELP)?.parse()?,
            "--iterations" => iterations = args.next().ok_or(HELP)?.parse()?,
            "--ours-only" => is_alone = true,
            _ => return Err(HELP.into()),
        }
    }
    let rows = rows::stack2vec_rows(&path, copies)?;
    println!(
        "{} rows, {} columns, {iterations} iterations",
        rows.len(),
        rows.num_columns()
    );
    callgrove::neighbours(&rows)?;
    callgrove::other_maps(&rows)?;
    let quality = Quality::new(&rows)?;
    let ours = quality.report("callgrove", || callgrove::tsne(&rows, iterations))?;
    if !is_alone {
        let theirs = quality.report("manifolds-rs", || manifolds::tsne(&rows, iterations))?;
        println!("CPU time of manifolds-rs / callgrove: {:.2}", theirs / ours);
    }
    Ok(())
}

/// Runs `work` and returns its result with seconds of CPU and of wall time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    let result = work();
    (
        result,
        cpu.elapsed().as_secs_f64(),
        wall.elapsed().as_secs_f64(),
    )
}

/// Measures the quality of maps of the same rows.
struct Quality<'a> {
    rows: &'a Rows,
    affinities: Affinities,
}

impl<'a> Quality<'a> {
    fn new(rows: &'a Rows) -> Result<Self, MlError> {
        let perplexity = TsneParams::default().perplexity;
        let neighbours = all_nearest(rows, 90, Progress::none())?;
        let affinities = Affinities::new(&neighbours, perplexity);
        Ok(Self { rows, affinities })
    }

    /// Prints time and quality of a map; returns the CPU time.
    fn report(
        &self,
        name: &str,
        draw: impl FnOnce() -> Result<Vec<[f64; 2]>, Box<dyn std::error::Error>>,
    ) -> Result<f64, Box<dyn std::error::Error>> {
        let (points, cpu, wall) = timed(draw);
        let points = points?;
        let preserved = neighbours_preserved(self.rows, &points, 10, SAMPLE)?;
        let trust = trustworthiness_sampled(self.rows, &points, 12, SAMPLE)?;
        let stress = kruskal_stress(self.rows, &points, SAMPLE)?;
        let divergence = self.divergence(points)?;
        println!(
            "{name:14} CPU {cpu:6.2} s  wall {wall:6.2} s  KL {divergence:.4}  knn10 {preserved:.3}  trust12 {trust:.4}  stress {stress:.3}"
        );
        Ok(cpu)
    }

    /// Over all pairs, unless there are too many.
    fn divergence(&self, points: Vec<[f64; 2]>) -> Result<f64, MlError> {
        let theta = if points.len() > 20_000 { 0.2 } else { 0.0 };
        let params = TsneParams {
            theta,
            ..TsneParams::default()
        };
        Ok(Tsne::new(self.affinities.clone(), points, params.check()?)?.divergence())
    }
}
