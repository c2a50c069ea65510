//! temporary
use callgrove_gui::{context::ViewContext, theme::Theme, views};
use callgrove_model::*;
use callgrove_session::*;
use eframe::egui;
use std::sync::Arc;
struct H;
impl Host for H {
    fn load_trace(&mut self, source: &str, _p: Progress<'_>) -> Result<Trace, HostError> {
        let mut ranks = vec![];
        for r in 0..64u32 {
            let Ok(ns) = std::fs::read_to_string(format!("{source}/{r}.names")) else { break };
            let mut names = NameTable::default();
            for n in ns.lines() { names.intern(n); }
            let rd = |e: &str| -> Vec<u64> { std::fs::read(format!("{source}/{r}.{e}")).unwrap().chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect() };
            let (ev, co) = (rd("ev"), rd("co"));
            let mut b = RankBuilder::new(ProgramId(0), RankId(r));
            let mut batch = StepBatch::empty(ProgramId(0), RankId(r), StepId(0));
            let ids: Vec<FuncId> = ns.lines().map(|n| names.get(n).unwrap()).collect();
            for (i, e) in ev.chunks(7).enumerate() {
                if e[2] != 0 { continue }
                batch.funcs.push(ThreadId(0), if e[3] == 0 { FuncEventKind::Entry } else { FuncEventKind::Exit }, ids[e[4] as usize], TimeNs(e[5] as i64 * 1000), i as u32);
            }
            for c in co.chunks(8) {
                batch.comms.push(ThreadId(0), if c[3] == 2 { CommKind::Send } else { CommKind::Recv }, c[4], RankId(c[5] as u32), c[6], TimeNs(c[7] as i64 * 1000));
            }
            b.push(batch);
            ranks.push(b.finish(names, NameTable::default()));
        }
        Ok(Trace::assemble(ranks, Warnings::default()))
    }
    fn open_journal(&mut self, _s: &str) -> Result<Vec<String>, HostError> { Ok(vec![]) }
    fn append_journal(&mut self, _l: &str) -> Result<(), HostError> { Ok(()) }
    fn read_file(&mut self, _p: &str) -> Result<Vec<u8>, HostError> { Err(HostError::Cancelled) }
    fn write_file(&mut self, _p: &str, _c: &[u8]) -> Result<(), HostError> { Err(HostError::Cancelled) }
}
struct App { engine: Engine, cell: SnapshotCell, tree: views::tree::TreeState, tl: views::timeline::TimelineState, which: String, dark: bool, times: Vec<f32> }
impl eframe::App for App {
    fn ui(&mut self, ui: &mut egui::Ui, _f: &mut eframe::Frame) {
        let t = std::time::Instant::now();
        let snapshot = self.cell.newest();
        let legend = snapshot.analysis.as_ref().map_or(vec![], |a| a.legend.clone());
        let theme = Theme::new(self.dark, &legend);
        let mut commands = vec![];
        let mut ctx = ViewContext { snapshot: &snapshot, theme: &theme, commands: &mut commands };
        egui::CentralPanel::default().show(ui, |ui| {
            let h = ui.available_height();
            if self.which != "timeline" {
                let hh = if self.which == "both" { h * 0.5 } else { h };
                ui.allocate_ui(egui::vec2(ui.available_width(), hh), |ui| { ui.set_min_height(hh); ui.push_id("a", |ui| views::tree::tree_ui(&mut ctx, &mut self.tree, ui)) });
            }
            if self.which != "tree" { ui.push_id("b", |ui| views::timeline::timeline_ui(&mut ctx, &mut self.tl, ui)); }
        });
        self.times.push(t.elapsed().as_secs_f32() * 1e3);
        if self.times.len() % 30 == 0 { let s = &mut self.times; s.sort_by(f32::total_cmp); eprintln!("ui ms median {:.2} max {:.2}", s[s.len() / 2], s[s.len() - 1]); s.clear(); }
        for c in commands { eprintln!("{c:?}"); self.engine.handle(c); ui.ctx().request_repaint(); }
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let cell = SnapshotCell::default();
    let mut engine = Engine::new(Box::new(H), LearnSettings::with_seed(1), cell.clone(), Arc::new(|| {}));
    engine.handle(Command::OpenTrace { source: a[1].clone(), function: Some(std::env::var("ROOT").unwrap_or("PairEAM::compute".into())) });
    engine.handle(Command::Train);
    let s = cell.newest();
    for n in s.notices.iter() { eprintln!("{n:?}"); }
    let an = s.analysis.clone().unwrap();
    let d = s.detection.clone().unwrap();
    eprintln!("{} trees, {} abnormal, median {}", an.forest.len(), d.num_abnormal, an.median_duration);
    for &t in d.order.iter().take(12) { eprintln!("{} {:.4} {} n={}", an.forest.code(t), d.scores[t.index()], an.forest.tree(t).duration(), an.forest.tree(t).len()); }
    let big = (0..an.forest.len()).map(TreeIdx::from_index).max_by_key(|&t| an.forest.tree(t).len()).unwrap();
    eprintln!("largest {} n={}", an.forest.code(big), an.forest.tree(big).len());
    let pick = (0..an.forest.len()).map(TreeIdx::from_index).find(|&t| an.forest.code(t).to_string() == a[2]).unwrap_or(if a[2] == "big" { big } else { d.order[0] });
    if a[2] != "none" { engine.handle(Command::Select(Selection::One(pick))); }
    if let Some(e) = cell.newest().explanation.clone() { for f in e.findings.iter().take(6) { eprintln!("{:.3} {} {} usual {} deg {} n {} trees {}", f.importance, an.forest.trace().names.name(f.func), f.time, f.usual_time, f.degree, f.vertices.len(), f.num_trees); } }
    let dark = a[4] == "dark";
    let _: Arc<_> = an;
    let mut app = Some(App { engine, cell, tree: Default::default(), tl: Default::default(), which: a[3].clone(), dark, times: vec![] });
    eframe::run_native("peek", eframe::NativeOptions { viewport: egui::ViewportBuilder::default().with_inner_size([1280.0, 800.0]), ..Default::default() }, Box::new(move |cc| {
        cc.egui_ctx.set_theme(if dark { egui::Theme::Dark } else { egui::Theme::Light });
        Ok(Box::new(app.take().unwrap()))
    })).unwrap();
}
