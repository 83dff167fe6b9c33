//! Tests that fail once among a thousand on a busy machine. They are repeated alone, and named in the summary, so that
//! they are mended without holding back everything else.

use xtask::Invocation;

use super::{Outcome, StepFailure, StepResult};

/// If more tests fail than this, the cause is no accident.
const MOST: usize = 3;

/// Runs tests. The few that fail are run once more.
pub(super) fn execute(invocation: &Invocation) -> StepResult {
    println!("$ {invocation}");
    let mut failed = Vec::new();
    let result = invocation.run_watched(|line| failed.extend(failed_test(line).map(str::to_owned)));
    let Err(what) = result else {
        return Ok(Outcome::Passed);
    };
    let failure = StepFailure::of(invocation, &what);
    if failed.is_empty() || failed.len() > MOST {
        return Err(failure);
    }
    let names: Vec<&str> = failed.iter().map(String::as_str).collect();
    println!("== repeated alone: {}", names.join(", "));
    let repeated = repetition(invocation, &names);
    println!("$ {repeated}");
    repeated.run().map_err(|what| StepFailure::of(&repeated, &what))?;
    Ok(Outcome::Unsteady(failed))
}

/// The name of the test that this line of its program says has failed.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

fn repetition(invocation: &Invocation, names: &[&str]) -> Invocation {
    let has_options = invocation.to_string().contains(" -- ");
    let invocation = if has_options { invocation.clone() } else { invocation.clone().word("--") };
    names.iter().fold(invocation.word("--exact"), |invocation, name| invocation.word(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_known_by_its_line() {
        assert_eq!(failed_test("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b ... ok"), None);
        assert_eq!(failed_test("test result: FAILED. 1 passed; 1 failed"), None);
    }

    #[test]
    fn what_is_repeated_is_named_exactly() {
        let plain = repetition(&Invocation::new("cargo test --workspace"), &["a::b", "c"]);
        assert_eq!(plain.to_string(), "cargo test --workspace -- --exact a::b c");
        let options = Invocation::new("cargo test --test x -- --test-threads=1");
        let repeated = repetition(&options, &["a"]).to_string();
        assert_eq!(repeated, "cargo test --test x -- --test-threads=1 --exact a");
    }

    #[test]
    fn a_test_that_fails_always_is_a_failure_and_one_that_fails_once_is_named() {
        let directory = std::env::temp_dir().join(format!("unsteady-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let script = |text: &str| {
            let path = directory.join("tests.sh");
            std::fs::write(&path, text).unwrap();
            Invocation::new("sh").word(path.to_string_lossy())
        };
        // What is repeated prints to our own output, where nothing should look like a failure.
        let always = script("[ \"$2\" = --exact ] || echo 'test a::b ... FAILED'; exit 101");
        assert!(execute(&always).unwrap_err().repeat.ends_with(" -- --exact a::b"));
        let mark = directory.join("mark");
        let once = format!(
            "[ -e {0} ] && exit 0; touch {0}; echo 'test a::b ... FAILED'; exit 101",
            mark.display()
        );
        assert_eq!(execute(&script(&once)), Ok(Outcome::Unsteady(vec!["a::b".to_owned()])));
        let many = script("for i in 1 2 3 4; do echo \"test $i ... FAILED\"; done; exit 101");
        assert!(!execute(&many).unwrap_err().repeat.contains("--exact"));
        std::fs::remove_dir_all(directory).unwrap();
    }
}
