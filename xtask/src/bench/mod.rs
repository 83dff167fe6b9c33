//! `cargo xtask bench`: figures, always as ratios in one run against a peer or a bare limit.

mod agent;
mod background;
mod calls;
mod delegate;
mod measure;
mod memory;
mod pi;
mod place;
mod provider;
mod spine;
mod stream;
mod table;
mod tasks;
mod view;

/// Runs the benchmarks that are named, or all.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => {
            // One that misses a limit does not keep the others from being measured.
            let results = [
                spine::run(),
                delegate::run(),
                agent::run(),
                background::run(),
                pi::run(),
                view::run(),
            ];
            let missed: Vec<String> = results.into_iter().filter_map(Result::err).collect();
            if missed.is_empty() { Ok(()) } else { Err(missed.join("\n")) }
        }
        [word] if word == "spine" => spine::run(),
        [word] if word == "delegate" => delegate::run(),
        [word] if word == "agent" => agent::run(),
        [word] if word == "background" => background::run(),
        [word] if word == "pi" => pi::run(),
        [word] if word == "view" => view::run(),
        _ => Err("`bench` takes one of: spine, delegate, agent, background, pi, view".to_owned()),
    }
}
