//! What restricted agents can be kept from here.

use model::Access;
use plan::Settings;
use process::ReadOnlyPaths;
use serde::Serialize;

use super::section::{Area, Finding, Section};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessFacts {
    /// The most that agents may change, if the settings say so.
    pub(super) limit: Option<Access>,
    /// The version of Landlock, where it can be used.
    pub(super) landlock: Option<u32>,
    pub(super) landlock_problem: Option<String>,
    /// Why agents cannot have mounts of their own; absent if they can.
    pub(super) mounts_problem: Option<String>,
}

pub(super) fn gather(settings: &Settings) -> AccessFacts {
    let (landlock, landlock_problem) = match process::landlock_version() {
        Ok(version) => (Some(version), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    let mounts_problem = ReadOnlyPaths::probe().err().map(|error| error.to_string());
    AccessFacts { limit: settings.access, landlock, landlock_problem, mounts_problem }
}

pub(super) fn findings(facts: &AccessFacts) -> Vec<Finding> {
    let mut section = Section::new(Area::Access);
    let limit = facts.limit.filter(|limit| limit.is_restricted());
    if let Some(limit) = limit {
        section.fine(format!("the settings limit every agent to access \"{}\"", limit.word()));
    }
    match (facts.landlock, &facts.landlock_problem) {
        (Some(version), _) => {
            section.fine(format!("\"read\" and \"workspace\" are enforced: Landlock {version}"));
        }
        (None, problem) => {
            let problem = problem.as_deref().unwrap_or("there is no Landlock");
            let text = format!("\"read\" and \"workspace\" cannot be enforced: {problem}");
            if limit.is_some() {
                section
                    .problem(format!("{text}; so every task is refused"))
                    .remedy("use Linux 6.2 or later with Landlock, or remove `subagents.access`");
            } else {
                section
                    .fine(format!(
                        "{text}; tasks that ask for them, and agents of other makes than pi, are \
                         refused"
                    ))
                    .remedy("with `--access full` such an agent may change everything");
            }
            return section.findings;
        }
    }
    match &facts.mounts_problem {
        None => section.fine("\"workspace\" lets git commit and keeps its hooks and settings"),
        Some(problem) => section
            .fine(format!(
                "\"workspace\" does not let git commit: agents cannot have mounts of their own \
                 ({problem})"
            ))
            .remedy("allow user namespaces to unprivileged users"),
    };
    section.findings
}

#[cfg(test)]
mod tests {
    use super::super::section::Level;
    use super::*;

    #[test]
    fn what_cannot_be_enforced_is_a_problem_only_if_the_settings_ask_for_it() {
        let facts = |limit, landlock: Option<u32>, mounts: Option<&str>| AccessFacts {
            limit,
            landlock,
            landlock_problem: landlock.is_none().then(|| "no reason".to_owned()),
            mounts_problem: mounts.map(str::to_owned),
        };
        let of = |facts: &AccessFacts| -> Vec<(Level, String)> {
            findings(facts).into_iter().map(|found| (found.level, found.text)).collect()
        };
        let all = of(&facts(None, Some(7), None));
        assert!(all.iter().all(|(level, _)| *level == Level::Fine) && all.len() == 2, "{all:?}");
        let none = of(&facts(Some(Access::Full), None, None));
        assert!(none.len() == 1 && none[0].0 == Level::Fine, "{none:?}");
        assert!(none[0].1.contains("no reason"), "{none:?}");
        let needed = of(&facts(Some(Access::Read), None, None));
        assert_eq!(needed.last().unwrap().0, Level::Problem, "{needed:?}");
        let no_mounts = of(&facts(Some(Access::Workspace), Some(3), Some("refused")));
        assert!(no_mounts.last().unwrap().1.contains("does not let git commit"), "{no_mounts:?}");
    }
}
