//! The exchange within one process: requests are function calls.

use std::sync::Arc;
use std::time::Instant;

use callgrove_model::{FuncId, ProgramId};

use crate::error::PserverError;
use crate::exchange_session::ExchangeSession;
use crate::functions::FunctionRequest;
use crate::model_exchange::{Hello, RunProgress};
use crate::monotonic_clock::MonotonicClock;
use crate::protocol::{Registered, Retention, SyncReply, SyncRequest, Transport};
use crate::state::ServerState;

/// A transport to a state in the same process.
#[derive(Clone, Debug)]
pub struct InProcess {
    state: Arc<ServerState>,
    clock: MonotonicClock,
}

impl ServerState {
    /// Creates the exchange session of one AD instance in this process.
    pub fn session(self: &Arc<Self>) -> ExchangeSession<InProcess> {
        ExchangeSession::new(InProcess {
            state: Arc::clone(self),
            clock: MonotonicClock::new(),
        })
    }
}

impl Transport for InProcess {
    fn max_request_bytes(&self) -> usize {
        usize::MAX
    }

    fn begin_call(&mut self) {}

    fn is_up(&self) -> bool {
        true
    }

    fn absence(&self) -> PserverError {
        PserverError::NotConnected {
            address: String::from("this process"),
            cause: String::from("it is ending"),
        }
    }

    fn register(&mut self, hello: &Hello) -> Result<Registered, PserverError> {
        let registered = self.state.register(hello, self.clock.now_ms())?;
        Ok(Registered {
            retention: Retention::Process,
            ..registered
        })
    }

    fn functions(
        &mut self,
        program: ProgramId,
        requests: &[FunctionRequest],
    ) -> Result<Vec<FuncId>, PserverError> {
        self.state.functions(program, requests)
    }

    fn sync(&mut self, request: SyncRequest) -> Result<SyncReply, PserverError> {
        let start = Instant::now();
        let reply = self.state.sync(request, self.clock.now_ms());
        self.state.count_exchange(start.elapsed());
        reply
    }

    fn progress(
        &mut self,
        program: ProgramId,
        num_ranks: u32,
    ) -> Result<RunProgress, PserverError> {
        Ok(self.state.progress(program, num_ranks, self.clock.now_ms()))
    }

    fn goodbye(&mut self, instance: &str) -> Result<(), PserverError> {
        self.state.goodbye(instance);
        Ok(())
    }
}
