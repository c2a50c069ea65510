//! Configuration files: options of commands, in TOML.
//!
//! ```toml
//! log-format = "json"            # for every command with this option
//! [pserver]
//! listen = "0.0.0.0:5559"        # for one command
//! [model.publish]
//! server = "http://head:5559"
//! ```
//!
//! The settings are inserted as arguments before those of the command line, which take precedence.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use callgrove_model::count_of;
use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

/// The option with the path of the file.
const OPTION: &str = "--config";

/// The settings of a configuration file.
#[derive(Default)]
pub struct ConfigFile {
    path: PathBuf,
    settings: Table,
}

impl ConfigFile {
    /// Reads the file that the process's arguments name, if any, and checks it against the commands of `cli`.
    ///
    /// # Errors
    /// If the file cannot be read, or has a setting that no command has.
    pub fn of_arguments(arguments: &[OsString], cli: &Command) -> Result<Self> {
        let mut settings_of = arguments
            .iter()
            .enumerate()
            .filter_map(|(index, argument)| {
                let argument = argument.to_str()?;
                if argument == OPTION {
                    return arguments.get(index + 1).map(PathBuf::from);
                }
                let value = argument.strip_prefix(OPTION)?.strip_prefix('=')?;
                Some(PathBuf::from(value))
            });
        settings_of
            .next()
            .map_or(Ok(Self::default()), |path| Self::read(&path, cli))
    }

    fn read(path: &Path, cli: &Command) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let settings: Table =
            toml::from_str(&text).with_context(|| format!("{} is not TOML", path.display()))?;
        check(&settings, cli, true).with_context(|| format!("cannot use {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            settings,
        })
    }

    /// Returns the arguments, with the settings for their command inserted in front of its own arguments.
    ///
    /// # Errors
    /// If a setting has a value of a type that no option takes, such as a date.
    pub fn with_settings(
        &self,
        mut arguments: Vec<OsString>,
        cli: &Command,
    ) -> Result<Vec<OsString>> {
        let (mut command, mut index) = (cli, 0);
        let mut tables = vec![&self.settings];
        // The first word that is a command is the command; subcommands follow directly.
        while let Some((at, within)) = next_command(command, &arguments, index) {
            (command, index) = (within, at);
            let of_command = tables.last().and_then(|it| it.get(within.get_name()));
            tables.extend(of_command.and_then(Value::as_table));
        }
        let mut settings: BTreeMap<&str, &Value> = BTreeMap::new();
        for table in tables {
            let of_options = table.iter().filter(|(_, value)| !value.is_table());
            settings.extend(of_options.map(|(name, value)| (name.as_str(), value)));
        }
        let mut before = Vec::new();
        for option in options(command) {
            let name = option.get_long().unwrap_or_default();
            if let Some(value) = names(option)
                .find_map(|name| settings.get(name))
                .filter(|_| !is_stated(option, &arguments))
            {
                push(&mut before, name, value)
                    .with_context(|| format!("cannot use {}", self.path.display()))?;
            }
        }
        let index = (index + 1).min(arguments.len());
        arguments.splice(index..index, before);
        Ok(arguments)
    }

    /// Returns a summary of the settings, in one line.
    pub fn summary(&self) -> String {
        let num_commands = self.settings.values().filter(|it| it.is_table()).count();
        let num_common = self.settings.len() - num_commands;
        match &self.path {
            path if path.as_os_str().is_empty() => {
                "no --config is given; --print shows all settings".to_owned()
            }
            path => format!(
                "{} configures {}, and sets {}",
                path.display(),
                count_of(num_commands, "command"),
                count_of(num_common, "common option")
            ),
        }
    }

    /// Returns the options of all commands as a configuration file: those that are set, and the others as comments with
    /// their defaults.
    pub fn print(&self, cli: &Command) -> String {
        let mut text = String::new();
        for option in options(cli) {
            print_option(
                &mut text,
                option,
                names(option).find_map(|name| self.settings.get(name)),
            );
        }
        let global: Vec<&str> = options(cli).filter_map(Arg::get_long).collect();
        print_commands(&mut text, cli, &self.settings, "", &global);
        text
    }
}

/// Returns the options that a file may set.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let excluded = ["config", "help", "version"];
    command
        .get_arguments()
        .filter(move |it| it.get_long().is_some_and(|name| !excluded.contains(&name)))
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|it| it.get_name() != "help" && !it.is_hide_set())
}

/// Returns the next subcommand of `command` in the arguments after an index, and its index.
fn next_command<'a>(
    command: &'a Command,
    arguments: &[OsString],
    index: usize,
) -> Option<(usize, &'a Command)> {
    let is_first = command.get_name() == "callgrove";
    let words = arguments.iter().enumerate().skip(index + 1);
    let mut words = words.take(if is_first { usize::MAX } else { 1 });
    words.find_map(|(at, word)| {
        let word = word.to_str()?;
        let is_it = |it: &&Command| {
            it.get_name() == word || it.get_all_aliases().any(|alias| alias == word)
        };
        Some((at, command.get_subcommands().find(is_it)?))
    })
}

