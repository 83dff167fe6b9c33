//! Sessions, runs and profiles as resources, which can be listed, read and completed.

use std::io;

use model::RunId;
use plan::Surroundings;
use rmcp::model::{
    CompletionInfo, ErrorCode, ErrorData, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use session::cut_chars;
use store::{Store, StoreError};
use tools::{KnownRun, RunReport, Session, Workspace};

use crate::resource_uri::{ResourceUri, Template};

/// How many sessions a page lists, with their runs.
const PAGE: usize = 50;
/// How much of an unknown address is repeated.
const SHOWN_URI: usize = 200;
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// A page of all sessions and their runs, the latest first, and on the first page the profiles.
pub(crate) fn list(
    surroundings: &Surroundings,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut resources = Vec::new();
    let from = match cursor {
        None => {
            let workspace = Workspace::load(surroundings.clone(), None);
            resources.extend(workspace.profiles.iter().map(|profile| {
                let uri = ResourceUri::Profile(profile.name.clone());
                resource(&uri, &profile.name, &format!("Profile {}", profile.name), TEXT)
                    .with_description(clean(&plan::definition_summary(profile)))
            }));
            None
        }
        Some(cursor) => Some(RunId::parse(cursor).map_err(|_| {
            ErrorData::invalid_params("cursor: is none that was given out here", None)
        })?),
    };
    let sessions = sessions(surroundings)?;
    // Ids grow with time, so this page begins there even if the session itself is gone.
    let is_later = |session: &&Session| match (&from, latest(session)) {
        (Some(from), Some(run)) => run.meta.run_id < *from,
        _ => true,
    };
    let mut page = sessions.iter().filter(is_later);
    let mut next_cursor = None;
    for session in page.by_ref().take(PAGE) {
        let Some(run) = latest(session) else { continue };
        next_cursor = Some(run.meta.run_id.to_string());
        resources.push(of_session(session, run));
        resources.extend(session.runs.iter().rev().map(of_run));
    }
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = next_cursor.filter(|_| page.next().is_some());
    Ok(listed)
}

/// The kinds of addresses.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |template: Template| {
        let (name, title, description, mime_type) = match template {
            Template::Session => (
                "session",
                "Session of a sub-agent",
                "The whole conversation: prompts, answers, tool calls and results",
                TEXT,
            ),
            Template::Run => (
                "run",
                "Run of a sub-agent",
                "Where it stands or how it ended, its answer, and its directory",
                JSON,
            ),
            Template::Profile => {
                ("profile", "Profile of sub-agents", "How the agents of a profile work", TEXT)
            }
        };
        ResourceTemplate::new(template.uri(), name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(mime_type)
    };
    Template::ALL.into_iter().map(template).collect()
}

/// Everything that is at an address.
pub(crate) fn read(
    surroundings: &Surroundings,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let store = Store::in_project(surroundings.project_root());
    let uri = parse(uri)?;
    let (text, mime_type) = match &uri {
        ResourceUri::Session(id) => {
            let session = tools::load_session(&store, id);
            let session = session.map_err(|error| not_found(&error.to_string()))?;
            (session.transcript_with_prompts(), TEXT)
        }
        ResourceUri::Run(id) => {
            let run = tools::load_run(&store, id).map_err(|error| match &error {
                StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                    not_found(&format!("There is no run {id}."))
                }
                _ => unreadable(&error),
            })?;
            // Plain data with string keys always serialises.
            (serde_json::to_string_pretty(&RunReport::from(&run)).unwrap_or_default(), JSON)
        }
        ResourceUri::Profile(name) => {
            let workspace = Workspace::load(surroundings.clone(), None);
            let profile = workspace.profiles.get(name);
            let profile = profile.map_err(|error| not_found(&error.to_string()))?;
            (plan::definition_detail(profile), TEXT)
        }
    };
    let contents = ResourceContents::text(clean(&text), uri.to_string());
    Ok(ReadResourceResult::new(vec![contents.with_mime_type(mime_type)]))
}

