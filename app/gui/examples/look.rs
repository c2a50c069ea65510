//! Temporary: opens the window on a hand-made snapshot.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::all, clippy::pedantic)]
#[path = "../src/test_support.rs"]
mod test_support;
mod context {
    pub fn label_name(label: callgrove_session::Label) -> &'static str { callgrove_gui::context::label_name(label) }
}
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use callgrove_gui::{CallgroveApp, NoDialogs};
use callgrove_session::*;
use callgrove_model::TreeIdx;

fn main() {
    let scene = std::env::args().nth(1).unwrap_or_default();
    let dark = std::env::args().nth(2).as_deref() != Some("light");
    let (w, h) = (std::env::args().nth(3).map_or(1600.0, |v| v.parse().unwrap()), std::env::args().nth(4).map_or(1000.0, |v| v.parse().unwrap()));
    let ctx = eframe::egui::Context::default();
    ctx.set_theme(eframe::egui::Theme::from_dark_mode(dark));
    let (tx, rx) = sync_channel(1000);
    let cell = SnapshotCell::default();
    let base = test_support::snapshot(16, 362);
    let order = base.detection.as_ref().unwrap().order.clone();
    let first = match &scene[..] {
        "empty" => Snapshot::default(),
        "loading" => Snapshot { source: Some("runs/lammps-16r".into()), work: Some(Work { stage: "Reading rank 3 of 16".into(), fraction: 0.2 }), ..Default::default() },
        "failed" => Snapshot { source: Some("runs/lamps".into()), notices: Arc::new([Notice { id: 1, severity: Severity::Error, text: "no such folder: runs/lamps; check the spelling, or give the folder that holds the .bp folders".into() }]), ..Default::default() },
        _ => {
            let mut s = base.clone();
            for (i, l) in [(0, Label::Abnormal), (1, Label::Abnormal), (2, Label::Normal), (9, Label::Normal)] { s = test_support::with_label(&s, order[i], l); }
            let mut s = test_support::with_focus(&s, order[3]);
            s.num_untrained = 2;
            s.redo = Some("label 3 trees".into());
            let mut d = Detection::clone(s.detection.as_ref().unwrap());
            let mut before = d.place.clone();
            before.rotate_right(5);
            d.change = Some(Change { became_abnormal: order[30..50].to_vec(), became_normal: order[900..905].to_vec(), place_before: before, moves: (0..6).map(|i| Move { tree: order[i], from: 300 - i as u32 * 40, to: i as u32 }).collect() });
            s.detection = Some(Arc::new(d));
            if scene == "group" { s.selection = Selection::Group((100..180).map(TreeIdx).collect()); }
            if scene == "notice" { s.notices = Arc::new([Notice { id: 1, severity: Severity::Error, text: "cannot write /root/labels.csv: permission denied; choose another folder".into() }, Notice { id: 2, severity: Severity::Info, text: "412 labels were written to labels.csv".into() }]); s.work = Some(Work { stage: "Training stack2vec, epoch 12 of 50".into(), fraction: 0.43 }); }
            s
        }
    };
    cell.publish(Arc::new(first));
    let handle = SessionHandle::new(tx, cell.clone());
    let wake = ctx.clone();
    std::thread::spawn(move || for command in rx {
        println!("{command:?}");
        let old = cell.newest();
        let mut new = Snapshot::clone(&old);
        match command {
            Command::Select(Selection::One(t)) => new = test_support::with_focus(&new, t),
            Command::Select(s) => { new.explanation = match &s { Selection::Group(g) => test_support::with_focus(&new, g[g.len()/2]).explanation, _ => None }; new.selection = s },
            Command::SetLabel { trees, label: Some(label) } => for t in trees { new = test_support::with_label(&new, t, label) },
            _ => {}
        }
        cell.publish(Arc::new(new));
        wake.request_repaint();
    });
    let options = eframe::NativeOptions { viewport: eframe::egui::ViewportBuilder::default().with_inner_size([w, h]), ..Default::default() };
    eframe::run_native_ext("look", options, Some(ctx), Box::new(|cc| Ok(Box::new(CallgroveApp::new(cc, handle, Box::new(NoDialogs)))))).unwrap();
}
