//! The role of a token.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the holder of a token may do. Each role includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenRole {
    /// Reading: pages, queries, streams and metrics.
    Read,
    /// Labels, marks and everything else that the viewers of a page share.
    Label,
    /// Publishing and withdrawing models of a running job.
    Publish,
    /// Everything, including documents, statistics and the states of instances.
    Write,
}

impl TokenRole {
    /// All roles, in ascending order.
    pub const ALL: [Self; 4] = [Self::Read, Self::Label, Self::Publish, Self::Write];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Label => "label",
            Self::Publish => "publish",
            Self::Write => "write",
        }
    }
}

impl fmt::Display for TokenRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TokenRole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|role| role.name() == text);
        named.ok_or_else(|| format!("the roles are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_includes_those_before_it_and_survives_as_text() {
        assert!(TokenRole::ALL.is_sorted());
        for role in TokenRole::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
            let json = serde_json::to_string(&role).unwrap();
            assert_eq!(json, format!("\"{role}\""));
        }
        assert!(
            "admin"
                .parse::<TokenRole>()
                .unwrap_err()
                .contains("publish")
        );
    }
}
