//! `cargo xtask test`: everything that continuous integration checks, in order.

mod agent_children;
mod agent_clients;
mod all_agents;
mod beside;
mod browser;
mod confined;
mod containment;
mod extension;
mod fleet;
mod fuzz;
mod inside_pi;
mod mcp_clients;
mod package;
mod real_pi;
mod shells;
mod soak;
mod system_package;
mod tmux;
mod unsteady;

use std::time::{Duration, Instant};

use beside::Beside;
use xtask::{Invocation, target_directory};

use crate::tidy;

/// How a step ended that did not fail.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// Passed, but for these tests only when they were repeated alone.
    Unsteady(Vec<String>),
    /// Impossible on this machine, for this reason.
    NotRun(String),
}

impl Outcome {
    /// How two parts of a step ended together.
    fn and(self, other: Outcome) -> Outcome {
        match (self, other) {
            (Outcome::Unsteady(tests), Outcome::Unsteady(more)) => {
                Outcome::Unsteady([tests, more].concat())
            }
            (Outcome::Passed, outcome) | (outcome, _) => outcome,
        }
    }
}

/// Why a step failed, and the command that repeats the failure.
#[derive(Debug, PartialEq, Eq)]
struct StepFailure {
    reason: String,
    repeat: String,
}

impl StepFailure {
    fn of(invocation: &Invocation, what: &str) -> StepFailure {
        StepFailure { reason: format!("its command {what}"), repeat: invocation.to_string() }
    }

    fn message(&self, step: &str) -> String {
        let StepFailure { reason, repeat } = self;
        format!("the step `{step}` failed: {reason}\nTo repeat it:\n    {repeat}")
    }
}

type StepResult = Result<Outcome, StepFailure>;

struct Step {
    name: &'static str,
    run: fn() -> StepResult,
}

/// The step that mostly waits, for minutes: the ones that follow run meanwhile.
const MOSTLY_WAITS: &str = "mcp clients";

/// Cheap checks come first. The steps that may be impossible on a machine come last, because a developer
/// reads the last lines of the summary.
const STEPS: &[Step] = &[
    Step { name: "format", run: format },
    Step { name: "lints", run: lints },
    Step { name: "docs", run: docs },
    Step { name: "tidy", run: check_tidiness },
    Step { name: "tests", run: tests },
    Step { name: "soak", run: soak::run },
    Step { name: "fuzz", run: fuzz::run },
    Step { name: "extension", run: extension::run },
    Step { name: "real pi", run: real_pi::run },
    Step { name: "tmux", run: tmux::run },
    Step { name: "inside pi", run: inside_pi::run },
    Step { name: "package", run: package::run },
    Step { name: "mcp clients", run: mcp_clients::run },
    Step { name: "fleet", run: fleet::run },
    Step { name: "agent clients", run: agent_clients::run },
    Step { name: "agent children", run: agent_children::run },
    Step { name: "shells", run: shells::run },
    Step { name: "browser", run: browser::run },
    Step { name: "landlock", run: containment::landlock },
    Step { name: "access", run: containment::access },
    Step { name: "cgroups", run: containment::cgroups },
    Step { name: "limits", run: containment::limits },
    Step { name: "memory", run: containment::memory },
    Step { name: "confined tests", run: confined::run },
];

/// The steps that run only if they are named: what they need is large and changes with other programs, or they take minutes
/// and the usual tests take a sample of them.
const ON_DEMAND: &[Step] = &[
    Step { name: "all-agents", run: all_agents::run },
    Step { name: "all-points", run: all_points },
];

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let steps = chosen(arguments)?;
    let result = run_steps(&steps);
    remove_empty_cgroups();
    result
}

fn run_steps(steps: &[&Step]) -> Result<(), String> {
    let mut summary = Vec::new();
    let mut beside = None;
    let mut result = Ok(());
    for step in steps {
        println!("== {}", step.name);
        if step.name == MOSTLY_WAITS && steps.len() > 1 {
            println!("It mostly waits, so the next steps run meanwhile.\n");
            beside = Some(Beside::start(step.name));
            continue;
        }
        let started = Instant::now();
        let outcome = (step.run)();
        let line = summary_line(step.name, &outcome, started.elapsed());
        println!("== {line}\n");
        summary.push(line);
        result = outcome.map(drop).map_err(|failure| failure.message(step.name));
        if result.is_err() {
            break;
        }
    }
    if let Some(beside) = beside {
        let (line, outcome) = beside.wait();
        println!("== {line}\n");
        summary.push(line);
        result = result.and(outcome);
    }
    println!("Summary:");
    for line in &summary {
        println!("{line}");
    }
    result
}

/// Tests kill supervisors and delete their records. The cgroups of such runs are left, and those of a test that
/// was killed itself.
fn remove_empty_cgroups() {
    let program = target_directory().join("debug/pi-subagents");
    if cfg!(target_os = "linux") && program.exists() {
        // In `/`, which is no project: the runs of this checkout are not the tests'.
        let prune = Invocation::new("").word(program.to_string_lossy()).words("sessions prune");
        // Without it, the next one removes them.
        let _ = prune.directory("/").run_quietly();
    }
}

