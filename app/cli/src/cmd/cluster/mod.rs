//! `callgrove cluster`: the servers of a job in the background.

mod bus;

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use callgrove_local::{BackgroundProcess, ProcessEnd, create_private_folder};
use callgrove_server::{AddressFile, ServerAnnouncement, TokenRole};
use tracing::Level;

pub(crate) use bus::{run_bus, run_merger};

use super::token;
use crate::announcement::{TOKENS_NAME, invitation};
use crate::exit::Exit;
use crate::log_lines::write_line;
use crate::output::{Problems, print};
use crate::stop::StopSignal;
use callgrove_args::{ClusterCommand, ClusterUpArgs};

/// Maximum time in which a server must have announced itself.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between two looks at a server.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The name of the message bus, which not every job has.
const BUS: &str = "bus";
/// The beginning of the names of mergers, before their groups.
const MERGER: &str = "merger-";
/// The end of the name of the file about a process.
const PROCESS_SUFFIX: &str = ".process";

/// A server of a job: the files of its folder that begin with its name.
struct JobServer {
    name: String,
    folder: PathBuf,
    process_file: PathBuf,
    process: BackgroundProcess,
}

pub(crate) fn run(command: &ClusterCommand) -> Result<Exit> {
    match command {
        ClusterCommand::Up(args) => up(args),
        ClusterCommand::Down { job } => down(job),
        ClusterCommand::Invite { job, name, role } => invite(job, name, role.role),
    }
}

fn up(args: &ClusterUpArgs) -> Result<Exit> {
    let stop = StopSignal::listen()?;
    create_private_folder(&args.job).with_context(|| {
        let job = args.job.display();
        format!("cannot use {job} as the folder of a job")
    })?;
    let [bus, database, server] = servers(&args.job);
    let shards = args.shards.map(|it| it.to_string());
    let mut database_args = vec!["provdb", &args.provdb];
    if let Some(shards) = &shards {
        database_args.extend(["--shards", shards]);
    }
    let database_url = database.start(&database_args, &stop)?;
    let database_file = database.address_file().display().to_string();
    let mut server_args = vec!["pserver", "--provdb", &database_file];
    let server_file = server.address_file().display().to_string();
    let bus_file = bus.address_file().display().to_string();
    let (bus_url, exchange) = match &args.bus {
        Some(folder) => {
            server_args.extend(["--bus", &bus_file]);
            let url = bus.start(&["bus", &folder.display().to_string()], &stop)?;
            let group = match args.groups {
                0 => String::new(),
                num => format!(" --group 0 (to {})", num - 1),
            };
            (Some(url), format!("--bus {bus_file}{group}"))
        }
        None => (None, format!("--pserver {server_file}")),
    };
    let server_url = server.start(&server_args, &stop)?;
    for group in 0..args.groups {
        let merger = JobServer::new(&args.job, &format!("{MERGER}{group}"));
        let group = group.to_string();
        merger.spawn(&["merger", "--bus", &bus_file, "--group", &group])?;
    }
    let job = args.job.display();
    print(|out| {
        if let Some(url) = bus_url {
            writeln!(out, "the message bus listens at {url}")?;
        }
        writeln!(out, "the database listens at {database_url}")?;
        writeln!(out, "the parameter server listens at {server_url}")?;
        writeln!(
            out,
            "on each node: callgrove ad STREAMS {exchange} --provdb {database_file}"
        )?;
        writeln!(out, "to watch:     callgrove watch {server_file}")?;
        writeln!(out, "to end all:   callgrove cluster down {job}")
    })?;
    Ok(Exit::Success)
}

fn down(job: &Path) -> Result<Exit> {
    let stop = StopSignal::listen()?;
    let [bus, database, server] = servers(job);
    let mut exit = Exit::Success;
    // The parameter server stores its statistics last, and reads the bus before. Mergers end with it.
    let all = [server].into_iter().chain(mergers(job)?);
    let all: Vec<JobServer> = all.chain([bus, database]).collect();
    let running = all.iter().map(|it| it.process.is_running());
    let running = running.collect::<io::Result<Vec<bool>>>()?;
    for (server, was_running) in all.iter().zip(running) {
        if server.process.is_running()? {
            server.end(&stop)?;
        }
        exit = exit.and(server.report_end(was_running)?);
    }
    Ok(exit)
}

