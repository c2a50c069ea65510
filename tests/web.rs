//! The page in a real browser: it starts, opens the example and files, takes labels by key, keeps them over a
//! reload, and refuses in words.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use callgrove_tests::process::Process;
use callgrove_tests::program;
use serde_json::Value;

/// Where `cargo xtask setup` put what drives the browser.
const DRIVER: &str = "CALLGROVE_PLAYWRIGHT";
/// The most that a browser is sent when it opens the page for the first time.
const MAX_SENT_BYTES: u64 = 3 << 20;

/// A running `callgrove serve`, which ends with the test.
struct Server {
    program: Child,
    /// What it printed.
    address: String,
}

impl Server {
    fn start(args: &[&str]) -> Result<Self> {
        Self::start_at(0, args, None)
    }

    /// On a port, with journals in a folder.
    fn start_at(port: u16, args: &[&str], journals: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(program::path()?);
        if let Some(journals) = journals {
            command.env("XDG_STATE_HOME", journals);
        }
        let mut program = command
            .args(["serve", "--port", &port.to_string()])
            .args(args)
            .env_remove("CALLGROVE_TOKEN")
            .stdout(Stdio::piped())
            .spawn()?;
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

    /// Host and port.
    fn authority(&self) -> &str {
        let (_, rest) = self.address.split_once("://").unwrap_or_default();
        rest.split_once('/')
            .map_or(rest, |(authority, _)| authority)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

/// A file with a token that only its owner reads; its path.
fn token_file(folder: &Path, secret: &str) -> Result<String> {
    let file = folder.join(secret);
    fs::write(&file, secret)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(file.to_str().context("UTF-8")?.to_owned())
}

/// Where pictures go.
fn folder() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Has a browser play a scenario; the answer is what it saw.
fn play(scenario: &str, address: &str, files: &[&Path]) -> Result<Value> {
    let driver = std::env::var_os(DRIVER)
        .with_context(|| format!("{DRIVER} is not set: eval \"$(cargo xtask setup)\""))?;
    let output = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/web/browser.mjs"))
        .args([scenario, address])
        .arg(folder()?)
        .args(files)
        .env(DRIVER, driver)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start node")?;
    let told = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{scenario} failed: {told}");
    Ok(serde_json::from_str(&told)?)
}

/// Has a browser play a scenario on a server that is killed, and started again on its port, when the browser asks for it
/// by files in the folder.
fn play_over_a_restart(
    scenario: &str,
    others: &[&Path],
    folder: &Path,
    mut server: Server,
    start: impl Fn(u16) -> Result<Server>,
) -> Result<Value> {
    let (_, port) = server.authority().rsplit_once(':').context("a port")?;
    let port = port.parse()?;
    let address = server.address.clone();
    let [down, up] = ["down", "up"].map(|name| folder.join(name));
    let files = [&[&*down, &*up], others].concat();
    std::thread::scope(|scope| {
        let playing = scope.spawn(|| play(scenario, &address, &files));
        let wait = |file: &Path| {
            while !file.exists() && !playing.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        wait(&down);
        server.program.kill()?;
        server.program.wait()?;
        wait(&up);
        server = start(port)?;
        match playing.join() {
            Ok(told) => told,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// That the browser complained of nothing.
fn assert_clean(told: &Value) {
    assert_eq!(told["errors"], serde_json::json!([]), "{told}");
    assert_eq!(told["violations"], serde_json::json!([]), "{told}");
}

fn text<'a>(told: &'a Value, field: &str) -> &'a str {
    told[field].as_str().unwrap_or_default()
}

/// The names of a role in an outline.
fn names<'a>(outline: &'a Value, role: &str) -> Vec<&'a str> {
    let items = outline.as_array().into_iter().flatten();
    let of_role = items.filter(|item| item["role"] == role);
    of_role.filter_map(|item| item["name"].as_str()).collect()
}

fn number(told: &Value) -> u64 {
    told.as_u64().unwrap_or_default()
}

/// An answer to a request that is written by hand: its head and its body.
fn ask(server: &Server, path: &str, headers: &[(&str, &str)]) -> Result<(String, Vec<u8>)> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(server.authority())?;
    write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n")?;
    if !headers.iter().any(|(name, _)| *name == "Host") {
        write!(stream, "Host: {}\r\n", server.authority())?;
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

#[test]
fn the_example_opens_and_its_labels_outlive_a_reload() -> Result<()> {
    let server = Server::start(&[])?;
    let told = play("demo", &server.address, &[])?;
    assert_clean(&told);
    assert!(names(&told["start"], "button").contains(&"Demo"), "{told}");
    assert!(number(&told["startLook"]["colors"]) > 50, "{told}");
    let opened = &told["opened"];
    let rows = names(opened, "listitem");
    assert!(
        rows.iter().any(|row| row.starts_with("Candidate #")),
        "{rows:?}"
    );
    assert!(
        text(&told, "title").starts_with("lammps-4r-small.jsonl"),
        "{told}"
    );
    assert!(
        text(&told, "icon").starts_with("data:image/svg+xml"),
        "{told}"
    );
    assert!(text(&told, "status").contains("196 executions"), "{told}");
    // Abnormal trees are drawn.
    assert!(number(&told["look"]["counts"][0]) > 100, "{}", told["look"]);
    let sent = number(&told["sentBytes"]);
    println!(
        "the page was sent in {sent} bytes; ready after {} ms, first points of the example {} ms later",
        told["readyMs"], told["demoMs"]
    );
    assert!(sent <= MAX_SENT_BYTES, "{sent} bytes were sent");
    Ok(())
}

#[test]
fn pages_share_a_session_and_lose_nothing_when_its_server_comes_back() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-small-bp4");
    let start = |port| {
        let args = [run, "--function", "PairEAM::compute"];
        Server::start_at(port, &args, Some(disk.path()))
    };
    let told = play_over_a_restart("served", &[], disk.path(), start(0)?, start)?;
    assert_clean(&told);
    let rows = names(&told["opened"], "listitem");
    assert!(
        rows.iter().any(|row| row.starts_with("Candidate #")),
        "{rows:?}"
    );
    assert!(
        text(&told, "title").contains("lammps-4r-small-bp4"),
        "{told}"
    );
    assert!(
        number(&told["labels"][0]) < number(&told["labels"][1]),
        "{told}"
    );
    println!("a page of the run is ready after {} ms", told["openMs"]);
    Ok(())
}

#[test]
fn a_link_leads_to_what_was_looked_at() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-small-bp4");
    let args = [run, "--function", "PairEAM::compute"];
    let server = Server::start_at(0, &args, Some(disk.path()))?;
    let told = play("link", &server.address, &[])?;
    assert_clean(&told);
    let link = text(&told, "link");
    assert!(
        link.contains("#root=LAMMPS_NS::PairEAM::compute&trees="),
        "{link}"
    );
    assert!(link.contains("views="), "{link}");
    Ok(())
}

#[test]
fn fingers_zoom_and_move_the_timeline() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-small-bp4");
    let args = [run, "--function", "PairEAM::compute"];
    let server = Server::start_at(0, &args, Some(disk.path()))?;
    let told = play("touch", &server.address, &[])?;
    assert_clean(&told);
    let time = |when: &str| [0, 1].map(|end| number(&told[when][end]));
    let length = |[from, to]: [u64; 2]| to - from;
    let [first, apart, aside, back] = ["first", "apart", "aside", "back"].map(time);
    assert!(length(apart) < length(first), "{told}");
    assert!(aside[0] > apart[0] && aside[1] > apart[1], "{told}");
    assert!(back[0] < aside[0] && back[1] < aside[1], "{told}");
    Ok(())
}

#[test]
fn an_exported_run_needs_no_server_of_ours() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let folder = disk.path().join("page");
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-small-bp4");
    let exported = Command::new(program::path()?)
        .args(["export", run, "--function", "PairEAM::compute", "--web"])
        .arg(&folder)
        .status()?;
    ensure!(exported.success(), "it is not exported");
    let told = play("exported", "", &[&folder])?;
    assert_clean(&told);
    let rows = names(&told["opened"], "listitem");
    assert!(
        rows.iter().any(|row| row.starts_with("Candidate #")),
        "{rows:?}"
    );
    assert!(
        text(&told, "status").contains("of your last session"),
        "{told}"
    );
    println!("an exported run is ready after {} ms", told["openMs"]);
    Ok(())
}

#[test]
fn a_page_watches_a_running_job_from_its_own_port() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let path = |name: &str| disk.path().join(name).to_string_lossy().into_owned();
    let (live, found) = (path("live"), path("found"));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/lammps-4r-small");
    let names = (0..4).map(|rank| format!("{live}/tau-metrics-lmp_tau-{rank}.bp"));
    let names: Vec<String> = names.collect();
    let mut run = Command::new(program::path()?);
    run.args(["run", "--provdb", &found, "--listen", "127.0.0.1:0"]);
    run.args(["--trees", "PairEAM::compute"]);
    run.args(["--stay", "--interval", "0.1", "--sst"])
        .args(&names);
    let run = Process::start(
        run.env_remove("CALLGROVE_TOKEN")
            .env("XDG_STATE_HOME", disk.path()),
    )?;
    let address = run.url()?;
    let go = disk.path().join("go");
    let told = std::thread::scope(|scope| {
        let playing = scope.spawn(|| play("live", &address, &[&go]));
        while !go.exists() && !playing.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut replay = Command::new(program::path()?);
        let replay = replay.args(["replay", example, "--out", &live, "--speed", "4"]);
        let replay = Process::start(replay)?;
        let told = playing.join();
        replay.finish()?;
        told.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    assert_clean(&told);
    assert_eq!(text(&told, "title"), "the running job – Callgrove");
    run.terminate()?;
    Ok(())
}

#[test]
fn a_light_page_of_twice_the_density_is_operated_through_its_outline() -> Result<()> {
    let server = Server::start(&[])?;
    let told = play("light", &server.address, &[])?;
    assert_clean(&told);
    assert_eq!(told["density"], serde_json::json!([2, 2, 2]), "{told}");
    let size = &told["startLook"]["size"];
    let brightest = number(&told["startLook"]["counts"][0]);
    assert!(
        brightest > number(&size[0]) * number(&size[1]) / 4,
        "it is light: {told}"
    );
    assert_eq!(told["download"], "callgrove-model.json");
    Ok(())
}

#[test]
fn dropped_files_open_and_damaged_ones_are_refused_in_words() -> Result<()> {
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/lammps-4r-small/pair-eam-compute.jsonl"
    );
    let content = fs::read(example)?;
    let [whole, cut, other] =
        ["whole.jsonl", "cut.jsonl", "other.json"].map(|name| disk.path().join(name));
    fs::write(&whole, &content)?;
    fs::write(&cut, &content[..content.len() / 2])?;
    fs::write(&other, b"\xff\x00{")?;
    let told = play("files", &server.address, &[&whole, &other, &cut])?;
    assert_clean(&told);
    // What was open stays.
    assert!(text(&told, "title").starts_with("whole.jsonl"), "{told}");
    assert!(text(&told, "status").contains("cut.jsonl"), "{told}");
    Ok(())
}

#[test]
fn large_files_are_read_in_slices_or_refused_before_they_are_read() -> Result<()> {
    use std::io::Write as _;
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let [huge, empty, large] =
        ["huge.callgrove", "empty.callgrove", "large.jsonl"].map(|name| disk.path().join(name));
    // Files of nothing but holes.
    fs::File::create(&huge)?.set_len((1 << 30) + 1)?;
    fs::File::create(&empty)?.set_len(100 << 20)?;
    let mut file = std::io::BufWriter::new(fs::File::create(&large)?);
    writeln!(
        file,
        "{{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"us\"}}"
    )?;
    for number in 0..1_200 {
        let slow = if number == 31 { 900 } else { 40 + number % 3 };
        let room = " ".repeat(200_000);
        writeln!(
            file,
            "{{\"entry\":{number},\"parent\":[-1,0],\"names\":[\"step\",\"solve\"],{room}\"w\":[{},{slow}]}}",
            slow + 10
        )?;
    }
    file.into_inner()?;
    let told = play("large", &server.address, &[&huge, &empty, &large])?;
    assert_clean(&told);
    let refused = |at: usize| told["refused"][at].as_str().unwrap_or_default();
    assert!(
        refused(0).contains("at most 320 MB") && refused(0).contains("run `callgrove serve"),
        "{told}"
    );
    assert!(refused(1).contains("it is no file of"), "{told}");
    assert_eq!(names(&told["reading"], "progressbar"), ["Progress"]);
    assert!(
        names(&told["reading"], "button").contains(&"Cancel"),
        "{told}"
    );
    Ok(())
}

#[test]
fn what_a_page_alone_is_doing_can_be_stopped() -> Result<()> {
    use std::fmt::Write as _;
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let [small, large] = ["small.jsonl", "large.jsonl"].map(|name| disk.path().join(name));
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/lammps-4r-small/pair-eam-compute.jsonl"
    );
    fs::copy(example, &small)?;
    let mut text =
        String::from("{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"us\"}\n");
    for number in 0..100_000_u64 {
        let (first, second) = (number * 7919 % 997, number * 104_729 % 1013);
        writeln!(
            text,
            "{{\"entry\":{number},\"parent\":[-1,0,0],\"names\":[\"step\",\"a\",\"b\"],\"w\":[{},{first},{second}]}}",
            first + second
        )?;
    }
    fs::write(&large, text)?;
    let told = play("stop", &server.address, &[&small, &large])?;
    assert_clean(&told);
    assert!(
        told["title"]
            .as_str()
            .unwrap_or_default()
            .starts_with("small.jsonl"),
        "{told}"
    );
    Ok(())
}