/// All usual steps, or those with these names, in their order.
fn chosen(names: &[String]) -> Result<Vec<&'static Step>, String> {
    let all = || STEPS.iter().chain(ON_DEMAND);
    if let Some(unknown) = names.iter().find(|name| all().all(|step| step.name != **name)) {
        let known: Vec<&str> = all().map(|step| step.name).collect();
        return Err(format!("there is no step `{unknown}`; there are: {}", known.join(", ")));
    }
    if names.is_empty() {
        return Ok(STEPS.iter().collect());
    }
    Ok(all().filter(|step| names.iter().any(|name| step.name == name)).collect())
}

fn format() -> StepResult {
    execute(&Invocation::new("cargo fmt --all --check"))
}

/// What the linter checks, as arguments of `cargo clippy`. Despite its name, `--all-targets` leaves out test targets with
/// `test = false`.
pub(crate) const LINTED: [&str; 3] = [
    "--workspace --all-targets",
    "--package pi-subagents --test access --test agent_children --test agent_clients \
     --test all_agents --test browser \
     --test confined --test contained --test fleet --test inside_pi \
     --test limits --test memory --test real_pi \
     --test mcp_clients --test shells --test tmux",
    "--package pi-subagents-process --test cgroup --test landlock",
];

fn lints() -> StepResult {
    for targets in LINTED {
        execute(
            &Invocation::new("cargo clippy").words(targets).words("--all-features -- -D warnings"),
        )?;
    }
    Ok(Outcome::Passed)
}

fn docs() -> StepResult {
    execute(
        &Invocation::new("cargo doc --workspace --no-deps")
            .environment("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn check_tidiness() -> StepResult {
    let repeat = "cargo xtask tidy".to_owned();
    tidy::run(&[]).map_err(|reason| StepFailure { reason, repeat })?;
    Ok(Outcome::Passed)
}

fn tests() -> StepResult {
    unsteady::execute(&Invocation::new("cargo test --workspace --no-fail-fast"))
}

/// The faults of worktrees at every point of a run's life.
fn all_points() -> StepResult {
    let tests = Invocation::new("cargo test --package pi-subagents --test suite --no-fail-fast");
    let modules = "-- workspaces::faults workspaces::landing";
    execute(&tests.words(modules).environment("PI_SUBAGENTS_TEST_EVERY_POINT", "1"))
}

/// Shows the command as a developer would type it, and runs it.
fn execute(invocation: &Invocation) -> StepResult {
    println!("$ {invocation}");
    invocation.run().map_err(|what| StepFailure::of(invocation, &what))?;
    Ok(Outcome::Passed)
}

fn summary_line(name: &str, result: &StepResult, duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match result {
        Ok(Outcome::Passed) => format!("{name}: passed in {seconds:.1} s"),
        Ok(Outcome::Unsteady(tests)) => {
            let tests = tests.join(", ");
            format!(
                "{name}: passed in {seconds:.1} s; UNSTEADY, passed only when repeated: {tests}"
            )
        }
        Ok(Outcome::NotRun(reason)) => format!("{name}: NOT RUN: {reason}"),
        Err(_) => format!("{name}: FAILED after {seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linter_sees_every_test_program() {
        for (package, linted) in [("cli", LINTED[1]), ("process", LINTED[2])] {
            let manifest = xtask::repository_root().join(format!("crates/{package}/Cargo.toml"));
            let manifest = std::fs::read_to_string(manifest).unwrap();
            let programs = manifest.split("[[test]]\nname = \"").skip(1);
            let left_out: Vec<&str> = programs
                .filter_map(|program| program.split_once("\"\n"))
                .filter(|(_, rest)| rest.starts_with("test = false"))
                .map(|(name, _)| name)
                .collect();
            assert!(!left_out.is_empty(), "{package}");
            let mut named: Vec<&str> = linted.split("--test ").skip(1).map(str::trim).collect();
            named.sort_unstable();
            let mut expected = left_out.clone();
            expected.sort_unstable();
            assert_eq!(named, expected, "{package}");
        }
    }

    #[test]
    fn a_step_that_was_not_run_never_looks_passed() {
        let line = |result| summary_line("confined tests", &result, Duration::from_millis(1240));
        assert_eq!(line(Ok(Outcome::Passed)), "confined tests: passed in 1.2 s");
        assert_eq!(
            line(Ok(Outcome::NotRun("no mounts".to_owned()))),
            "confined tests: NOT RUN: no mounts"
        );
        assert_eq!(
            line(Ok(Outcome::Unsteady(vec!["a::b".to_owned()]))),
            "confined tests: passed in 1.2 s; UNSTEADY, passed only when repeated: a::b"
        );
        let failure = StepFailure { reason: String::new(), repeat: String::new() };
        assert_eq!(line(Err(failure)), "confined tests: FAILED after 1.2 s");
    }

    #[test]
    fn steps_are_chosen_by_their_names() {
        assert_eq!(chosen(&[]).unwrap().len(), STEPS.len());
        let names = ["tidy".to_owned(), "format".to_owned()];
        let steps: Vec<&str> = chosen(&names).unwrap().iter().map(|step| step.name).collect();
        assert_eq!(steps, ["format", "tidy"]);
        let on_demand = chosen(&["all-agents".to_owned()]).unwrap();
        assert_eq!(on_demand.len(), 1);
        let error = chosen(&["nothing".to_owned()]).err().unwrap();
        assert!(error.starts_with("there is no step `nothing`; there are: format, "), "{error}");
    }

    #[test]
    fn a_failed_command_is_the_command_to_repeat() {
        let failure = execute(&Invocation::new("/no/such/program")).unwrap_err();
        assert_eq!(failure.repeat, "/no/such/program");
    }
}
