//! Sessions as one page for a browser: who did what when, what it cost, and what was said.
//!
//! The page is one file that loads nothing. It is complete without its script, which only adds what
//! needs a hand: selecting, sorting, searching. Nothing of an agent becomes an element of the page but what
//! [`rich_text`] makes of its Markdown.

mod agent;
mod axis;
mod bars;
mod conversation;
mod cost;
mod drawing;
mod escape;
mod overview;
mod rich_text;
mod spending;
mod timeline;
mod transcript;

use std::fmt::Write;

use self::agent::Agent;
use self::axis::Axis;
use self::escape::escaped;
use self::transcript::Room;
use crate::export::ExportedSession;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The page's own style and script, by their hashes, and nothing else, whatever the page contains. A test
/// prints the hashes of files that were changed.
const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-xB/bzIL7tm+6xdI+lB0ehSg/lAuRQ9ycttXdlYdOw2U='; \
    script-src 'sha256-jT8J9Dsx+ys8euwImjIjxjAX8c1qWViKYdrvhfdNprU='; \
    base-uri 'none'; form-action 'none'";

/// How much of all conversations a page holds, in bytes. The agents share it.
const CONVERSATIONS: usize = 8 * 1024 * 1024;

/// How much of all diffs a page holds, in bytes. The agents that have one share it.
const DIFFS: usize = 4 * 1024 * 1024;

/// One HTML file with these sessions that loads nothing.
pub fn to_html(sessions: &[ExportedSession]) -> String {
    let agents = Agent::all(sessions);
    let axis = Axis::new(agents.iter().map(Agent::time).collect());
    let title = escaped(&overview::title(&agents));
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    );
    page.push_str(&drawing::definitions(&axis));
    page.push_str("<div id=\"overview\">\n");
    overview::header(&agents, &title, &mut page);
    overview::table(&agents, &axis, &mut page);
    page.push_str("</div>\n<main id=\"agents\">\n");
    let share = CONVERSATIONS / agents.len().max(1);
    let diffs = agents.iter().filter(|agent| agent.run.diff.is_some()).count();
    let room = Room { conversation: share, diff: DIFFS / diffs.max(1) };
    for agent in &agents {
        transcript::render(agent, room, agents.len() == 1, &mut page);
    }
    let _ = write!(page, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

#[cfg(test)]
mod tests;