#[test]
fn a_browser_without_webgl_is_told_so_in_the_page() -> Result<()> {
    let server = Server::start(&[])?;
    let told = play("no-webgl", &server.address, &[])?;
    let said = text(&told, "text");
    assert!(
        said.contains("WebGL 2") && said.contains("acceleration"),
        "{said}"
    );
    Ok(())
}

#[test]
fn what_stops_the_page_is_told_in_html_with_what_to_do() -> Result<()> {
    let server = Server::start(&[])?;
    let told = play("panic", &server.address, &[])?;
    let said = text(&told, "text");
    assert!(said.contains("Callgrove has stopped"), "{said}");
    assert!(said.contains("reload the page"), "{said}");
    assert!(said.contains("panicked at"), "{said}");
    Ok(())
}

#[test]
fn the_token_of_the_address_becomes_a_cookie_that_scripts_cannot_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = token_file(folder.path(), "correct&horse=battery%staple")?;
    let server = Server::start(&["--token-file", &file])?;
    assert!(server.address.contains("/?token="), "{}", server.address);
    let told = play("token", &server.address, &[])?;
    assert_clean(&told);
    assert!(!text(&told, "address").contains("token"), "{told}");
    assert_eq!(told["visible"], "");
    let cookie = &told["cookies"][0];
    assert_eq!(
        (&cookie["httpOnly"], &cookie["sameSite"]),
        (&true.into(), &"Strict".into())
    );
    assert!(!told["cookies"].to_string().contains("horse"), "{told}");

    let plain = format!("http://{}/", server.authority());
    for address in [plain.clone(), format!("{plain}?token=correct")] {
        let told = play("message", &address, &[])?;
        assert_eq!(told["code"], 401, "{told}");
        assert!(text(&told, "text").contains("wants its token"), "{told}");
    }
    Ok(())
}

