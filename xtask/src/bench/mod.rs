//! `cargo xtask bench`: figures, always as ratios in one run against a peer or a bare limit.

mod measure;
mod spine;
mod stream;
mod table;

/// Runs the benchmarks that are named, or all.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => spine::run(),
        [word] if word == "spine" => spine::run(),
        _ => Err("`bench` takes one of: spine".to_owned()),
    }
}
