//! The addresses of resources: `subagent://session/ID`, `subagent://run/ID` and
//! `subagent://profile/NAME`.

use std::fmt;

use model::{RunId, SessionId};
use plan::DefinitionKind;

const SCHEME: &str = "subagent://";
/// The longest name of a profile: that of a file, without its ending.
const LONGEST_NAME: usize = 252;

/// The address of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    /// The whole conversation of a session.
    Session(SessionId),
    /// What a run was asked, and its result.
    Run(RunId),
    /// The file of a profile.
    Profile(String),
}

/// The kinds of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    Session,
    Run,
    Profile,
}

impl Template {
    pub(crate) const ALL: [Template; 3] = [Template::Session, Template::Run, Template::Profile];

    pub(crate) fn uri(self) -> &'static str {
        match self {
            Template::Session => "subagent://session/{id}",
            Template::Run => "subagent://run/{id}",
            Template::Profile => "subagent://profile/{name}",
        }
    }
}

impl ResourceUri {
    /// Nothing if the address is none of ours.
    pub(crate) fn parse(uri: &str) -> Option<ResourceUri> {
        let (kind, name) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        match kind {
            "session" => SessionId::parse(name).ok().map(ResourceUri::Session),
            "run" => RunId::parse(name).ok().map(ResourceUri::Run),
            "profile" => {
                let is_name = name.len() <= LONGEST_NAME
                    && plan::check_definition_name(DefinitionKind::Profile, name).is_ok();
                is_name.then(|| ResourceUri::Profile(name.to_owned()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = match self {
            ResourceUri::Session(id) => ("session", id.as_str()),
            ResourceUri::Run(id) => ("run", id.as_str()),
            ResourceUri::Profile(name) => ("profile", name.as_str()),
        };
        write!(formatter, "{SCHEME}{kind}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for uri in [
            "subagent://session/0123456789abcdef",
            "subagent://run/0192f0c8a1b27cde8f0123456789abcd",
            "subagent://profile/scout",
        ] {
            let parsed = ResourceUri::parse(uri);
            assert_eq!(parsed.map(|parsed| parsed.to_string()).as_deref(), Some(uri));
        }
    }

    #[test]
    fn what_is_not_ours_is_none() {
        for uri in [
            "",
            "subagent://",
            "subagent://session",
            "subagent://session/../../etc/passwd",
            "subagent://session/0123456789ABCDEF",
            "subagent://run/..",
            "subagent://profile/",
            "subagent://profile/../../etc/passwd",
            &format!("subagent://profile/{}", "x".repeat(1_000_000)),
            "file:///etc/passwd",
        ] {
            assert_eq!(ResourceUri::parse(uri), None, "{}", uri.len());
        }
    }
}
