//! The addresses of what can be read: `subagent://session/ID`, `subagent://run/ID` and
//! `subagent://profile/NAME`.

use std::fmt;

use model::{RunId, SessionId};

const SCHEME: &str = "subagent://";

/// What an address leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A session: the whole conversation.
    Session(SessionId),
    /// A run: what was asked for and what came out.
    Run(RunId),
    /// A profile, as its file tells.
    Profile(String),
}

/// The kinds of addresses, with a gap for what is different.
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

impl Place {
    /// Reads an address. Nothing if it is not of ours.
    pub(crate) fn parse(uri: &str) -> Option<Place> {
        let (kind, name) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        match kind {
            "session" => SessionId::parse(name).ok().map(Place::Session),
            "run" => RunId::parse(name).ok().map(Place::Run),
            "profile" => (!name.is_empty()).then(|| Place::Profile(name.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = match self {
            Place::Session(id) => ("session", id.as_str()),
            Place::Run(id) => ("run", id.as_str()),
            Place::Profile(name) => ("profile", name.as_str()),
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
            let place = Place::parse(uri);
            assert_eq!(place.map(|place| place.to_string()).as_deref(), Some(uri));
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
            "file:///etc/passwd",
        ] {
            assert_eq!(Place::parse(uri), None, "{uri}");
        }
    }
}
