//! `callgrove mcp`, asked by the client of the protocol's own library.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::process::Stdio;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callgrove_tests::program;
use callgrove_tests::shell::{COMPUTE, analyze, example, stdout};
use rmcp::model::{CallToolRequestParams, ContentBlock};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// A client, its server, and the folder in which the server keeps labels.
struct Assistant {
    client: RunningService<RoleClient, ()>,
    server: Child,
    _state: TempDir,
}

impl Assistant {
    async fn start(args: &[&str]) -> Result<Self> {
        let state = tempfile::tempdir()?;
        let mut server = Command::from(program::command()?)
            .arg("mcp")
            .args(args)
            .env("XDG_STATE_HOME", state.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = server.stdout.take().context("no output")?;
        let input = server.stdin.take().context("no input")?;
        Ok(Self {
            client: ().serve((output, input)).await?,
            server,
            _state: state,
        })
    }

    /// Calls a tool, and returns its answer or the text of its error.
    async fn ask(&self, tool: &'static str, arguments: Value) -> Result<Result<Value, String>> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let max_bytes = if arguments.contains_key("limit") {
            100_000
        } else {
            8_000
        };
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.client.call_tool(call).await?;
        if result.is_error == Some(true) {
            let texts = result.content.iter().filter_map(ContentBlock::as_text);
            return Ok(Err(texts.map(|it| it.text.as_str()).collect()));
        }
        let texts = result.content.iter().filter_map(ContentBlock::as_text);
        let text: String = texts.map(|it| it.text.as_str()).collect();
        let num_bytes = text.len();
        assert!(num_bytes <= max_bytes, "{tool}: {num_bytes} bytes");
        Ok(Ok(serde_json::from_str(&text)?))
    }

    async fn answer(&self, tool: &'static str, arguments: Value) -> Result<Value> {
        let answer = self.ask(tool, arguments).await?;
        answer.map_err(anyhow::Error::msg)
    }

    async fn tools(&self) -> Result<BTreeSet<String>> {
        let tools = self.client.list_all_tools().await?;
        Ok(tools.into_iter().map(|it| it.name.into_owned()).collect())
    }

    /// Ends the session, and checks that the server ends by itself.
    async fn end(mut self) -> Result<()> {
        self.client.cancel().await?;
        assert!(self.server.wait().await?.success());
        Ok(())
    }
}

fn run(test: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(test)
}

#[test]
fn an_assistant_gets_what_the_commands_print() -> Result<()> {
    run(async {
        let example = example();
        let assistant = Assistant::start(&[&example.to_string_lossy()]).await?;
        assert!(!assistant.tools().await?.contains("label"));
        let info = assistant.answer("info", json!({})).await?;
        assert_eq!(info["ranks"], 4);
        let incidents = assistant.answer("incidents", json!({ "limit": 2 })).await?;
        let rows = incidents["rows"].as_array().context("no rows")?;
        assert_eq!(rows.len(), 2, "{incidents}");
        assert!(incidents["num_left_out"].as_u64() > Some(0), "{incidents}");
        assert!(rows[0]["delay_us"].as_i64() >= rows[1]["delay_us"].as_i64());
        let ranked = assistant
            .answer("analyze", json!({ "function": COMPUTE, "limit": 3 }))
            .await?;
        let printed = analyze(&example, &["--limit", "3", "--explain"])?;
        assert_eq!(ranked["rows"], Value::from(printed));
        let causes = assistant
            .answer("causes", json!({ "function": COMPUTE, "limit": 1 }))
            .await?;
        assert!(causes["rows"][0]["event_id"].is_string(), "{causes}");
        let patterns = assistant.answer("patterns", json!({ "limit": 1 })).await?;
        assert!(patterns["rows"][0]["name"].is_string(), "{patterns}");
        let path = example.to_string_lossy();
        let unchanged = assistant
            .answer("compare", json!({ "before": path, "after": path }))
            .await?;
        assert_eq!(unchanged["rows"], json!([]));
        assistant.end().await
    })
}

#[test]
fn an_assistant_gets_records() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let (run_path, database) = (example(), disk.path().join("found"));
    let (run_path, database) = (run_path.to_string_lossy(), database.to_string_lossy());
    stdout(&["run", &run_path, "--provdb", &database])?;
    run(async {
        let assistant = Assistant::start(&["--allow", &database]).await?;
        let wanted = json!({ "database": database, "sort": "severity", "limit": 2 });
        let found = assistant.answer("query", wanted).await?;
        let printed = stdout(&[
            "query", &database, "--sort", "severity", "-n", "2", "--format", "json",
        ])?;
        let printed = printed.lines().map(serde_json::from_str);
        let printed: Vec<Value> = printed.collect::<Result<_, _>>()?;
        assert_eq!(printed.len(), 2);
        assert_eq!(found["rows"], Value::from(printed));
        let wrong = json!({ "database": database, "filter": "no_such_field > 1" });
        let error = assistant.ask("query", wrong).await?.unwrap_err();
        assert!(error.contains("no_such_field"), "{error}");
        assistant.end().await
    })
}

