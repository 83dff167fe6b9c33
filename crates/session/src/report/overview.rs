//! The upper part of the page: totals, what was spent when, and a row for each agent.

use std::fmt::Write;

use model::{Changes, Status};

use super::agent::Agent;
use super::axis::Axis;
use super::cost::{cost_column, dollars};
use super::drawing;
use super::escape::{duration, escaped};
use super::spending::Spending;
use super::timeline::SpanKind;
use crate::export::utc;
use crate::text::one_line;
use crate::usage::{token_words, total_cost_words};
use crate::view::short_model;

/// More rows are drawn closer together.
const FEW: usize = 40;

/// What the page is about.
pub(super) fn title(agents: &[Agent<'_>]) -> String {
    let [only] = agents else {
        return format!("{} agents{}", agents.len(), place(agents));
    };
    one_line(&only.run.meta.name).into_owned()
}

/// The name of the directory, if it is the same for all.
fn place(agents: &[Agent<'_>]) -> String {
    let mut directories = agents.iter().map(|agent| &agent.run.meta.cwd);
    let first = directories.next();
    let name = first.and_then(|directory| directory.file_name());
    match name.filter(|_| directories.all(|other| Some(other) == first)) {
        Some(name) => format!(" in {}", one_line(&name.to_string_lossy())),
        None => String::new(),
    }
}

/// The title, when and where it was, and all totals.
pub(super) fn header(agents: &[Agent<'_>], title: &str, page: &mut String) {
    let from = agents.iter().map(|agent| agent.timeline.from).min().unwrap_or_default();
    let _ = write!(
        page,
        "<header>\n<h1>{title}</h1>\n<p class=\"faint\">{}</p>\n<ul class=\"totals\">\n",
        utc(from)
    );
    for (value, name, class) in totals(agents) {
        let _ = writeln!(page, "<li{class}><b>{value}</b> {name}</li>");
    }
    page.push_str("</ul>\n</header>\n");
}

fn totals(agents: &[Agent<'_>]) -> Vec<(String, &'static str, &'static str)> {
    let count = |status| agents.iter().filter(|agent| agent.run.status() == status).count();
    let mut totals = Vec::new();
    for (status, name, class) in [
        (Status::Completed, "completed", " class=\"completed\""),
        (Status::Error, "failed", " class=\"error\""),
        (Status::Running, "running", " class=\"running\""),
    ] {
        match count(status) {
            0 => {}
            count => totals.push((count.to_string(), name, class)),
        }
    }
    let worked = agents.iter().map(Agent::worked).fold(0, u64::saturating_add);
    let tool_calls = agents.iter().map(|agent| agent.tool_calls).fold(0, u64::saturating_add);
    let from = agents.iter().map(|agent| agent.timeline.from).min().unwrap_or_default();
    let to = agents.iter().map(|agent| agent.timeline.to).max().unwrap_or_default();
    totals.push((duration(to.saturating_sub(from)), "in all", ""));
    if agents.len() > 1 {
        totals.push((duration(worked), "of work", ""));
    }
    totals.push((tool_calls.to_string(), "tool calls", ""));
    let usages = agents.iter().map(|agent| agent.usage);
    if let Some(tokens) = token_words(&usages.clone().sum()) {
        totals.push((tokens, "tokens", ""));
        let cost = total_cost_words(usages).unwrap_or_default();
        totals.push((escaped(&cost), "cost", ""));
    }
    totals
}

/// A row for each agent, below what was spent and the time axis. The widths of the columns are fixed: what stands in a row
/// moves nothing.
pub(super) fn table(agents: &[Agent<'_>], axis: &Axis, page: &mut String) {
    let class = if agents.len() > FEW { " class=\"many\"" } else { "" };
    // Without a worktree there is nothing to say in the whole column.
    let has_changes = agents.iter().any(|agent| changes(agent).is_some());
    let only_with_changes = |cell: &'static str| if has_changes { cell } else { "" };
    let _ = write!(
        page,
        "<table id=\"table\"{class}>\n<colgroup><col class=\"name\"><col class=\"model\"><col class=\"when\">\
         <col class=\"number\"><col class=\"number tools\"><col class=\"number tokens\">{}<col class=\"number\">\
         </colgroup>\n<thead>\n",
        only_with_changes("<col class=\"changed\">")
    );
    let timelines = agents.iter().map(|agent| &agent.timeline);
    if let Some(spending) = Spending::new(timelines, axis) {
        let what = if spending.is_money { "Cost over time" } else { "Tokens over time" };
        let total = spending.words();
        let _ = writeln!(
            page,
            "<tr class=\"spent\"><th class=\"name\">{what}</th><td class=\"model\"></td><td class=\"when\">{}</td>\
             <td class=\"number\"></td><td class=\"number tools\"></td><td class=\"number tokens\"></td>{}\
             <td class=\"number\">{total}</td></tr>",
            drawing::spending(&spending, &format!("{what}: {total} at the end")),
            only_with_changes("<td class=\"changed\"></td>")
        );
    }
    let _ = write!(
        page,
        "<tr><th scope=\"col\" class=\"name\" data-sort=\"name\">Agent</th>\
         <th scope=\"col\" class=\"model\" data-sort=\"model\">Model</th>\
         <th scope=\"col\" class=\"when\" aria-label=\"Timeline\">{}</th>\
         <th scope=\"col\" class=\"number\" data-sort=\"time\">Time</th>\
         <th scope=\"col\" class=\"number tools\" data-sort=\"tools\">Tools</th>\
         <th scope=\"col\" class=\"number tokens\" data-sort=\"tokens\">Tokens</th>{}\
         <th scope=\"col\" class=\"number\" data-sort=\"cost\">Cost</th></tr>\n</thead>\n<tbody>\n",
        drawing::axis_labels(axis),
        only_with_changes("<th scope=\"col\" class=\"changed\" data-sort=\"changed\">Changes</th>")
    );
    agents.iter().for_each(|agent| row(agent, axis, has_changes, page));
    page.push_str("</tbody>\n</table>\n");
    page.push_str(LEGEND);
}

const LEGEND: &str = "<p class=\"legend faint\">\
    <span><i class=\"model\"></i>model</span> <span><i class=\"tool\"></i>tool</span> \
    <span><i class=\"tool failed\"></i>failed tool</span> <span><i class=\"waiting\"></i>waiting</span> \
    <span><svg viewBox=\"-7 -7 14 14\"><use class=\"mark retry\" href=\"#retry\"/></svg>retry</span> \
    <span><svg viewBox=\"-7 -7 14 14\"><use class=\"mark message\" href=\"#message\"/></svg>message</span> \
    <span><svg viewBox=\"-7 -7 14 14\"><use class=\"mark stop\" href=\"#stop\"/></svg>stopped</span> \
    <span><svg viewBox=\"-7 -7 14 14\"><use class=\"mark warning\" href=\"#warning\"/></svg>warning</span> \
    <span class=\"keys\"></span></p>\n";

/// What an agent changed in its worktree, if it had one.
fn changes<'a>(agent: &Agent<'a>) -> Option<&'a Changes> {
    agent.run.result.as_ref()?.changes.as_deref()
}

fn row(agent: &Agent<'_>, axis: &Axis, has_changes: bool, page: &mut String) {
    let (sign, class) = agent.sign();
    let number = agent.number;
    let name = escaped(&one_line(&agent.run.meta.name));
    let which = match agent.of_session {
        (_, 1) => String::new(),
        (run, count) => format!(" <small class=\"faint\">run {run} of {count}</small>"),
    };
    let (agent_kind, model) = agent.model();
    // The title has the whole name.
    let [model, short] =
        [model, short_model(model)].map(|name| escaped(&one_line(&format!("{agent_kind} {name}"))));
    let worked = agent.worked();
    let changes = changes(agent);
    let lines = changes.map_or(0, |changes| changes.insertions.saturating_add(changes.deletions));
    let brief = changes.map(Changes::brief).unwrap_or_default();
    let brief = format!("<td class=\"changed\">{}</td>", escaped(&brief));
    let _ = writeln!(
        page,
        "<tr data-agent=\"{number}\" data-time=\"{worked}\" data-tools=\"{}\" data-tokens=\"{}\" \
         data-changed=\"{lines}\" data-cost=\"{}\">\
         <th scope=\"row\" class=\"name\"><a href=\"#agent-{number}\"><span class=\"sign {class}\">{sign}</span> \
         {name}</a>{which}</th><td class=\"model\" title=\"{model}\">{short}</td><td class=\"when\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number tools\">{}</td><td class=\"number tokens\">{}</td>{}\
         <td class=\"number\">{}</td></tr>",
        agent.tool_calls,
        agent.usage.all_tokens(),
        dollars(&agent.usage).unwrap_or_default(),
        drawing::track(&agent.timeline, axis, &times(agent)),
        duration(worked),
        agent.tool_calls,
        token_words(&agent.usage).unwrap_or_default(),
        if has_changes { &brief } else { "" },
        cost_column(&agent.usage),
    );
}

/// What the drawing shows, in words.
fn times(agent: &Agent<'_>) -> String {
    let total = |kinds: &[SpanKind]| duration(agent.timeline.total(kinds));
    format!(
        "waited {}, model {}, tools {}",
        total(&[SpanKind::Waiting]),
        total(&[SpanKind::Model]),
        total(&[SpanKind::Tool, SpanKind::FailedTool])
    )
}
