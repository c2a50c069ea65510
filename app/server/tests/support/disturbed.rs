//! A database that runs a callback before documents are stored.

use std::ops::ControlFlow;
use std::sync::Arc;

use callgrove_model::RunIdentity;
use callgrove_provdb::{
    Claim, Collection, Document, ProvDbError, Query, SqlTable, StateChange, Store,
};
use callgrove_pserver::ServerState;
use callgrove_server::hub::Hub;
use callgrove_server::maintenance::{Maintenance, STATE_NAME};
use serde_json::Value;

use super::saved_in;

/// A database that runs a callback before documents are stored; an error of the callback fails the write.
pub struct Disturbed<F> {
    pub store: Box<dyn Store>,
    pub before_put: F,
}

impl<F: FnMut() -> Result<(), ProvDbError> + Send> Store for Disturbed<F> {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        (self.before_put)()?;
        self.store.put(documents)
    }

    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError> {
        self.store.forget_step(program, rank, step)
    }

    fn remove(&mut self, of: Collection, rank: u32, keys: &[String]) -> Result<(), ProvDbError> {
        self.store.remove(of, rank, keys)
    }

    /// Checks that all acknowledged data has documents.
    fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        if changes.iter().any(|it| it.name == "readiness probe") {
            (self.before_put)()?;
        }
        if let Some(saved) = changes.iter().find(|it| it.name == STATE_NAME) {
            let state: Value = serde_json::from_slice(saved.bytes.unwrap()).unwrap();
            let named = state["functions"].as_array().unwrap().iter();
            let names: Vec<String> = named.map(|it| it[2].as_str().unwrap().to_owned()).collect();
            let stored = self.find(&Query::all(Collection::FuncStats))?.concat();
            for name in names {
                assert!(stored.contains(&name), "{name}: {stored}");
            }
        }
        self.store.change_states(changes)
    }

    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        self.store.state(name)
    }

    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        self.store.find_ids(query)
    }

    fn documents(&mut self, of: Collection, ids: &[i64]) -> Result<Vec<String>, ProvDbError> {
        self.store.documents(of, ids)
    }

    fn find_each(
        &mut self,
        query: &Query,
        take: &mut dyn FnMut(String) -> ControlFlow<()>,
    ) -> Result<(), ProvDbError> {
        self.store.find_each(query, take)
    }

    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        self.store.count(query)
    }

    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError> {
        self.store.find_plain_sql(sql)
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        self.store.join_run(run)
    }

    fn claim(&mut self, program: u32, rank: u32, name: &str) -> Result<Claim, ProvDbError> {
        self.store.claim(program, rank, name)
    }
}

/// Starts the maintenance with a database that runs a callback before documents are stored.
pub fn disturbed(
    path: &str,
    state: &Arc<ServerState>,
    hub: &Arc<Hub>,
    before_put: impl FnMut() -> Result<(), ProvDbError> + Send + 'static,
) -> Maintenance {
    let mut config = saved_in(path, state, hub);
    let store = config.store.take().unwrap();
    config.store = Some(Box::new(Disturbed { store, before_put }));
    Maintenance::start(config).unwrap()
}
