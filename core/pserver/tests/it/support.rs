//! Support of the tests: models and reports of made-up steps, and access to a server's models.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::{FuncModel, Moments, Params, ValidParams};
use callgrove_incidents::StallSummary;
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId};
use callgrove_pserver::{
    AnomalySummary, CounterReport, FunctionReport, Hello, ModelExchange, PserverError,
    SavedGlobalState, ServerState, StateOptions, StepReport, TreePValues,
};
use serde_json::json;

pub(crate) const PROGRAM: ProgramId = ProgramId(0);

/// What a database has of a server's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    pub(crate) json: String,
    pub(crate) parts: BTreeMap<u64, String>,
}

impl Saved {
    /// Takes over the state of a server, as one transaction. Returns what to confirm.
    pub(crate) fn take(&mut self, state: &ServerState) -> SavedGlobalState {
        let saved = state.save().expect("all numbers are finite");
        self.json.clone_from(&saved.json);
        if let Some(part) = &saved.new_part {
            self.parts.insert(part.number, part.json.clone());
        }
        self.parts
            .retain(|number, _| !saved.obsolete_parts.contains(number));
        saved
    }

    pub(crate) fn restore(&self, options: StateOptions) -> Result<ServerState, PserverError> {
        ServerState::restored(options, &self.json, |number| {
            Ok(self.parts.get(&number).cloned())
        })
    }
}

/// Saves a server in an empty database.
pub(crate) fn saved(state: &ServerState) -> Saved {
    let mut saved = Saved::default();
    let taken = saved.take(state);
    state.confirm_saved(&taken);
    saved
}

pub(crate) fn params() -> ValidParams {
    Params::default().check().expect("the defaults are valid")
}

pub(crate) fn hello(rank: u32) -> Hello {
    Hello {
        instance: format!("test:{rank}"),
        program: PROGRAM,
        ranks: vec![RankId(rank)],
        run: run(rank, 4900),
        recorded_ranks: None,
    }
}

/// Returns what one rank knows about a run whose processes have the pids from `first_pid` on.
pub(crate) fn run(rank: u32, first_pid: u32) -> RunIdentity {
    let process =
        json!({"host": "vm", "pid": first_pid + rank, "start": 1_793_787_072_034_000_000_i64});
    let program = json!({"executables": [], "command_lines": ["/x/lmp -in a"], "ranks": {rank.to_string(): process}});
    serde_json::from_value(json!({"programs": {PROGRAM.to_string(): program}}))
        .expect("an identity")
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

pub(crate) fn model(values: &[u64]) -> FuncModel {
    let mut model = FuncModel::new(&params());
    model.extend(values);
    model
}

pub(crate) fn moments(values: &[u64]) -> Moments {
    let mut moments = Moments::default();
    moments.extend_from(values);
    moments
}

/// Returns a report on one function, whose times over 1,000 µs are anomalies, and on one counter.
pub(crate) fn report(rank: u32, step: u32, fid: FuncId, values: &[u64]) -> StepReport {
    let mut anomalies = AnomalySummary::default();
    for &value in values.iter().filter(|&&value| value > 1000) {
        let entry_us = u64::from(step) * 1_000_000;
        anomalies.push(
            value as f64 / 100.0,
            value as f64,
            entry_us,
            entry_us + value,
        );
    }
    StepReport {
        program: PROGRAM,
        rank: RankId(rank),
        step: StepId(step),
        functions: vec![FunctionReport {
            fid,
            exclusive: moments(values),
            inclusive: moments(values),
            anomalies,
        }],
        counters: vec![CounterReport {
            name: String::from("Memory Footprint (VmRSS) (KB)"),
            values: moments(values),
        }],
        stall_summary: StallSummary::default(),
        tree_p_values: TreePValues::new(),
    }
}

pub(crate) fn new_state(options: StateOptions) -> Arc<ServerState> {
    Arc::new(ServerState::new(options))
}

/// Returns the server's model of a function, as a new instance receives it.
pub(crate) fn global_model(state: &Arc<ServerState>, name: &str) -> FuncModel {
    state.fold();
    let mut session = state.session();
    let newcomer = Hello {
        instance: String::from("newcomer"),
        program: PROGRAM,
        ranks: Vec::new(),
        run: RunIdentity::default(),
        recorded_ranks: None,
    };
    session.register(&newcomer).expect("no rank is claimed");
    let fids = session
        .functions(PROGRAM, &names(&[name]))
        .expect("the name is short");
    let nothing = vec![(fids[0], model(&[]))];
    let synced = session
        .sync_and_report(nothing, &[])
        .expect("nothing is refused");
    session.goodbye().expect("it is in this process");
    FuncModel::clone(&synced.models[0].1)
}
