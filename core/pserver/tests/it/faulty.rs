//! A connection to a server whose faults a test decides.

use callgrove_model::{FuncId, ProgramId};
use callgrove_pserver::{
    FunctionRequest, Hello, PserverError, Registered, RunProgress, ServerState, SyncReply,
    SyncRequest, Transport,
};

/// The faults of a connection.
pub(crate) trait Faults: Send {
    /// Maximum size of a contribution in one request.
    const MAX_REQUEST_BYTES: usize;

    fn is_up(&self) -> bool;

    /// Calls the server, or fails by [`absence`].
    fn call<T>(
        &self,
        call: impl FnOnce(&ServerState) -> Result<T, PserverError>,
    ) -> Result<T, PserverError>;

    /// Called after each contribution that the server has answered.
    fn answered(&mut self) -> Result<(), PserverError> {
        Ok(())
    }
}

/// A connection with faults.
pub(crate) struct Faulty<F>(pub(crate) F);

/// Returns the error of a server that cannot be reached.
pub(crate) fn absence() -> PserverError {
    PserverError::NotConnected {
        address: String::from("nowhere"),
        cause: String::from("by plan"),
    }
}

impl<F: Faults> Transport for Faulty<F> {
    fn max_request_bytes(&self) -> usize {
        F::MAX_REQUEST_BYTES
    }

    fn begin_call(&mut self) {}

    fn is_up(&self) -> bool {
        self.0.is_up()
    }

    fn absence(&self) -> PserverError {
        absence()
    }

    fn register(&mut self, hello: &Hello) -> Result<Registered, PserverError> {
        self.0.call(|server| server.register(hello, 0))
    }

    fn functions(
        &mut self,
        program: ProgramId,
        requests: &[FunctionRequest],
    ) -> Result<Vec<FuncId>, PserverError> {
        self.0.call(|server| server.functions(program, requests))
    }

    fn sync(&mut self, request: SyncRequest) -> Result<SyncReply, PserverError> {
        let reply = self.0.call(|server| server.sync(request, 0))?;
        self.0.answered()?;
        Ok(reply)
    }

    fn progress(
        &mut self,
        program: ProgramId,
        num_ranks: u32,
    ) -> Result<RunProgress, PserverError> {
        let progress = |server: &ServerState| Ok(server.progress(program, num_ranks, 0));
        self.0.call(progress)
    }

    fn goodbye(&mut self, instance: &str) -> Result<(), PserverError> {
        self.0.call(|server| {
            server.goodbye(instance);
            Ok(())
        })
    }
}
