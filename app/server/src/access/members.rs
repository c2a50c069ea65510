//! The tokens that a running server accepts, how each is used, and the end of what a revoked one has open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, header};
use callgrove_access::{OWN_NAMES, Token, TokenFile, TokenList, TokenRole, digest, is_same_digest};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{error, info};

use super::cookie;

use crate::error::ServerError;

/// Interval at which the list of tokens is read again.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval at which it is read again because of tokens that are unknown so far.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(100);

/// How a token of a server is used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TokenUse {
    /// Its name: that in the list, `server` for the token of the server itself, `page` for the one in the address of its
    /// page.
    pub name: String,
    /// What it allows.
    pub role: TokenRole,
    /// Number of requests with it since the server started.
    pub num_requests: u64,
    /// Time of the last of them, in seconds since 1970; `None` before the first one.
    pub last_used_s: Option<u64>,
}

/// An accepted token.
#[derive(Debug)]
pub(crate) struct TokenHolder {
    name: String,
    role: TokenRole,
    /// False for the token of the page's address.
    may_call_grpc: bool,
    /// Digest of the token, as text.
    digest: String,
    /// The value of its cookie.
    proof: String,
    num_requests: AtomicU64,
    /// 0 before the first request.
    last_used_s: AtomicU64,
    revoked: watch::Sender<bool>,
}

/// The right of one request, and of what it opens; an extension of each request.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Name of the token.
    pub(crate) name: String,
    pub(crate) role: TokenRole,
    /// `None` for tokens that are valid as long as the server runs.
    revoked: Option<watch::Receiver<bool>>,
}

/// All tokens of a server. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Members(Arc<SharedMembers>);

#[derive(Debug)]
struct SharedMembers {
    own: [Arc<TokenHolder>; 2],
    listed: RwLock<Vec<Arc<TokenHolder>>>,
    /// The list in a file.
    file: Option<TokenFile>,
    last_read: Mutex<LastRead>,
    /// Makes the proofs of listed tokens, whose digests are in the file.
    proof_key: Token,
}

/// The last time at which the list was read.
#[derive(Debug)]
struct LastRead {
    at: Instant,
    /// The reason why it could not be read.
    fault: Option<String>,
}

impl TokenHolder {
    fn new(
        name: &str,
        role: TokenRole,
        may_call_grpc: bool,
        digest: String,
        proof: String,
    ) -> Self {
        Self {
            name: name.to_owned(),
            role,
            may_call_grpc,
            digest,
            proof,
            num_requests: AtomicU64::new(0),
            last_used_s: AtomicU64::new(0),
            revoked: watch::channel(false).0,
        }
    }

    fn own(name: &str, role: TokenRole, may_call_grpc: bool, token: &Token) -> Arc<Self> {
        let digest = digest(token.secret().as_bytes());
        Arc::new(Self::new(name, role, may_call_grpc, digest, token.proof()))
    }

    pub(super) fn role(&self) -> TokenRole {
        self.role
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value of the cookie by which a browser proves that it had the token.
    pub(super) fn proof(&self) -> &str {
        &self.proof
    }

    /// Notes a request, and returns its right.
    pub(super) fn enter(&self) -> Access {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.last_used_s
            .store(now.map_or(0, |it| it.as_secs()), Ordering::Relaxed);
        self.num_requests.fetch_add(1, Ordering::Relaxed);
        let is_own = OWN_NAMES.contains(&self.name.as_str());
        Access {
            name: self.name.clone(),
            role: self.role,
            revoked: (!is_own).then(|| self.revoked.subscribe()),
        }
    }

    fn token_use(&self) -> TokenUse {
        let last_used_s = self.last_used_s.load(Ordering::Relaxed);
        TokenUse {
            name: self.name.clone(),
            role: self.role,
            num_requests: self.num_requests.load(Ordering::Relaxed),
            last_used_s: (last_used_s != 0).then_some(last_used_s),
        }
    }
}

impl Access {
    /// Returns the right of every client of a server that requires no token.
    pub(super) fn without_token() -> Self {
        Self {
            name: "no token".to_owned(),
            role: TokenRole::Write,
            revoked: None,
        }
    }

