//! `status`: what runs and what waits on this machine, over all projects of the user.

use std::path::Path;

use governor::{MachineMemory, Notice, ProviderLimits, RunningAgent};
use model::{RunId, Waiting, amount, dollars};
use plan::Surroundings;
use serde::Serialize;
use session::clean;
use tools::Workspace;

use crate::arguments::MachineStatus;
use crate::commands::age;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

/// Everything that the command shows. A part of its own for each reason why agents wait.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// How many agents may run at a time.
    machine_concurrency: usize,
    running: Vec<Agent>,
    waiting: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MachineMemory>,
    providers: Vec<ProviderLimits>,
    /// What all agents have spent today, in US dollars.
    spent_today_usd: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    daily_cost_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Agent {
    #[serde(flatten)]
    agent: RunningAgent,
    /// What it takes now, in bytes.
    memory: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    cwd: std::path::PathBuf,
    /// How many of its tasks have not started.
    tasks: usize,
    program: u32,
    waiting: Waiting,
    words: String,
}

pub(crate) fn status(arguments: &MachineStatus, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let (admission, ledger) = (workspace.admission(), workspace.ledger());
    let agents = governor::running_agents(&admission);
    let memory = governor::measured_memory(&agents.iter().collect::<Vec<_>>());
    let running = agents.into_iter().zip(memory).map(|(agent, memory)| Agent { memory, agent });
    let report = Report {
        machine_concurrency: admission.machine_concurrency,
        running: running.collect(),
        waiting: governor::waiting_calls(&admission).into_iter().map(Call::of).collect(),
        memory: governor::machine_memory(&admission),
        providers: governor::provider_limits(&ledger),
        spent_today_usd: governor::spent_today(&ledger),
        daily_cost_usd: ledger.daily_cost_usd,
    };
    if arguments.json {
        printer.json(&report)?;
    } else {
        printer.answer(&page(&report))?;
    }
    Ok(Exit::Completed)
}

impl Call {
    fn of(notice: Notice) -> Call {
        let Notice { name, run_id, cwd, tasks, program, waiting, .. } = notice;
        let words = waiting.words();
        Call { name, run_id, cwd, tasks, program, waiting, words }
    }
}

fn page(report: &Report) -> String {
    let (running, most) = (report.running.len(), report.machine_concurrency);
    let mut lines = vec![match running {
        1 => format!("1 agent is running, of {most} that may."),
        _ => format!("{running} agents are running, of {most} that may."),
    }];
    lines.extend(report.running.iter().map(agent_line));
    if !report.waiting.is_empty() {
        let tasks: usize = report.waiting.iter().map(|call| call.tasks).sum();
        let verb = if tasks == 1 { "1 task waits" } else { &format!("{tasks} tasks wait") };
        lines.push(format!("{verb}."));
    }
    lines.extend(report.waiting.iter().map(call_line));
    if let Some(MachineMemory { total, available, kept }) = report.memory {
        let [available, total, kept] = [available, total, kept].map(amount);
        lines.push(format!("{available} of {total} of memory is free, {kept} are kept."));
    }
    lines.extend(report.providers.iter().map(provider_line));
    let spent = dollars(report.spent_today_usd);
    lines.push(match report.daily_cost_usd {
        Some(limit) => format!("{spent} of {} are spent today.", dollars(limit)),
        None => format!("{spent} are spent today."),
    });
    lines.join("\n")
}

fn provider_line(limits: &ProviderLimits) -> String {
    let ProviderLimits { provider, account, until, at_a_time, pace } = limits;
    let mut line = clean(provider).into_owned();
    line.extend(account.iter().map(|account| format!(" (key {})", clean(account))));
    line.push_str(&format!(" has refused requests: {at_a_time} at a time"));
    line.extend(
        pace.iter()
            .map(|pace| format!(", {} in {} s", pace.requests, pace.period_ms as f64 / 1000.0)),
    );
    let left = until.map(|until| until.saturating_sub(runner::now_ms()).div_ceil(1000));
    line.extend(left.map(|seconds| format!(", none for {seconds} s")));
    line + "."
}

fn agent_line(Agent { agent, memory }: &Agent) -> String {
    let kind = agent.agent.as_deref().unwrap_or("agent");
    let run = &agent.run_id;
    let (name, cwd) = (clean(&agent.name), in_words(&agent.cwd));
    format!("  {run}  {name}  {kind}  {}  {}  {cwd}", age(agent.admitted_at), amount(*memory))
}

fn call_line(call: &Call) -> String {
    let more = match call.tasks {
        1 => String::new(),
        tasks => format!(" and {} more", tasks - 1),
    };
    let (name, cwd) = (clean(&call.name), in_words(&call.cwd));
    format!("  {name}{more}  {} (since {})  {cwd}", call.words, age(call.waiting.since))
}

fn in_words(path: &Path) -> String {
    clean(&path.display().to_string()).into_owned()
}
