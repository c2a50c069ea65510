//! The command line of `callgrove provdb`: serving and maintaining a provenance database.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use super::connection::CaArgs;
use super::pipeline::ProvDbServerArgs;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ProvDbCommandArgs {
    #[command(subcommand)]
    pub task: Option<UpkeepTask>,
    #[command(flatten)]
    pub serve: ProvDbServerArgs,
}

#[derive(Subcommand, Debug)]
pub enum UpkeepTask {
    /// Copy a database, which may be in use, and verify the copy
    Backup {
        /// Folder of the database
        #[arg(value_name = "FOLDER")]
        provdb: String,
        /// Folder to create for the copy
        #[arg(value_name = "TO")]
        to: PathBuf,
    },
    /// Release free space inside the files; no other process may have the database open
    Compact {
        /// Folder of the database
        #[arg(value_name = "FOLDER")]
        provdb: String,
    },
    /// Delete recorded executions and trees by rules; statistics, models, incidents and trends are kept. Without --yes
    /// it only reports what it would delete. A document is deleted if all given rules apply to it
    Retain(RetainArgs),
    /// Upgrade a database of an older release to the newest format; back it up first
    Upgrade {
        /// Folder of the database
        #[arg(value_name = "FOLDER")]
        provdb: String,
    },
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("rules").required(true).multiple(true)))]
pub struct RetainArgs {
    /// The database: its folder, or postgres://…
    #[arg(value_name = "FOLDER|URL")]
    pub provdb: String,
    /// Delete executions that began this long before the newest recorded one, such as 90s, 30m, 12h or 7d
    #[arg(long, value_name = "AGE", value_parser = age, group = "rules")]
    pub older_than: Option<Duration>,
    /// Delete executions that were judged in an I/O step before this one
    #[arg(long, value_name = "N", group = "rules")]
    pub before_step: Option<u32>,
    /// Delete anomalies with less exclusive time than this, and abnormal trees with a shorter duration, in
    /// microseconds. A normal execution is deleted with the anomalies that it is compared with
    #[arg(long, value_name = "US", group = "rules")]
    pub below_severity_us: Option<u32>,
    /// Delete documents of this program only
    #[arg(long, value_name = "N")]
    pub program: Option<u32>,
    /// Delete, instead of only reporting
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub ca: CaArgs,
}

/// Parses a number of seconds, minutes, hours or days.
fn age(text: &str) -> Result<Duration, String> {
    let parse = || {
        let (at, unit) = text.char_indices().next_back()?;
        let unit_s = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        let number: u64 = text.get(..at)?.parse().ok()?;
        number.checked_mul(unit_s).map(Duration::from_secs)
    };
    parse().ok_or_else(|| "expected a number and its unit, such as 90s, 30m, 12h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_number_and_a_unit() {
        assert_eq!(age("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(age("7d"), Ok(Duration::from_hours(168)));
        for wrong in [
            "",
            "7",
            "d",
            "-1h",
            "1.5h",
            "7 d",
            "7w",
            "1é",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