#[test]
fn a_page_whose_server_has_another_token_says_what_to_do_and_then_goes_on() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let [before, after] = [
        token_file(disk.path(), "before-the-restart")?,
        token_file(disk.path(), "after-the-restart")?,
    ];
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-small-bp4");
    let start = |port, token: &str| {
        let args = [run, "--function", "PairEAM::compute", "--token-file", token];
        Server::start_at(port, &args, Some(disk.path()))
    };
    let server = start(0, &before)?;
    let let_in = server.address.replace("before", "after");
    let told = play_over_a_restart(
        "locked-out",
        &[Path::new(&let_in)],
        disk.path(),
        server,
        |port| start(port, &after),
    )?;
    assert_clean(&told);
    Ok(())
}

#[test]
fn the_persons_browser_is_given_the_address_and_nobody_needs_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let browser = folder.path().join("xdg-open");
    let told = folder.path().join("told");
    let serve = |script: String| {
        fs::write(&browser, script)?;
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755))?;
        let mut serve = Command::new(program::path()?);
        serve.args(["serve", "--port", "0", "--open"]);
        // The shell of the script is found by its path.
        Process::start(serve.env("PATH", folder.path()))
    };
    let with_browser = serve(format!("#!/bin/sh\necho \"$1\" > {}\n", told.display()))?;
    while fs::read_to_string(&told).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(with_browser.terminate()?, fs::read_to_string(&told)?);
    let without = serve("#!/bin/sh\nexit 3\n".to_owned())?;
    let complaint = without.line_with("found no browser")?;
    let address = without.terminate()?;
    assert!(complaint.contains(address.trim()), "{complaint}");
    Ok(())
}

