//! See the library of this crate; a binary alone could not be tested with its fakes beside it.

fn main() -> std::process::ExitCode {
    pi_subagents::main()
}
