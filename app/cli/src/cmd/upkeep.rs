//! `callgrove provdb backup`, `compact`, `retain` and `upgrade`.

use anyhow::Result;
use callgrove_model::thousands;
use callgrove_provdb::Collection;
use callgrove_provdb_stores::upkeep::{
    BackupSummary, CompactSummary, RetentionMode, RetentionRules, RetentionSummary, UpgradeSummary,
    back_up, compact, retain, upgrade,
};

use crate::connect::store_options;
use crate::output::{print, warn};
use callgrove_args::{RetainArgs, UpkeepTask};

pub(crate) fn run(task: &UpkeepTask) -> Result<()> {
    let line = match task {
        UpkeepTask::Backup { provdb, to } => {
            let BackupSummary {
                documents,
                size_bytes,
            } = back_up(provdb, to)?;
            let documents = documents.into_iter().filter(|it| it.1 > 0);
            let counts: Vec<String> = documents.map(|it| counted(it.1, it.0)).collect();
            let counts = if counts.is_empty() {
                "no documents".to_owned()
            } else {
                counts.join(", ")
            };
            format!(
                "{} has a verified copy of {provdb}: {counts} ({})",
                to.display(),
                size(size_bytes)
            )
        }
        UpkeepTask::Compact { provdb } => {
            let CompactSummary {
                before_bytes,
                after_bytes,
            } = compact(provdb)?;
            format!(
                "{provdb}: {} before, {} after",
                size(before_bytes),
                size(after_bytes)
            )
        }
        UpkeepTask::Retain(args) => retained(args)?,
        UpkeepTask::Upgrade { provdb } => {
            let UpgradeSummary { from, to, num_made } = upgrade(provdb)?;
            match (from == to, num_made) {
                (true, 0) => format!("{provdb} has the newest format ({to})"),
                (true, _) => format!(
                    "{provdb} has the newest format ({to}); created {num_made} missing tables or indexes"
                ),
                (false, _) => {
                    format!("upgraded {provdb} from format {from} to the newest format ({to})")
                }
            }
        }
    };
    print(|out| writeln!(out, "{line}"))
}

fn retained(args: &RetainArgs) -> Result<String> {
    let rules = RetentionRules {
        program: args.program,
        older_than: args.older_than,
        before_step: args.before_step,
        below_severity_us: args.below_severity_us,
    };
    let mode = if args.yes {
        RetentionMode::Delete
    } else {
        RetentionMode::Count
    };
    let options = store_options(
        callgrove_provdb::AccessMode::ReadWrite,
        None,
        None,
        &args.ca,
    );
    let RetentionSummary { collections } = retain(&args.provdb, &options, &rules, mode)?;
    let counts = collections.iter().map(|(collection, matching, all)| {
        format!("{} of {}", thousands(*matching), counted(*all, *collection))
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let is_any = collections.iter().any(|it| it.1 > 0);
    if !args.yes && is_any {
        warn("nothing was deleted; pass --yes to delete");
    } else if is_any && !args.provdb.contains("://") {
        warn(&format!(
            "the files keep their size until `callgrove provdb compact {}`",
            args.provdb
        ));
    }
    let deleted = if args.yes { "deleted" } else { "would delete" };
    Ok(format!("{deleted} {counts}"))
}

fn counted(number: u64, collection: Collection) -> String {
    format!("{} {collection}", thousands(number))
}

fn size(size_bytes: u64) -> String {
    match size_bytes {
        0..1_000_000 => format!("{:.1} kB", size_bytes as f64 / 1e3),
        _ => format!("{:.1} MB", size_bytes as f64 / 1e6),
    }
}
