//! Probe.
use callgrove_benches::meter::cpu_seconds;
use callgrove_ml::Progress;
use callgrove_ml::forest_file::{Limits, read_forest};
use callgrove_ml::wl::{WlParams, relabel};
use callgrove_ml::features::*;
use std::io::BufReader;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let (file, s) = cpu_seconds(|| read_forest(BufReader::with_capacity(1<<20, std::fs::File::open(path).unwrap()), 0, Limits::default(), Progress::none()).unwrap());
    println!("read {s:.3} trees {} vertices {}", file.forest.len(), file.forest.num_vertices());
    for (name, p) in [("bucketed", WlParams::default()), ("exact", WlParams::paper())] {
        let p = p.check().unwrap();
        let mut c = vec![]; let mut w = vec![];
        let mut last = None;
        for _ in 0..40 {
            let t = std::time::Instant::now();
            let (r, s) = cpu_seconds(|| relabel(&file.forest, p, Progress::none()).unwrap());
            w.push(t.elapsed().as_secs_f64()); c.push(s); last = Some(r);
        }
        c.sort_by(f64::total_cmp); w.sort_by(f64::total_cmp);
        let r = last.unwrap();
        println!("{name}: cpu {:.1} wall {:.1} ms min {:.1}; labels {} entries {}", c[4]*1e3, w[4]*1e3, w[0]*1e3, r.vocabulary.len(), r.bags.num_entries());
        let mut c = vec![];
        for _ in 0..5 {
            let (reference, s0) = cpu_seconds(|| ReferenceTimes::fit(&r.bags, ExcessParams::default().min_class_size));
            let len = r.vocabulary.len();
            let model = ExcessModel::new(ExcessParams::default().check().unwrap(), len);
            let (rows, s1) = cpu_seconds(|| model.rows(&r.bags, &reference, &Translation::identity(len)).unwrap());
            c.push((s0, s1)); drop(rows);
        }
        println!("features: {c:?}");
    }
}