#[test]
fn other_machines_are_served_with_a_token_that_was_made_for_them() -> Result<()> {
    let [first, second] = [
        Server::start(&["--bind", "0.0.0.0"])?,
        Server::start(&["--bind", "0.0.0.0"])?,
    ];
    let token = |server: &Server| Some(server.address.split_once("/?token=")?.1.to_owned());
    let (one, other) = (
        token(&first).context("a token")?,
        token(&second).context("a token")?,
    );
    assert!(one.len() >= 32 && one != other, "{one} {other}");
    Ok(())
}

#[test]
fn the_page_is_packed_kept_and_guarded() -> Result<()> {
    let server = Server::start(&[])?;
    let (head, index) = ask(&server, "/", &[])?;
    assert!(
        head.starts_with("http/1.1 200") && head.contains("cache-control: no-cache"),
        "{head}"
    );
    for guard in [
        "script-src 'self' 'wasm-unsafe-eval';",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(head.contains(guard), "{guard}: {head}");
    }
    let index = String::from_utf8(index)?;
    let script = index
        .split('"')
        .find(|name| name.starts_with("callgrove-"))
        .context("script")?;
    let path = format!("/{script}");
    for encoding in ["br", "gzip"] {
        let (head, _) = ask(&server, &path, &[("Accept-Encoding", encoding)])?;
        assert!(
            head.contains(&format!("content-encoding: {encoding}")),
            "{head}"
        );
        assert!(
            head.contains("immutable") && head.contains("content-type: text/javascript"),
            "{head}"
        );
        let tag = head
            .lines()
            .find_map(|line| line.strip_prefix("etag: "))
            .context("etag")?;
        let known = [("Accept-Encoding", encoding), ("If-None-Match", tag)];
        let (head, body) = ask(&server, &path, &known)?;
        assert!(
            head.starts_with("http/1.1 304") && body.is_empty(),
            "{head}"
        );
    }
    let (head, plain) = ask(&server, &path, &[])?;
    assert!(!head.contains("content-encoding"), "{head}");
    assert!(String::from_utf8(plain)?.contains("WebAssembly"));
    Ok(())
}

#[test]
fn strangers_are_refused_and_the_server_goes_on() -> Result<()> {
    let server = Server::start(&[])?;
    for headers in [
        &[("Host", "callgrove.example")][..],
        &[("Host", "127.0.0.1.nip.io:80")],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
    ] {
        let (head, _) = ask(&server, "/", headers)?;
        assert!(head.starts_with("http/1.1 403"), "{headers:?}: {head}");
    }
    let own = format!("http://{}", server.authority());
    for (path, headers, status) in [
        ("/", &[("Origin", own.as_str())][..], "200"),
        ("/../../etc/passwd", &[], "404"),
        ("/callgrove-0.wasm", &[], "404"),
        ("/", &[("Accept-Encoding", "identity;q=0, *;q=0")], "406"),
        ("/api/health", &[], "200"),
    ] {
        let (head, _) = ask(&server, path, headers)?;
        assert!(
            head.starts_with(&format!("http/1.1 {status}")),
            "{path}: {head}"
        );
    }
    Ok(())
}