/// Returns the long names of an option: the current one, and those of earlier releases.
fn names(option: &Arg) -> impl Iterator<Item = &str> {
    let aliases = option.get_all_aliases().unwrap_or_default();
    option.get_long().into_iter().chain(aliases)
}

/// Returns whether an option is on the command line.
fn is_stated(option: &Arg, arguments: &[OsString]) -> bool {
    let longs: Vec<String> = names(option).map(|name| format!("--{name}")).collect();
    let short = option.get_short().map(|short| format!("-{short}"));
    arguments
        .iter()
        .map(|it| OsStr::to_string_lossy(it))
        .any(|word| {
            let mut rests = longs.iter().filter_map(|long| word.strip_prefix(&**long));
            rests.any(|rest| rest.is_empty() || rest.starts_with('='))
                || short.as_ref().is_some_and(|short| word.starts_with(short))
        })
}

/// Appends an option to the arguments.
fn push(arguments: &mut Vec<OsString>, name: &str, value: &Value) -> Result<()> {
    let of_value = |text: String| OsString::from(format!("--{name}={text}"));
    match value {
        Value::Boolean(true) => arguments.push(format!("--{name}").into()),
        Value::Boolean(false) => {}
        Value::String(text) => arguments.push(of_value(text.clone())),
        Value::Integer(number) => arguments.push(of_value(number.to_string())),
        Value::Float(number) => arguments.push(of_value(number.to_string())),
        Value::Array(values) => values
            .iter()
            .try_for_each(|value| push(arguments, name, value))?,
        Value::Datetime(_) | Value::Table(_) => {
            bail!(
                "{name} must be text, a number, true, false, or a list of these: put it in quotes"
            )
        }
    }
    Ok(())
}

/// Checks that every setting of a table is an option of its command or, at the top, of any command.
fn check(table: &Table, command: &Command, is_top: bool) -> Result<()> {
    for (name, value) in table {
        let within = subcommands(command).find(|it| it.get_name() == name);
        if let (Some(within), Some(table)) = (within, value.as_table()) {
            check(table, within, false).with_context(|| format!("in [{name}]"))?;
            continue;
        }
        let has = |command: &Command| options(command).any(|it| names(it).any(|it| it == name));
        let is_known = has(command) || is_top && all_commands(command).iter().any(|it| has(it));
        ensure!(
            is_known,
            "unknown option `{name}`; `callgrove config --print` prints all options"
        );
    }
    Ok(())
}

fn all_commands(command: &Command) -> Vec<&Command> {
    let within = subcommands(command).flat_map(all_commands);
    std::iter::once(command).chain(within).collect()
}

fn print_commands(
    text: &mut String,
    command: &Command,
    settings: &Table,
    path: &str,
    global: &[&str],
) {
    for within in subcommands(command) {
        let table = settings.get(within.get_name()).and_then(Value::as_table);
        let path = format!("{path}{}", within.get_name());
        let own = || {
            options(within).filter(|it| it.get_long().is_some_and(|name| !global.contains(&name)))
        };
        if own().next().is_some() {
            // Writing to a string cannot fail.
            let _infallible = writeln!(text, "\n[{path}]");
        }
        for option in own() {
            let value = table.and_then(|it| names(option).find_map(|name| it.get(name)));
            print_option(text, option, value);
        }
        print_commands(
            text,
            within,
            table.unwrap_or(&Table::new()),
            &format!("{path}."),
            global,
        );
    }
}

fn print_option(text: &mut String, option: &Arg, value: Option<&Value>) {
    let name = option.get_long().unwrap_or_default();
    let help = option
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let line = if let Some(value) = value {
        format!("{name} = {value}")
    } else {
        format!("# {name} = {}", default_of(option))
    };
    let help = help.lines().collect::<Vec<_>>().join(" ");
    let _infallible = writeln!(text, "# {help}\n{line}");
}

