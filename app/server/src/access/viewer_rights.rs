//! What one page may change in the session that it shares with others.

use std::sync::Arc;

use callgrove_access::TokenRole;
use callgrove_session::{Command, Notice, Severity, Snapshot};

use super::members::Access;
use super::requirements::least_role_of_command;

/// The number of the notice of a refusal. The session counts its notices from 1.
const REFUSAL: u64 = u64::MAX;

/// The rights of a page, and the refusal that it shows.
pub(crate) struct ViewerRights {
    access: Access,
    refusal: Option<Notice>,
}

impl ViewerRights {
    pub(crate) fn new(access: Access) -> Self {
        let refusal = None;
        Self { access, refusal }
    }

    /// Returns the command that the session carries out: one that the role does not allow is replaced by one without an
    /// effect, so that the number of the command is answered, and the page shows the refusal.
    pub(crate) fn permitted(&mut self, command: Command) -> Command {
        let dismissal = Command::Dismiss { notice: REFUSAL };
        if command == dismissal {
            self.refusal = None;
        }
        if self.allows(least_role_of_command(&command)) {
            command
        } else {
            dismissal
        }
    }

    /// Returns whether the page may cancel the work that it shares with others.
    pub(crate) fn may_cancel(&mut self) -> bool {
        self.allows(TokenRole::Label)
    }

    fn allows(&mut self, least: TokenRole) -> bool {
        let Access { name, role, .. } = &self.access;
        let is_allowed = *role >= least;
        if !is_allowed {
            let text = format!(
                "This needs the role `{least}`, and the token `{name}` has the role `{role}`; ask for a token with that role."
            );
            self.refusal = Some(Notice {
                id: REFUSAL,
                severity: Severity::Error,
                text,
            });
        }
        is_allowed
    }

    /// Returns the snapshot as the page gets it.
    pub(crate) fn with_refusal(&self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        let Some(refusal) = &self.refusal else {
            return snapshot;
        };
        let notices = snapshot.notices.iter().chain([refusal]).cloned().collect();
        Arc::new(Snapshot {
            notices,
            ..Snapshot::clone(&snapshot)
        })
    }
}