/// Makes a token for both servers, and an address file with it for each that has announced itself.
fn invite(job: &Path, name: &str, role: TokenRole) -> Result<Exit> {
    let mut announced = Vec::new();
    // A message bus knows one token.
    for server in servers(job).into_iter().filter(|it| it.name != BUS) {
        let file = server.announcement()?;
        match file.read(None) {
            Ok(announcement) => announced.push((file, announcement)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    let job = job.display();
    ensure!(
        !announced.is_empty(),
        "no server has announced itself in {job}: run `callgrove cluster up {job}` first"
    );
    let list = announced[0].0.path().with_file_name(TOKENS_NAME);
    let token = token::add(&list, name, role)?;
    let mut invitations = Vec::new();
    for (file, announcement) in announced {
        let invitation = invitation(&file, name)?;
        invitation.write(&ServerAnnouncement {
            token: token.secret().to_owned(),
            ..announcement
        })?;
        invitations.push(invitation);
    }
    print(|out| {
        for invitation in &invitations {
            writeln!(out, "{}", invitation.path().display())?;
        }
        Ok(())
    })?;
    let list = list.display();
    let hint = format!(
        "{name} can use these files in place of URLs, with the role {role}; servers that start again update them. To end \
         that: callgrove token revoke {list} {name}"
    );
    write_line(Level::INFO, &hint);
    Ok(Exit::Success)
}

/// Returns the message bus, the database and the parameter server of a job.
fn servers(job: &Path) -> [JobServer; 3] {
    [BUS, "provdb", "pserver"].map(|name| JobServer::new(job, name))
}

/// Returns the mergers of a job that were started.
fn mergers(job: &Path) -> io::Result<Vec<JobServer>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(job)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        let name = name.strip_suffix(PROCESS_SUFFIX);
        names.extend(name.filter(|it| it.starts_with(MERGER)).map(str::to_owned));
    }
    names.sort();
    Ok(names.iter().map(|it| JobServer::new(job, it)).collect())
}

impl JobServer {
    fn new(job: &Path, name: &str) -> Self {
        let process_file = job.join(format!("{name}{PROCESS_SUFFIX}"));
        Self {
            name: name.to_owned(),
            folder: job.to_owned(),
            process: BackgroundProcess::new(&process_file),
            process_file,
        }
    }

    fn address_file(&self) -> PathBuf {
        self.folder.join(format!("{}.address", self.name))
    }

    fn read(&self, file: &AddressFile) -> io::Result<ServerAnnouncement> {
        if self.name == BUS {
            file.read_bus(None)
        } else {
            file.read(None)
        }
    }

    fn announcement(&self) -> Result<AddressFile> {
        AddressFile::to_write(&self.address_file()).map_err(|fault| anyhow!(fault))
    }

    fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// Starts the server, unless it runs. Returns its URL once it is announced.
    fn start(&self, args: &[&str], stop: &StopSignal) -> Result<String> {
        let file = self.announcement()?;
        if self.process.is_running()? {
            return Ok(self.read(&file)?.url.to_string());
        }
        // A message bus keeps its certificate.
        let before = self.read(&file).ok().filter(|_| self.name != BUS);
        let path = file.path().display().to_string();
        self.spawn(&[args, &["--announce", &path]].concat())?;
        let announced = self.announced(&file, before.as_ref(), stop)?;
        Ok(announced.url.to_string())
    }

    /// Starts the server, unless it runs.
    fn spawn(&self, args: &[&str]) -> Result<()> {
        if self.process.is_running()? {
            return Ok(());
        }
        let log = self.log();
        let cannot_start = || format!("cannot start {}", self.name);
        let messages = OpenOptions::new().append(true).create(true).open(&log);
        let messages = messages.with_context(|| format!("cannot write {}", log.display()))?;
        let program = std::env::current_exe().with_context(cannot_start)?;
        let mut command = Command::new(program);
        command
            .args(["--log-format", "full", "--process-file"])
            .arg(&self.process_file)
            .args(args)
            .stdout(Stdio::null())
            .stderr(messages);
        self.process.start(command).with_context(cannot_start)
    }

    /// Waits until the server, which has just started, has announced itself by another certificate than `before`.
    fn announced(
        &self,
        file: &AddressFile,
        before: Option<&ServerAnnouncement>,
        stop: &StopSignal,
    ) -> Result<ServerAnnouncement> {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT && !stop.is_set() {
            match self.read(file) {
                Ok(now) if before.is_none_or(|it| it.fingerprint != now.fingerprint) => {
                    return Ok(now);
                }
                _ if !self.process.is_running()? => {
                    bail!("{} has ended: {}", self.name, self.last_message());
                }
                _ => std::thread::sleep(LOOK_INTERVAL),
            }
        }
        bail!(
            "{} has not announced itself yet; see {}",
            self.name,
            self.log().display()
        )
    }

    /// Asks the server to end, and waits until it has.
    fn end(&self, stop: &StopSignal) -> Result<()> {
        let cannot_end = || format!("cannot end {}", self.name);
        self.process.ask_to_end().with_context(cannot_end)?;
        let mut problems = Problems::default();
        let start = Instant::now();
        while self.process.is_running()? {
            if stop.is_set() {
                bail!(
                    "{} has not ended yet; see {}",
                    self.name,
                    self.log().display()
                );
            }
            if start.elapsed() > Duration::from_secs(2) {
                problems.report(vec![format!("waiting for {} to end", self.name)]);
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        Ok(())
    }

    /// Prints how the server, which runs no more, ended, and returns it.
    fn report_end(&self, was_running: bool) -> Result<Exit> {
        let state = if was_running {
            "has ended"
        } else {
            "does not run"
        };
        let is_bus = self.name == BUS;
        let (how, exit) = match self.process.end()? {
            ProcessEnd::NeverRan if is_bus => return Ok(Exit::Success),
            // The bus is another program, which notes nothing.
            ProcessEnd::Unknown if is_bus && was_running => (String::new(), Exit::Success),
            ProcessEnd::NeverRan => (String::new(), Exit::Success),
            ProcessEnd::Code(0) => (": exit code 0".to_owned(), Exit::Success),
            ProcessEnd::Code(code) => {
                let is_partial = code == Exit::Partial.code();
                let exit = if is_partial {
                    Exit::Partial
                } else {
                    Exit::Failure
                };
                (
                    format!(": exit code {code}, after: {}", self.last_message()),
                    exit,
                )
            }
            ProcessEnd::Unknown => {
                let last = self.last_message();
                let how =
                    format!(": it ended without an exit code (killed, or crashed), after: {last}");
                (how, Exit::Failure)
            }
        };
        print(|out| writeln!(out, "{} {state}{how}", self.name))?;
        Ok(exit)
    }

    /// Returns the last message of the server.
    fn last_message(&self) -> String {
        let log = self.log();
        let text = fs::read_to_string(&log).unwrap_or_default();
        let last = text.lines().next_back().unwrap_or("it said nothing");
        format!("{last} ({})", log.display())
    }
}
