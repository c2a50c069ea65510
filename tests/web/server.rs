//! Servers of the page: `callgrove serve`, and a plain web server for exported pages.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use callgrove_tests::program;

/// A run of LAMMPS on four ranks, with 196 executions of the usual root function.
pub(crate) const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-small-bp4");
/// Arguments that serve [`RUN`].
pub(crate) const SERVE_RUN: &[&str] = &[RUN, "--function", "PairEAM::compute"];

/// A running `callgrove serve`, which is killed when it is dropped.
pub(crate) struct Server {
    program: Child,
    /// The address that it printed.
    pub(crate) address: String,
}

impl Server {
    /// Serves on a free port.
    pub(crate) fn start(args: &[&str]) -> Result<Self> {
        Self::start_at(0, args, None)
    }

    /// Serves [`RUN`] on a free port, with journals in a folder.
    pub(crate) fn of_run(journals: &Path) -> Result<Self> {
        Self::start_at(0, SERVE_RUN, Some(journals))
    }

    /// Serves other machines on a free port, without a stated token.
    pub(crate) fn start_for_others() -> Result<Self> {
        let mut command = program::command()?;
        command.env_remove("CALLGROVE_TOKEN");
        Self::start_as(command.args(["serve", "--port", "0", "--bind", "0.0.0.0", "--plain-http"]))
    }

    /// Serves on a port, with journals in a folder.
    pub(crate) fn start_at(port: u16, args: &[&str], journals: Option<&Path>) -> Result<Self> {
        let mut command = program::command()?;
        if let Some(journals) = journals {
            command.env("XDG_STATE_HOME", journals);
        }
        command.args(["serve", "--port", &port.to_string()]);
        Self::start_as(command.args(args))
    }

    fn start_as(command: &mut Command) -> Result<Self> {
        let mut program = command.stdout(Stdio::piped()).spawn()?;
        let out = program.stdout.take().context("it was piped")?;
        let mut server = Self {
            program,
            address: String::new(),
        };
        BufReader::new(out).read_line(&mut server.address)?;
        server.address = server.address.trim().to_owned();
        ensure!(server.address.starts_with("http"), "it serves nothing");
        Ok(server)
    }

    /// Kills it like a failing machine, and returns its port.
    pub(crate) fn kill(mut self) -> Result<u16> {
        self.program.kill()?;
        self.program.wait()?;
        let (_, port) = self.authority().rsplit_once(':').context("a port")?;
        Ok(port.parse()?)
    }

    /// Returns host and port.
    pub(crate) fn authority(&self) -> &str {
        let (_, rest) = self.address.split_once("://").unwrap_or_default();
        rest.split_once('/')
            .map_or(rest, |(authority, _)| authority)
    }

    /// Sends a hand-written request, and returns the head of the reply, in lower case, and its body.
    pub(crate) fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Result<(String, Vec<u8>)> {
        let mut stream = TcpStream::connect(self.authority())?;
        write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n")?;
        if !headers.iter().any(|(name, _)| *name == "Host") {
            write!(stream, "Host: {}\r\n", self.authority())?;
        }
        for (name, value) in headers {
            write!(stream, "{name}: {value}\r\n")?;
        }
        write!(stream, "\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.context("an answer with a head")?;
        let head = String::from_utf8(answer[..end].to_vec())?;
        Ok((head.to_ascii_lowercase(), answer[end + 4..].to_vec()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

/// Writes a file with a token that only its owner may read, and returns its path.
pub(crate) fn token_file(folder: &Path, secret: &str) -> Result<String> {
    let file = folder.join(secret);
    fs::write(&file, secret)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(file.to_str().context("UTF-8")?.to_owned())
}

/// Serves the files of a folder like any web server, until the test ends; returns its address.
pub(crate) fn serve_folder(folder: PathBuf) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/", listener.local_addr()?);
    std::thread::Builder::new()
        .name("plain web server".to_owned())
        .spawn(move || {
            for stream in listener.incoming().flatten() {
                // A browser that disconnects ends only its own connection.
                answer(&folder, stream).ok();
            }
        })?;
    Ok(address)
}

/// Answers one request with a file of the folder.
fn answer(folder: &Path, stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut stream = reader.into_inner();
    let mut words = request.split_whitespace();
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let name = path.rsplit('/').next().filter(|name| !name.is_empty());
    let name = name.unwrap_or("index.html");
    let Ok(content) = fs::read(folder.join(name)) else {
        write!(
            stream,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )?;
        return Ok(());
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    )?;
    if method != "HEAD" {
        stream.write_all(&content)?;
    }
    Ok(())
}
