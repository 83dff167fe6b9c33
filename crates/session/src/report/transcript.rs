//! The lower part of the page: what each agent was asked, said and did.

use std::fmt::Write;

use model::Changes;

use super::agent::Agent;
use super::conversation::{Entry, ToolUse, conversation, shorten_middle};
use super::escape::{duration, escaped};
use super::rich_text::rich_text;
use super::timeline::SpanKind;
use crate::text::one_line;
use crate::{DiffLine, usage_words};

/// A longer prompt is folded.
const PROMPT_LINES: usize = 6;

/// About how many bytes an agent has on the page.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) conversation: usize,
    pub(super) diff: usize,
}

/// The conversation of an agent, folded unless it is open.
pub(super) fn render(agent: &Agent<'_>, room: Room, is_open: bool, page: &mut String) {
    let (sign, class) = agent.sign();
    let open = if is_open { " open" } else { "" };
    let number = agent.number;
    let name = escaped(&one_line(&agent.run.meta.name));
    // The target of the row is inside, so that a browser unfolds it.
    let _ = write!(
        page,
        "<details class=\"agent\"{open}>\n<summary><span class=\"sign {class}\">{sign}</span> {name} \
         <small class=\"faint\">{}</small></summary>\n<div id=\"agent-{number}\" tabindex=\"-1\">\n",
        escaped(&outcome(agent))
    );
    if let Some(error) = agent.run.result.as_ref().and_then(|result| result.error.as_ref()) {
        let _ = writeln!(page, "<p class=\"failure\">{}</p>", escaped(error));
    }
    facts(agent, page);
    changes(agent, room.diff, page);
    prompt(&agent.run.asked, room.conversation, page);
    for entry in conversation(agent.run, room.conversation) {
        push_entry(&entry, agent, page);
    }
    page.push_str("</div>\n</details>\n");
}

fn outcome(agent: &Agent<'_>) -> String {
    let result = agent.run.result.as_ref();
    let word = result.map_or("running", |result| result.outcome.word()).replace('_', " ");
    format!("{word}, {}", duration(agent.worked()))
}

fn facts(agent: &Agent<'_>, page: &mut String) {
    let total = |kinds: &[SpanKind]| agent.timeline.total(kinds);
    let times = [
        ("waited", total(&[SpanKind::Waiting])),
        ("model", total(&[SpanKind::Model])),
        ("tools", total(&[SpanKind::Tool, SpanKind::FailedTool])),
        ("retries", total(&[SpanKind::Retry])),
    ];
    let times = times.into_iter().filter(|(_, time)| *time > 0);
    let times: Vec<String> =
        times.map(|(name, time)| format!("{name} {}", duration(time))).collect();
    page.push_str("<details class=\"facts\"><summary>Details</summary><dl>\n");
    let session = ("session", agent.run.meta.session_id.to_string());
    let times = (!times.is_empty()).then(|| ("times", times.join(", ")));
    // The error stands above, and the summary has the outcome.
    let known =
        agent.run.facts().into_iter().filter(|(name, _)| !["error", "outcome"].contains(name));
    for (name, value) in [session].into_iter().chain(known).chain(times) {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    page.push_str("</dl></details>\n");
}

/// What it changed, folded.
fn changes(agent: &Agent<'_>, bytes: usize, page: &mut String) {
    let Some(diff) = agent.run.diff.as_ref().map(|diff| diff.cut(bytes)) else { return };
    let changes = agent.run.result.as_ref().and_then(|result| result.changes.as_deref());
    let _ = write!(
        page,
        "<details class=\"changes\"><summary>Changes <small>{}</small></summary><pre class=\"code\">",
        escaped(&changes.map(Changes::brief).unwrap_or_default())
    );
    for (kind, line) in diff.lines() {
        let line = escaped(line);
        let class = match kind {
            DiffLine::Added => "added",
            DiffLine::Removed => "removed",
            DiffLine::Position => "position",
            DiffLine::File => "file",
            DiffLine::Other => {
                let _ = writeln!(page, "{line}");
                continue;
            }
        };
        let _ = writeln!(page, "<span class=\"{class}\">{line}</span>");
    }
    page.push_str("</pre>");
    if diff.left_out() > 0 {
        let _ = write!(
            page,
            "<p class=\"left-out\">The last {} bytes of the diff are left out here. \
             <code>pi-subagents changes diff {}</code> has all of them.</p>",
            diff.left_out(),
            agent.run.meta.run_id
        );
    }
    page.push_str("</details>\n");
}

fn prompt(asked: &str, bytes: usize, page: &mut String) {
    let mut asked = asked.trim_end().to_owned();
    shorten_middle(&mut asked, (bytes / 4).max(2_048));
    let is_long = asked.lines().count() > PROMPT_LINES || asked.len() > 80 * PROMPT_LINES;
    let text = escaped(&asked);
    if is_long {
        let first = one_line(asked.lines().next().unwrap_or_default()).into_owned();
        let first = crate::text::shorten(&first, 100).into_owned();
        let _ = writeln!(
            page,
            "<details class=\"prompt\"><summary>{}</summary><pre>{text}</pre></details>",
            escaped(&first)
        );
    } else {
        let _ = writeln!(page, "<div class=\"prompt\"><pre>{text}</pre></div>");
    }
}

fn push_entry(entry: &Entry, agent: &Agent<'_>, page: &mut String) {
    let since = |at: u64| duration(at.saturating_sub(agent.timeline.started));
    let _ = match entry {
        Entry::Told { at, text } => writeln!(
            page,
            "<div class=\"entry told\"><time>{}</time><pre>{}</pre></div>",
            since(*at),
            escaped(text)
        ),
        Entry::Said { at, text, usage } => {
            let used = usage_words(usage).join(", ");
            writeln!(
                page,
                "<div class=\"entry said\"><time>{}</time><div class=\"text\">{}</div><p class=\"used\">{used}</p></div>",
                since(*at),
                rich_text(text)
            )
        }
        Entry::Tool(call) => {
            push_tool(call, &since(call.at), page);
            Ok(())
        }
        Entry::Note { at, text, is_error } => {
            let class = if *is_error { "note error" } else { "note" };
            writeln!(
                page,
                "<p class=\"entry {class}\"><time>{}</time>{}</p>",
                since(*at),
                escaped(text)
            )
        }
        Entry::LeftOut(count) => writeln!(
            page,
            "<p class=\"entry left-out\">{count} entries are left out here. \
             <code>pi-subagents sessions export {} --format md</code> has all of them.</p>",
            agent.run.meta.session_id
        ),
    };
}

fn push_tool(call: &ToolUse, since: &str, page: &mut String) {
    let result = call.result.as_ref();
    let (class, sign) = match result {
        Some(result) if result.is_error => (" failed", "✗ "),
        Some(_) => ("", ""),
        None => (" unfinished", "… "),
    };
    let took = result.map(|result| duration(result.took_ms)).unwrap_or_default();
    let _ = write!(
        page,
        "<details class=\"entry call{class}\"><summary><time>{since}</time><b>{sign}{}</b> <span>{}</span> \
         <small>{took}</small></summary>",
        escaped(&call.tool),
        escaped(&call.subject)
    );
    let output = result.map_or("", |result| &result.text);
    for (class, text) in [("code arguments", call.arguments.as_str()), ("code", output)] {
        if !text.trim().is_empty() {
            let _ = write!(page, "<pre class=\"{class}\">{}</pre>", escaped(text));
        }
    }
    page.push_str("</details>\n");
}
