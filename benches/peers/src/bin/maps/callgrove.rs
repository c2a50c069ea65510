//! Callgrove's maps and neighbours.

use std::error::Error;

use callgrove_trees::Progress;
use callgrove_trees::dataset::Rows;
use callgrove_map::knn::all_nearest;
use callgrove_map::projection::{
    MdsParams, Smacof, Tsne, TsneParams, kruskal_stress, landmark_mds, pivot_mds,
};

use crate::{SAMPLE, timed};

pub(crate) fn tsne(rows: &Rows, iterations: usize) -> Result<Vec<[f64; 2]>, Box<dyn Error>> {
    let params = TsneParams {
        iterations,
        ..TsneParams::default()
    };
    let (map, cpu, _) = timed(|| Tsne::from_rows(rows, params.check()?, 1, Progress::none()));
    println!("  t-SNE: neighbours, affinities and start: CPU {cpu:.2} s");
    let mut map = map?;
    map.run(Progress::none())?;
    Ok(map.points().to_vec())
}

pub(crate) fn neighbours(rows: &Rows) -> Result<(), Box<dyn Error>> {
    for k in [10, 90] {
        let (found, cpu, wall) = timed(|| all_nearest(rows, k, Progress::none()));
        found?;
        println!("all {k} nearest: CPU {cpu:.3} s, wall {wall:.3} s");
    }
    Ok(())
}

pub(crate) fn other_maps(rows: &Rows) -> Result<(), Box<dyn Error>> {
    let params = MdsParams::default().check()?;
    let (landmark, cpu, _) = timed(|| landmark_mds(rows, params, 1, Progress::none()));
    let stress = kruskal_stress(rows, &landmark?.points, SAMPLE)?;
    println!("landmark MDS: CPU {cpu:.3} s, stress {stress:.3}");
    let (pivot, cpu, _) = timed(|| pivot_mds(rows, params, 1, Progress::none()));
    let pivot = pivot?;
    let stress = kruskal_stress(rows, &pivot.points, SAMPLE)?;
    println!("pivot MDS: CPU {cpu:.3} s, stress {stress:.3}");
    let (smacof, cpu, _) = timed(|| Smacof::new(rows, pivot.points, Progress::none()));
    let Ok(mut smacof) = smacof else {
        println!("stress majorisation: too many rows");
        return Ok(());
    };
    println!("stress majorisation: distances CPU {cpu:.3} s");
    let (stress, cpu, _) = timed(|| smacof.step(20, Progress::none()));
    stress?;
    let stress = kruskal_stress(rows, smacof.points(), SAMPLE)?;
    println!("  20 steps: CPU {cpu:.3} s, stress {stress:.3}");
    Ok(())
}