/// What completes an address, the latest first.
pub(crate) fn complete(
    surroundings: &Surroundings,
    uri: &str,
    argument: &str,
    begun: &str,
) -> Result<CompletionInfo, ErrorData> {
    let template = Template::ALL.into_iter().find(|template| template.uri() == uri);
    let Some(template) = template else {
        let message = format!("ref.uri: there is no template \"{uri}\"");
        return Err(ErrorData::invalid_params(clean(&message), None));
    };
    if !uri.contains(&format!("{{{argument}}}")) {
        let message = format!("argument.name: {uri} has no \"{argument}\"");
        return Err(ErrorData::invalid_params(clean(&message), None));
    }
    let mut values: Vec<String> = match template {
        Template::Session => {
            let sessions = sessions(surroundings)?;
            let named = |session: &&Session| {
                let name = latest(session).map(|run| run.meta.name.as_str()).unwrap_or_default();
                session.id.as_str().starts_with(begun) || name.starts_with(begun)
            };
            sessions.iter().filter(named).map(|session| session.id.to_string()).collect()
        }
        Template::Run => {
            let sessions = sessions(surroundings)?;
            let runs = sessions.iter().flat_map(|session| session.runs.iter().rev());
            let ids = runs.map(|run| run.meta.run_id.to_string());
            ids.filter(|id| id.starts_with(begun)).collect()
        }
        Template::Profile => {
            let workspace = Workspace::load(surroundings.clone(), None);
            let names = workspace.profiles.iter().map(|profile| profile.name.clone());
            names.filter(|name| name.starts_with(begun)).collect()
        }
    };
    let total = u32::try_from(values.len()).ok();
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(values, total, has_more)
        .map_err(|error| ErrorData::internal_error(error, None))
}

/// Reads the address in a request.
pub(crate) fn parse(uri: &str) -> Result<ResourceUri, ErrorData> {
    ResourceUri::parse(uri).ok_or_else(|| {
        let known: Vec<&str> = Template::ALL.iter().map(|template| template.uri()).collect();
        let (uri, known) = (cut_chars(uri, SHOWN_URI), known.join(", "));
        not_found(&format!("uri: there is nothing at \"{uri}\"; there are {known}"))
    })
}

/// All sessions, the one with the latest run first.
fn sessions(surroundings: &Surroundings) -> Result<Vec<Session>, ErrorData> {
    let store = Store::in_project(surroundings.project_root());
    let (sessions, _) = tools::load_sessions(&store).map_err(|error| unreadable(&error))?;
    let mut sessions: Vec<Session> = sessions.into_values().collect();
    sessions.sort_by(|one, other| {
        let id = |session: &Session| latest(session).map(|run| run.meta.run_id.clone());
        id(other).cmp(&id(one))
    });
    Ok(sessions)
}

fn latest(session: &Session) -> Option<&KnownRun> {
    session.runs.last()
}

fn of_session(session: &Session, latest: &KnownRun) -> Resource {
    let name = &latest.meta.name;
    let status = session.status().word();
    let runs = session.runs.len();
    let description = match runs {
        1 => status.to_owned(),
        _ => format!("{status}, {runs} runs"),
    };
    resource(&ResourceUri::Session(session.id.clone()), name, &format!("{name} ({status})"), TEXT)
        .with_description(description)
}

fn of_run(run: &KnownRun) -> Resource {
    let name = &run.meta.name;
    let status = run.status().word();
    let uri = ResourceUri::Run(run.meta.run_id.clone());
    resource(&uri, name, &format!("Run of {name} ({status})"), JSON).with_description(status)
}

fn resource(uri: &ResourceUri, name: &str, title: &str, mime_type: &str) -> Resource {
    Resource::new(uri.to_string(), clean(name)).with_title(clean(title)).with_mime_type(mime_type)
}

/// What agents and profiles say is shown in terminals.
fn clean(text: &str) -> String {
    session::clean(text).into_owned()
}

fn not_found(message: &str) -> ErrorData {
    ErrorData::resource_not_found(clean(message), None)
}

fn unreadable(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, clean(&error.to_string()), None)
}
