//! Access control of the page's server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use anyhow::{Context, Result};
use callgrove_tests::browser::{Browser, Options};
use callgrove_tests::process::Process;
use callgrove_tests::program;
use serde_json::json;

use crate::app::App;
use crate::server::{RUN, Server, token_file};

#[test]
fn the_token_of_the_address_becomes_a_cookie_that_scripts_cannot_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = token_file(folder.path(), "correct&horse=battery%staple")?;
    let server = Server::start(&["--token-file", &file])?;
    assert!(server.address.contains("/?token="), "{}", server.address);
    let browser = Browser::start(&Options::default())?;
    let app = App::open_alone(&browser, &server.address)?;
    app.assert_clean()?;
    assert!(!app.url()?.contains("token"), "{}", app.url()?);
    assert_eq!(app.text_of("document.cookie")?, "");
    let cookies = browser.cookies()?;
    assert_eq!(cookies.len(), 1);
    assert_eq!(cookies[0]["httpOnly"], true);
    assert_eq!(cookies[0]["sameSite"], "Strict");
    assert!(!json!(cookies).to_string().contains("horse"), "{cookies:?}");
    app.screenshot("token")?;

    let stranger = Browser::start(&Options::default())?;
    let plain = format!("http://{}/", server.authority());
    for address in [plain.clone(), format!("{plain}?token=correct")] {
        let page = stranger.new_page()?;
        assert_eq!(page.go_to(&address)?, 401);
        let text = page.text_of("document.body.textContent")?;
        assert!(text.contains("requires a token"), "{text}");
    }
    Ok(())
}

#[test]
fn a_page_with_an_old_token_says_what_to_do_and_then_continues() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let [before, after] = [
        token_file(disk.path(), "before-the-restart")?,
        token_file(disk.path(), "after-the-restart")?,
    ];
    let start = |port, token: &str| {
        let args = [RUN, "--function", "PairEAM::compute", "--token-file", token];
        Server::start_at(port, &args, Some(disk.path()))
    };
    let server = start(0, &before)?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_run(&browser, &server.address)?;
    // The token is removed from the address.
    app.wait_for("location.search === ''")?;
    let port = server.kill()?;
    app.wait_for_text("Trying again")?;
    app.press('x')?;
    app.wait_for_text("not sent yet")?;
    let server = start(port, &after)?;
    app.wait_for_text("wants another token")?;
    app.screenshot("locked-out")?;
    App::open(&browser, &server.address)?;
    // The labels were learned on the restarted server.
    app.item("a label", |it| it.num_labels().is_some())?;
    app.wait_for("!document.body.textContent.includes('Trying again')")?;
    app.assert_clean_but_for_lost_servers()
}

#[test]
fn the_address_is_opened_in_the_browser_if_there_is_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let browser = folder.path().join("xdg-open");
    let [arguments, opened] = ["arguments", "opened"].map(|name| folder.path().join(name));
    let serve = |script: String| {
        fs::write(&browser, script)?;
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755))?;
        let mut serve = program::command()?;
        serve.args(["serve", "--port", "0", "--open"]);
        // The script's shell is found through its path.
        serve.env("PATH", folder.path());
        Process::start(serve.env("XDG_CONFIG_HOME", folder.path()))
    };
    let with_browser = serve(format!(
        "#!/bin/sh\necho \"$*\" > {}\nwhile read -r line; do echo \"$line\"; done < \"$1\" > {}\n",
        arguments.display(),
        opened.display()
    ))?;
    while fs::read_to_string(&opened).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let address = with_browser.terminate()?;
    assert!(fs::read_to_string(&opened)?.contains(&format!("url={}\"", address.trim())));
    // Every user sees the arguments of a command.
    let arguments = fs::read_to_string(&arguments)?;
    let (_, token) = address.trim().split_once("/?token=").context("a token")?;
    assert!(!arguments.contains(token), "{arguments}");
    assert!(!fs::exists(arguments.trim())?, "{arguments}");
    let without = serve("#!/bin/sh\nexit 3\n".to_owned())?;
    let error_output = without.line_with("found no browser")?;
    let address = without.terminate()?;
    assert!(error_output.contains(address.trim()), "{error_output}");
    Ok(())
}

#[test]
fn other_machines_are_served_with_a_generated_token() -> Result<()> {
    let [first, second] = [(); 2].map(|()| Server::start_for_others());
    let (first, second) = (first?, second?);
    let token = |server: &Server| Some(server.address.split_once("/?token=")?.1.to_owned());
    let (one, other) = (
        token(&first).context("a token")?,
        token(&second).context("a token")?,
    );
    assert!(one.len() >= 32 && one != other, "{one} {other}");
    Ok(())
}

#[test]
fn the_page_is_compressed_cached_and_protected() -> Result<()> {
    let server = Server::start(&["--no-token"])?;
    let (head, index) = server.ask("/", &[])?;
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
        let (head, _) = server.ask(&path, &[("Accept-Encoding", encoding)])?;
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
        let (head, body) = server.ask(&path, &known)?;
        assert!(
            head.starts_with("http/1.1 304") && body.is_empty(),
            "{head}"
        );
    }
    let (head, plain) = server.ask(&path, &[])?;
    assert!(!head.contains("content-encoding"), "{head}");
    assert!(String::from_utf8(plain)?.contains("WebAssembly"));
    Ok(())
}

#[test]
fn unauthorized_requests_are_refused_and_the_server_continues() -> Result<()> {
    let server = Server::start(&["--no-token"])?;
    for headers in [
        &[("Host", "callgrove.example")][..],
        &[("Host", "127.0.0.1.nip.io:80")],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
    ] {
        let (head, _) = server.ask("/", headers)?;
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
        let (head, _) = server.ask(path, headers)?;
        assert!(
            head.starts_with(&format!("http/1.1 {status}")),
            "{path}: {head}"
        );
    }
    Ok(())
}
