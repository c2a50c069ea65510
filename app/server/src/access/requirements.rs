//! The least role for each route, gRPC method and command of a page.

use axum::http::Method;
use callgrove_access::TokenRole::{self, Label, Publish, Read, Write};
use callgrove_session::Command;

use crate::grpc;

/// The least role for each route and gRPC method: its HTTP method, its path, in which `{}` matches any one segment, and
/// the role. A request that is not in the table needs the role `write`, unless it reads a file of the page. `/healthz` and
/// `/readyz` need no token.
pub const ROUTES: &[(&str, &str, TokenRole)] = &[
    ("GET", "/healthz", Read),
    ("GET", "/readyz", Read),
    ("GET", "/metrics", Read),
    // The commands of the page are checked one by one: `least_role_of_command`.
    ("GET", "/view", Read),
    ("GET", "/api/health", Read),
    ("GET", "/api/overview", Read),
    ("GET", "/api/packets", Read),
    ("GET", "/api/documents/{}", Read),
    ("GET", "/api/count/{}", Read),
    ("GET", "/api/schema/{}", Read),
    ("GET", "/api/tree-model", Read),
    ("GET", "/api/tree-models", Read),
    ("POST", "/api/tree-models", Publish),
    ("POST", "/api/tree-models/in-force", Publish),
    ("POST", "/api/anomalydata", Write),
    ("GET", "/api/tokens", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/Health", Read),
    ("POST", "/callgrove.provdb.v1.ProvDb/State", Read),
    ("POST", "/callgrove.provdb.v1.ProvDb/FindIds", Read),
    ("POST", "/callgrove.provdb.v1.ProvDb/Documents", Read),
    ("POST", "/callgrove.provdb.v1.ProvDb/Count", Read),
    ("POST", "/callgrove.provdb.v1.ProvDb/FindPlainSql", Read),
    ("POST", "/callgrove.provdb.v1.ProvDb/Put", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/ForgetStep", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/Remove", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/ChangeStates", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/JoinRun", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/Claim", Write),
    ("POST", "/callgrove.provdb.v1.ProvDb/Goodbye", Write),
    ("POST", "/callgrove.pserver.v1.Pserver/Health", Read),
    ("POST", "/callgrove.pserver.v1.Pserver/Register", Write),
    ("POST", "/callgrove.pserver.v1.Pserver/Functions", Write),
    ("POST", "/callgrove.pserver.v1.Pserver/Sync", Write),
    ("POST", "/callgrove.pserver.v1.Pserver/Heartbeat", Write),
    ("POST", "/callgrove.pserver.v1.Pserver/Progress", Write),
    ("POST", "/callgrove.pserver.v1.Pserver/Goodbye", Write),
];

/// Returns the least role for a request.
pub fn least_role(method: &Method, path: &str) -> TokenRole {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let is_same = |named: &str| named == method.as_str() || (is_read && named == "GET");
    let row = ROUTES
        .iter()
        .find(|(named, pattern, _)| is_same(named) && matches(pattern, path));
    match row {
        Some((_, _, role)) => *role,
        None if is_read && !path.starts_with("/api/") && !grpc::is_method(path) => Read,
        None => Write,
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some("{}"), Some(segment)) if !segment.is_empty() => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => return false,
        }
    }
}

/// Returns the least role for a command of a page. What one page changes for all others needs more than reading.
pub(super) fn least_role_of_command(command: &Command) -> TokenRole {
    match command {
        Command::Select(_)
        | Command::SetName(_)
        | Command::ExportLabels { .. }
        | Command::SaveModel { .. }
        | Command::SaveSession { .. }
        | Command::FetchRunningModels { .. }
        | Command::Dismiss { .. } => Read,
        Command::OpenTrace { .. }
        | Command::SetRecordedRun { .. }
        | Command::SetRoot { .. }
        | Command::SetLabel { .. }
        | Command::SetRecordLabel { .. }
        | Command::SetMark { .. }
        | Command::DeleteMark { .. }
        | Command::ImportLabels { .. }
        | Command::Train
        | Command::SetAutoTrain(_)
        | Command::Answer(_)
        | Command::LearnHeld
        | Command::Tune(_)
        | Command::SetMap(_)
        | Command::PauseMap(_)
        | Command::SetQuery(_)
        | Command::Undo
        | Command::Redo
        | Command::LoadModel { .. }
        | Command::AnswerModel(_)
        | Command::CompareWith { .. }
        | Command::EndComparison
        | Command::Reload
        | Command::LoadSession { .. } => Label,
        Command::PublishModel { .. } | Command::PutModelInForce { .. } => Publish,
        // Of the server alone.
        Command::ForViewer { .. } | Command::Viewer { .. } => Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_needs_the_full_token_unless_it_is_a_file_of_the_page() {
        for (method, path, role) in [
            (Method::GET, "/", Read),
            (Method::HEAD, "/", Read),
            (Method::GET, "/callgrove-0123abcd.wasm", Read),
            (Method::POST, "/", Write),
            (Method::GET, "/api/documents/anomalies", Read),
            (Method::HEAD, "/api/overview", Read),
            (Method::GET, "/api/documents/", Write),
            (Method::GET, "/api/documents/anomalies/7", Write),
            (Method::DELETE, "/api/overview", Write),
            (Method::GET, "/api/new", Write),
            (Method::POST, "/api/tree-models", Publish),
            (Method::POST, "/callgrove.provdb.v1.ProvDb/Count", Read),
            (Method::POST, "/callgrove.provdb.v1.ProvDb/New", Write),
            (Method::GET, "/callgrove.provdb.v1.ProvDb/New", Write),
        ] {
            assert_eq!(least_role(&method, path), role, "{method} {path}");
        }
    }
}
