//! A configuration file: options of commands, in TOML.
//!
//! ```toml
//! log-format = "json"            # of every command that has the option
//! [pserver]
//! listen = "0.0.0.0:5559"        # of one command
//! [model.publish]
//! server = "http://head:5559"
//! ```
//!
//! Its settings become arguments before those of the command line, which holds where both state an option.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

/// The option that names the file.
const OPTION: &str = "--config";

/// The settings of a file.
#[derive(Default)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    settings: Table,
}

impl ConfigFile {
    /// Reads the file that the arguments of a process name, if they do, and checks it against the commands of `cli`.
    ///
    /// # Errors
    /// If the file cannot be read, or has what no command has.
    pub(crate) fn of_arguments(arguments: &[OsString], cli: &Command) -> Result<Self> {
        let mut settings_of = arguments
            .iter()
            .enumerate()
            .filter_map(|(place, argument)| {
                let argument = argument.to_str()?;
                if argument == OPTION {
                    return arguments.get(place + 1).map(PathBuf::from);
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
            toml::from_str(&text).with_context(|| format!("{} is no TOML", path.display()))?;
        check(&settings, cli, true).with_context(|| format!("cannot use {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            settings,
        })
    }

    /// Returns the arguments with the settings for their command in front of its own.
    ///
    /// # Errors
    /// If a setting has a value that no option takes, such as a date.
    pub(crate) fn with_settings(
        &self,
        mut arguments: Vec<OsString>,
        cli: &Command,
    ) -> Result<Vec<OsString>> {
        let (mut command, mut place) = (cli, 0);
        let mut tables = vec![&self.settings];
        // The command is the first word that is one; those within it follow at once.
        while let Some((at, within)) = next_command(command, &arguments, place) {
            (command, place) = (within, at);
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
            if let Some(value) = settings
                .get(name)
                .filter(|_| !is_stated(option, &arguments))
            {
                push(&mut before, name, value)
                    .with_context(|| format!("cannot use {}", self.path.display()))?;
            }
        }
        let place = (place + 1).min(arguments.len());
        arguments.splice(place..place, before);
        Ok(arguments)
    }

    /// Returns how much the file sets, in one line.
    pub(crate) fn summary(&self) -> String {
        let num_commands = self.settings.values().filter(|it| it.is_table()).count();
        let num_common = self.settings.len() - num_commands;
        match &self.path {
            path if path.as_os_str().is_empty() => {
                "no --config is given; --print shows what it can set".to_owned()
            }
            path => format!(
                "{} is a configuration of {num_commands} commands, and sets {num_common} options of all that have them",
                path.display()
            ),
        }
    }

    /// Returns the options of all commands as a configuration file: those that are set, and as comments the others with their
    /// defaults.
    pub(crate) fn print(&self, cli: &Command) -> String {
        let mut text = String::new();
        for option in options(cli) {
            print_option(
                &mut text,
                option,
                self.settings.get(option.get_long().unwrap_or_default()),
            );
        }
        let global: Vec<&str> = options(cli).filter_map(Arg::get_long).collect();
        print_commands(&mut text, cli, &self.settings, "", &global);
        text
    }
}

/// The options that a file may set: those with a value, and switches.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let not_here = ["config", "help", "version"];
    command
        .get_arguments()
        .filter(move |it| it.get_long().is_some_and(|name| !not_here.contains(&name)))
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|it| it.get_name() != "help" && !it.is_hide_set())
}

/// The command within `command` that the arguments name after a place.
fn next_command<'a>(
    command: &'a Command,
    arguments: &[OsString],
    place: usize,
) -> Option<(usize, &'a Command)> {
    let is_first = command.get_name() == "callgrove";
    let words = arguments.iter().enumerate().skip(place + 1);
    let mut words = words.take(if is_first { usize::MAX } else { 1 });
    words.find_map(|(at, word)| {
        let word = word.to_str()?;
        let is_it = |it: &&Command| {
            it.get_name() == word || it.get_all_aliases().any(|alias| alias == word)
        };
        Some((at, command.get_subcommands().find(is_it)?))
    })
}

/// Whether the arguments of the command line have an option.
fn is_stated(option: &Arg, arguments: &[OsString]) -> bool {
    let long = format!("--{}", option.get_long().unwrap_or_default());
    let short = option.get_short().map(|short| format!("-{short}"));
    arguments
        .iter()
        .map(|it| OsStr::to_string_lossy(it))
        .any(|word| {
            let is_long = word
                .strip_prefix(&*long)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
            is_long || short.as_ref().is_some_and(|short| word.starts_with(short))
        })
}

/// Appends an option as arguments.
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
                "{name} is neither text, a number, true, false, nor a list of these: write it in quotes"
            )
        }
    }
    Ok(())
}

/// Whether all of a table is something that its command has, or, at the top, that any command has.
fn check(table: &Table, command: &Command, is_top: bool) -> Result<()> {
    for (name, value) in table {
        let within = subcommands(command).find(|it| it.get_name() == name);
        if let (Some(within), Some(table)) = (within, value.as_table()) {
            check(table, within, false).with_context(|| format!("in [{name}]"))?;
            continue;
        }
        let has = |command: &Command| options(command).any(|it| it.get_long() == Some(name));
        let is_known = has(command) || is_top && all_commands(command).iter().any(|it| has(it));
        ensure!(
            is_known,
            "`{name}` is no option of it; `callgrove config --print` prints all that there are"
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
            // Writing to a text cannot fail.
            let _infallible = writeln!(text, "\n[{path}]");
        }
        for option in own() {
            let name = option.get_long().unwrap_or_default();
            print_option(text, option, table.and_then(|it| it.get(name)));
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
    use crate::args::Cli;

    fn cli() -> Command {
        let mut cli = Cli::command();
        cli.build();
        cli
    }

    /// The arguments of a command line with the settings of a file.
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
    fn settings_become_arguments_of_their_command_and_the_command_line_holds_before_them() {
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
        // A table of the command `model` is no value of the option `--model`.
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
    fn what_no_command_has_is_refused_by_name() {
        for (settings, words) in [
            ("[pserver]\nlissten = 'x'", "`lissten`"),
            ("[pserver]\nlissten = 'x'", "[pserver]"),
            ("[sserver]\nlisten = 'x'", "`sserver`"),
            ("listen = ", "no TOML"),
        ] {
            let refused = refusal(settings);
            assert!(
                refused.contains(words) && refused.contains("callgrove.toml"),
                "{refused}"
            );
        }
    }

    #[test]
    fn what_is_printed_has_every_option_and_is_a_configuration() {
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