#[test]
fn an_assistant_gets_pictures() -> Result<()> {
    run(async {
        let assistant = Assistant::start(&[&example().to_string_lossy()]).await?;
        let arguments = json!({ "view": "incident", "incident": 1 });
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = CallToolRequestParams::new("draw").with_arguments(arguments);
        let result = assistant.client.call_tool(call).await?;
        let image = result.content.iter().find_map(ContentBlock::as_image);
        let image = image.context("no picture")?;
        assert_eq!(image.mime_type, "image/png");
        let png = STANDARD.decode(&image.data)?;
        let picture = png::Decoder::new(Cursor::new(png)).read_info()?;
        let info = picture.info();
        assert_eq!((info.width, info.height), (1200, 720));
        let alone = json!({ "view": "changes" });
        let error = assistant.ask("draw", alone).await?.unwrap_err();
        assert!(error.contains("name that one"), "{error}");
        let earlier = example();
        let compared = json!({ "view": "changes", "before": earlier.to_string_lossy() });
        let compared = compared.as_object().cloned().unwrap_or_default();
        let call = CallToolRequestParams::new("draw").with_arguments(compared);
        let result = assistant.client.call_tool(call).await?;
        assert!(result.content.iter().any(|it| it.as_image().is_some()));
        let unknown = json!({ "view": "incident", "incident": 9999 });
        let error = assistant.ask("draw", unknown).await?.unwrap_err();
        assert!(error.contains("9999"), "{error}");
        assistant.end().await
    })
}

#[test]
fn a_mistake_is_an_answer_with_its_remedy() -> Result<()> {
    run(async {
        let example = example();
        let path = example.to_string_lossy();
        let assistant = Assistant::start(&["--allow", &path, "--allow", "/no/such/run"]).await?;
        let error = assistant.ask("info", json!({})).await?.unwrap_err();
        assert!(error.contains("pass its path as `run`"), "{error}");
        let absent = json!({ "run": "/no/such/run" });
        let error = assistant.ask("info", absent).await?.unwrap_err();
        assert!(error.contains("/no/such/run"), "{error}");
        let unknown = json!({ "run": example.to_string_lossy(), "function": "no_such_function" });
        let error = assistant.ask("analyze", unknown).await?.unwrap_err();
        assert!(error.contains("no_such_function"), "{error}");
        let known = json!({ "run": example.to_string_lossy() });
        assert_eq!(assistant.answer("info", known).await?["ranks"], 4);
        assistant.end().await
    })
}

#[test]
fn a_label_changes_the_list_if_labels_may_be_given() -> Result<()> {
    run(async {
        let example = example();
        let assistant = Assistant::start(&["--labels", &example.to_string_lossy()]).await?;
        assert!(assistant.tools().await?.contains("label"));
        let list = json!({ "function": COMPUTE, "limit": 1 });
        let first = assistant.answer("analyze", list.clone()).await?;
        let first = &first["rows"][0];
        let label = json!({ "function": COMPUTE, "execution": first["tree"], "label": "abnormal" });
        let given = assistant.answer("label", label).await?;
        assert_eq!(given["num_labels"], 1);
        let after = assistant.answer("analyze", list).await?;
        assert_eq!(after["rows"][0]["label"], "abnormal", "{after}");
        let unknown = json!({ "function": COMPUTE, "execution": "#9-9", "label": "normal" });
        let error = assistant.ask("label", unknown).await?.unwrap_err();
        assert!(error.contains("#9-9"), "{error}");
        assistant.end().await
    })
}

#[test]
fn an_assistant_reaches_nothing_that_no_person_named() -> Result<()> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let stranger = format!("http://{}", listener.local_addr()?);
    let disk = tempfile::tempdir()?;
    let other = disk.path().to_string_lossy().into_owned();
    run(async {
        let assistant = Assistant::start(&[&example().to_string_lossy()]).await?;
        for (tool, arguments) in [
            ("query", json!({ "database": stranger })),
            ("query", json!({ "database": other })),
            ("info", json!({ "run": format!("trees:{stranger}") })),
            ("incidents", json!({ "run": other })),
            ("compare", json!({ "before": other, "after": stranger })),
            ("draw", json!({ "view": "changes", "before": other })),
        ] {
            let error = assistant.ask(tool, arguments).await?.unwrap_err();
            assert!(error.contains("--allow"), "{tool}: {error}");
        }
        assert!(listener.accept().is_err(), "the server was contacted");
        let error = assistant.ask("info", json!({ "run": "" })).await?;
        assert!(error.unwrap_err().contains("is empty"));
        let unknown = assistant.ask("info", json!({ "rum": "x" })).await;
        let unknown = unknown.map_err(|error| error.to_string()).flatten();
        let refused = unknown.unwrap_err();
        assert!(refused.contains("rum"), "{refused}");
        assistant.end().await
    })
}