    /// Returns whether the token can be revoked while the server runs.
    pub(super) fn can_end(&self) -> bool {
        self.revoked.is_some()
    }

    /// Ready once the token is revoked.
    pub(crate) async fn ended(&mut self) {
        match &mut self.revoked {
            // An error means that its member is gone, which is the same.
            Some(revoked) => drop(revoked.wait_for(|is_revoked| *is_revoked).await),
            None => std::future::pending().await,
        }
    }
}

impl Members {
    /// Returns the tokens of a server: its own, that of the page's address, and those of a list.
    ///
    /// # Errors
    /// The list cannot be read.
    pub(crate) fn new(
        server: &Token,
        page: &Token,
        file: Option<TokenFile>,
    ) -> Result<Self, ServerError> {
        let [server_name, page_name] = OWN_NAMES;
        let list = file.as_ref().map(TokenFile::read_if_any).transpose()?;
        let members = Self(Arc::new(SharedMembers {
            own: [
                TokenHolder::own(server_name, TokenRole::Write, true, server),
                TokenHolder::own(page_name, TokenRole::Publish, false, page),
            ],
            listed: RwLock::default(),
            file,
            last_read: Mutex::new(LastRead {
                at: Instant::now(),
                fault: None,
            }),
            proof_key: Token::random()?,
        }));
        members.replace(&list.unwrap_or_default());
        Ok(members)
    }

    /// Returns the holder of a token, for a request of either protocol.
    pub(super) fn with_token(&self, token: &[u8], is_grpc: bool) -> Option<Arc<TokenHolder>> {
        let digest = digest(token);
        self.find(is_grpc, |it| is_same_digest(&it.digest, &digest))
    }

    /// Returns the holder of the token or cookie of a request.
    pub(super) fn with_headers(
        &self,
        headers: &HeaderMap,
        is_grpc: bool,
    ) -> Option<Arc<TokenHolder>> {
        match headers.get(header::AUTHORIZATION) {
            Some(value) => self.with_token(bearer(value.as_bytes())?, is_grpc),
            None => self.find(is_grpc, |it| cookie::has_cookie(headers, &it.proof)),
        }
    }

    fn find(
        &self,
        is_grpc: bool,
        is_it: impl Fn(&TokenHolder) -> bool,
    ) -> Option<Arc<TokenHolder>> {
        let is_found = |it: &&Arc<TokenHolder>| (it.may_call_grpc || !is_grpc) && is_it(it);
        let own = self.0.own.iter().find(is_found).cloned();
        own.or_else(|| {
            let listed = self.0.listed.read();
            let listed = listed.unwrap_or_else(PoisonError::into_inner);
            listed.iter().find(is_found).cloned()
        })
    }

    /// Returns how each token is used.
    pub(super) fn uses(&self) -> Vec<TokenUse> {
        let listed = self.0.listed.read();
        let listed = listed.unwrap_or_else(PoisonError::into_inner);
        let members = self.0.own.iter().chain(listed.iter());
        members.map(|it| it.token_use()).collect()
    }

    /// Follows the changes of the list, for ever.
    pub(crate) async fn follow(&self) {
        loop {
            sleep(READ_INTERVAL).await;
            self.refresh().await;
        }
    }

    /// Reads the list, unless it was read since this was called. While the file cannot be read, no token of it is accepted:
    /// it could be one that is revoked.
    pub(super) async fn refresh(&self) {
        let Some(file) = self.0.file.clone() else {
            return;
        };
        let called_at = Instant::now();
        let mut last_read = self.0.last_read.lock().await;
        if last_read.at > called_at {
            return;
        }
        sleep_until(last_read.at + MIN_READ_INTERVAL).await;
        last_read.at = Instant::now();
        // A network file system may not answer.
        let Ok(read) = spawn_blocking(move || file.read_if_any()).await else {
            return;
        };
        let (list, fault) = match read {
            Ok(list) => (list, None),
            Err(error) => (TokenList::default(), Some(error.to_string())),
        };
        if fault != last_read.fault
            && let Some(fault) = &fault
        {
            error!("no token of the list is accepted: {fault}");
        }
        last_read.fault = fault;
        self.replace(&list);
    }