fn default_of(option: &Arg) -> String {
    if matches!(option.get_action(), ArgAction::SetTrue) {
        return false.to_string();
    }
    let defaults = option.get_default_values().iter();
    let default: Vec<_> = defaults.map(|it| it.to_string_lossy()).collect();
    let default = default.join(",");
    match default.parse::<f64>() {
        Ok(_) => default,
        Err(_) => Value::String(default).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    fn cli() -> Command {
        let mut cli = Cli::command();
        cli.build();
        cli
    }

    /// Returns the arguments of a command line with the settings of a file.
    fn with(settings: &str, line: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove.toml");
        fs::write(&path, settings).unwrap();
        let config = ConfigFile::read(&path, &cli()).unwrap();
        let arguments = line.split(' ').map(OsString::from).collect();
        let arguments = config.with_settings(arguments, &cli()).unwrap();
        arguments
            .into_iter()
            .map(|it| it.into_string().unwrap())
            .collect()
    }

    fn refusal(settings: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove.toml");
        fs::write(&path, settings).unwrap();
        let refused = ConfigFile::read(&path, &cli()).err().expect(settings);
        format!("{refused:#}")
    }

    const FILE: &str = "
        log-format = 'json'
        token-file = 'token'
        [pserver]
        listen = '0.0.0.0:5559'
        interval = 0.5
        freeze = false
        auto-shutdown = true
        [run]
        trees = ['PairEAM::compute', 'CommBrick::*']
        [model.publish]
        note = 'from the site'
    ";

    #[test]
    fn settings_become_arguments_and_the_command_line_takes_precedence() {
        let of_server = with(FILE, "callgrove pserver --provdb found");
        for argument in [
            "--listen=0.0.0.0:5559",
            "--interval=0.5",
            "--auto-shutdown",
            "--token-file=token",
            "--log-format=json",
        ] {
            assert!(
                of_server.iter().any(|it| it == argument),
                "{argument}: {of_server:?}"
            );
        }
        assert!(
            !of_server.iter().any(|it| it.starts_with("--freeze")),
            "{of_server:?}"
        );
        assert_eq!(of_server[of_server.len() - 2..], ["--provdb", "found"]);
        let stated = with(FILE, "callgrove pserver --listen=127.0.0.1:1");
        assert!(
            !stated.contains(&"--listen=0.0.0.0:5559".to_owned()),
            "{stated:?}"
        );
        let of_run = with(FILE, "callgrove --log-format plain run bp/");
        assert_eq!(of_run[..4], ["callgrove", "--log-format", "plain", "run"]);
        assert!(
            of_run.contains(&"--trees=CommBrick::*".to_owned()),
            "{of_run:?}"
        );
        // The table of the command `model` is not a value of the option `--model`.
        assert!(
            !with(FILE, "callgrove analyze bp/")
                .iter()
                .any(|it| it.starts_with("--model"))
        );
        let of_publish = with(FILE, "callgrove model publish model.json");
        assert_eq!(of_publish[..3], ["callgrove", "model", "publish"]);
        assert!(
            of_publish.contains(&"--note=from the site".to_owned()),
            "{of_publish:?}"
        );
    }

    #[test]
    fn names_of_earlier_releases_are_accepted() {
        let of_file = with("[run]\nsevere-us = 1", "callgrove run bp/");
        assert!(
            of_file.iter().any(|it| it == "--min-excess-us=1"),
            "{of_file:?}"
        );
        let stated = with(
            "[run]\nmin-excess-us = 1",
            "callgrove run --severe-us 2 bp/",
        );
        assert!(
            !stated.iter().any(|it| it.starts_with("--min-excess-us")),
            "{stated:?}"
        );
    }

    #[test]
    fn unknown_settings_are_rejected_by_name() {
        for (settings, words) in [
            ("[pserver]\nlissten = 'x'", "`lissten`"),
            ("[pserver]\nlissten = 'x'", "[pserver]"),
            ("[sserver]\nlisten = 'x'", "`sserver`"),
            ("listen = ", "not TOML"),
        ] {
            let refused = refusal(settings);
            assert!(
                refused.contains(words) && refused.contains("callgrove.toml"),
                "{refused}"
            );
        }
    }

    #[test]
    fn the_printed_configuration_is_valid_and_has_every_option() {
        let settings: Table = toml::from_str(FILE).unwrap();
        let config = ConfigFile {
            path: PathBuf::new(),
            settings: settings.clone(),
        };
        let printed = config.print(&cli());
        assert_eq!(
            toml::from_str::<Table>(&printed).unwrap()["pserver"],
            settings["pserver"]
        );
        let line_with_setting = |line| {
            let setting = str::strip_prefix(line, "# ").filter(|it| it.contains(" = "));
            setting
                .filter(|it| toml::from_str::<Table>(it).is_ok())
                .unwrap_or(line)
        };
        let with_all: Vec<&str> = printed.lines().map(line_with_setting).collect();
        let with_all = with_all.join("\n");
        let all: Table = toml::from_str(&with_all).unwrap();
        check(&all, &cli(), true).unwrap();
        for command in subcommands(&cli()) {
            let table = all.get(command.get_name()).and_then(Value::as_table);
            for option in options(command) {
                let name = option.get_long().unwrap();
                assert!(
                    all.contains_key(name) || table.is_some_and(|it| it.contains_key(name)),
                    "{name}"
                );
            }
        }
    }
}
