//! `callgrove draw`: writes a view as a picture.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use callgrove_model::{ExecLabel, ProgramId, Trace};
use callgrove_session::{Command, PatternId, Snapshot};
use callgrove_tables::{FlatTable, MapPointRow};
use callgrove_views::picture::{PictureSubject, ViewPicture, draw_view};

use super::session_wait::{JournalUse, open_session};
use crate::output::{print, warn};
use crate::stop::StopSignal;
use crate::table_output::TableDestination;
use callgrove_args::DrawArgs;
use callgrove_headless::{Readers, replace_file};

/// The formats of pictures, by the extension of the file.
const EXTENSIONS: [&str; 2] = ["svg", "png"];

pub(crate) fn run(args: &DrawArgs) -> Result<()> {
    let table = args.table_of_map();
    let table = table.as_ref().map(TableDestination::of).transpose()?;
    if table.is_none() {
        check_extension(&args.out)?;
    }
    let mut opened = open_session(
        &args.trace.source(),
        args.function.as_deref(),
        JournalUse::Ignored,
        &StopSignal::listen()?,
    )?;
    if let Some(source) = args.against.clone() {
        let refused = opened.perform([Command::CompareWith { source }])?;
        if let Some(error) = refused {
            bail!(error);
        }
    }
    let wanted = wanted(args, opened.session.snapshot())?;
    let (session, wait) = opened.parts();
    // The map is ready when it is drawn.
    let picture = draw_view(session, &wanted, wait)?;
    if let Some(table) = table {
        let points = MapPointRow::all(session.snapshot()).context("the run has no map")?;
        table.write_rows(&FlatTable::default(), points)?;
        return Ok(());
    }
    let content = picture.file(&args.out.to_string_lossy())?;
    replace_file(&args.out, &content, Readers::ByMask)
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    warn_of_damage(opened.session.snapshot());
    print(|out| writeln!(out, "{}: {}", args.out.display(), picture.title()))
}

fn check_extension(out: &Path) -> Result<()> {
    let extension = out.extension().unwrap_or_default().to_ascii_lowercase();
    ensure!(
        EXTENSIONS.iter().any(|known| extension == *known),
        "{} needs another extension: name it {} or {}",
        out.display(),
        out.with_extension("svg").display(),
        out.with_extension("png").display()
    );
    Ok(())
}

fn warn_of_damage(snapshot: &Snapshot) {
    let damage = snapshot
        .trace()
        .map(|trace| trace.warnings.damage().count());
    if let Some(num_kinds @ 1..) = damage {
        warn(&format!(
            "the trace has {num_kinds} kinds of damage, which `callgrove info` lists; the picture shows what could be read"
        ));
    }
}

fn wanted(args: &DrawArgs, snapshot: &Snapshot) -> Result<ViewPicture> {
    let trace = snapshot.trace().context("the run has no trace")?;
    let size = [args.size.width, args.size.height].map(|side| side as f32);
    let (view, scale) = (args.view, args.scale);
    Ok(ViewPicture {
        subject: subject(args, trace)?,
        time: args.time.map(|part| part.time_range(trace)),
        // The size is that of the picture, however large its texts are.
        size: size.map(|side| side / scale),
        scale,
        is_dark: args.dark,
        title: args.title.clone(),
        ..ViewPicture::new(view, size)
    })
}

fn subject(args: &DrawArgs, trace: &Trace) -> Result<PictureSubject> {
    if let Some(number) = args.incident {
        let index = number
            .checked_sub(1)
            .context("incidents are counted from 1")?;
        return Ok(PictureSubject::Incident(index));
    }
    if let Some(number) = args.pattern {
        return Ok(PictureSubject::Pattern(PatternId(number)));
    }
    let Some(text) = &args.execution else {
        return Ok(PictureSubject::Run);
    };
    let label = ExecLabel::parse(text).with_context(|| {
        format!("{text} is no execution: write RANK:STEP:INDEX, as in the column event_id of `callgrove analyze --format csv`")
    })?;
    let mut lanes = trace.lanes.iter();
    let lane = lanes.find(|lane| lane.rank == label.rank);
    let program = lane.map_or(ProgramId(0), |lane| lane.program);
    Ok(PictureSubject::Execution { program, label })
}