    /// Accepts the tokens of a list, and ends everything that other tokens have open.
    fn replace(&self, list: &TokenList) {
        let listed = self.0.listed.write();
        let mut listed = listed.unwrap_or_else(PoisonError::into_inner);
        let next = list.tokens().iter().map(|entry| {
            let is_same = |it: &&Arc<TokenHolder>| {
                it.name == entry.name && it.role == entry.role && it.digest == entry.digest()
            };
            listed.iter().find(is_same).cloned().unwrap_or_else(|| {
                let proof = self.0.proof_key.proof_of(entry.digest());
                let digest = entry.digest().to_owned();
                Arc::new(TokenHolder::new(
                    &entry.name,
                    entry.role,
                    true,
                    digest,
                    proof,
                ))
            })
        });
        let next: Vec<Arc<TokenHolder>> = next.collect();
        for before in listed.iter() {
            if !next.iter().any(|it| Arc::ptr_eq(it, before)) {
                info!("the token {} is revoked", before.name);
                before.revoked.send_replace(true);
            }
        }
        *listed = next;
    }
}

/// Returns the token of an `authorization` header.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
    is_bearer.then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn members(list: &TokenList) -> Members {
        let server = Token::new("0123456789abcdef", "the test").unwrap();
        let members = Members::new(&server, &Token::random().unwrap(), None).unwrap();
        members.replace(list);
        members
    }

    #[test]
    fn the_scheme_is_case_insensitive_and_others_are_refused() {
        let members = members(&TokenList::default());
        let sent = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            members.with_headers(&headers, true).is_some()
        };
        assert!(sent("Bearer 0123456789abcdef"));
        assert!(sent("bearer  0123456789abcdef"));
        assert!(!sent("Basic 0123456789abcdef"));
        assert!(!sent("0123456789abcdef"));
        assert!(!sent("Bearer"));
        assert!(!sent("Bearer 0123456789abcdeF"));
    }

    #[tokio::test]
    async fn a_revoked_token_ends_what_it_has_open_and_others_go_on() {
        let mut list = TokenList::default();
        let [ada, bob] = ["ada", "bob"].map(|name| list.add(name, TokenRole::Read).unwrap());
        let members = members(&list);
        let enter = |token: &Token| members.with_token(token.secret().as_bytes(), true);
        let mut of_ada = enter(&ada).unwrap().enter();
        let mut of_bob = enter(&bob).unwrap().enter();
        list.revoke("ada").unwrap();
        members.replace(&list);
        of_ada.ended().await;
        assert!(enter(&ada).is_none());
        let pause = Duration::from_millis(10);
        assert!(tokio::time::timeout(pause, of_bob.ended()).await.is_err());
        let used = members.uses();
        let used = used.iter().find(|it| it.name == "bob").unwrap();
        assert_eq!(used.num_requests, 1);
        assert!(used.last_used_s.is_some());
        // The same name with another token is another one.
        let again = list.add("ada", TokenRole::Write).unwrap();
        members.replace(&list);
        assert!(enter(&ada).is_none());
        assert_eq!(enter(&again).unwrap().role(), TokenRole::Write);
    }

    #[test]
    fn a_cookie_needs_more_than_the_digest_of_its_token() {
        let mut list = TokenList::default();
        let ada = list.add("ada", TokenRole::Read).unwrap();
        let first = members(&list);
        let second = members(&list);
        let proof = |members: &Members| {
            let member = members.with_token(ada.secret().as_bytes(), false);
            member.unwrap().proof().to_owned()
        };
        assert_ne!(proof(&first), proof(&second));
    }
}
