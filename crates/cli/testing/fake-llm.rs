//! A model provider that plays a script; see `test_support::fake_llm`.

fn main() -> std::io::Result<()> {
    let arguments = std::env::args().skip(1);
    test_support::fake_llm::main(arguments, &mut std::io::stdin(), &mut std::io::stdout())
}
