//! A child that plays a script; see `test_support::fake_agent`.

fn main() -> std::process::ExitCode {
    test_support::fake_agent::main()
}
