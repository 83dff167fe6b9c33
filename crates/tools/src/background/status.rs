//! `background_agent_status`: how one run stands, or all of them.

use serde_json::json;
use session::{cut_bytes, cut_chars};
use store::{Store, StoreError};

use super::{
    BackgroundCounts, BackgroundRecord, BackgroundRunError, BackgroundStatus, find_background,
};
use crate::{Retrieved, StatusArguments};

/// How many runs a list names.
const MOST_NAMED: usize = 50;
/// How many bytes of a task and of an answer a list has.
const MOST_BYTES_IN_LIST: usize = 256;
/// How many warnings of a run a list has.
const MOST_WARNINGS_IN_LIST: usize = 4;
/// The longest task in a line, in characters.
const LINE: usize = 200;

/// Answers a call. `known` are the runs of the caller, which are counted.
pub fn background_status(
    store: &Store,
    known: Vec<BackgroundRecord>,
    arguments: &StatusArguments,
) -> Result<Retrieved, StoreError> {
    let counts = BackgroundCounts::of(known.iter().map(|run| run.status));
    let Some(id) = &arguments.run_id else {
        let shown = known.into_iter();
        let shown = shown.filter(|run| arguments.include_completed || run.is_running());
        return Ok(list(shown.collect(), counts));
    };
    match find_background(store, id) {
        Ok(run) => Ok(one(&run.record, counts)),
        Err(BackgroundRunError::Store(error)) => Err(error),
        _ => {
            let text = format!("No run found for runId: {id}");
            Ok(Retrieved { text, details: json!({"runs": [], "counts": counts}) })
        }
    }
}

fn one(run: &BackgroundRecord, counts: BackgroundCounts) -> Retrieved {
    let said = run.ending.final_text.as_deref().filter(|text| !text.trim().is_empty());
    let mut text = format!(
        "Run {}: status={}, task={}, final=\"{}\"",
        run.run_id,
        run.status.word(),
        first_line(&run.task),
        said.unwrap_or("(no output)")
    );
    if let Some(waiting) = &run.waiting {
        text.push_str(&format!(", waiting=\"{}\"", waiting.words()));
    }
    if let Some(error) = &run.ending.error {
        text.push_str(&format!(", error=\"{error}\""));
    }
    for warning in &run.ending.warnings {
        text.push_str(&format!(", warning=\"{warning}\""));
    }
    Retrieved { text, details: json!({"runs": [run], "counts": counts}) }
}

fn list(mut runs: Vec<BackgroundRecord>, counts: BackgroundCounts) -> Retrieved {
    let mut text = format!("Active runs: {}. Counts: {}", counts.running, counts.words());
    // The latest runs matter most.
    let passed_over = runs.len().saturating_sub(MOST_NAMED);
    if passed_over > 0 {
        text.push_str(&format!("\n({passed_over} earlier runs are not named)"));
    }
    runs.drain(..passed_over);
    for run in &runs {
        let what = match (run.status, &run.ending.error) {
            (BackgroundStatus::Failed, Some(error)) => first_line(error).to_owned(),
            _ => match &run.waiting {
                Some(waiting) => waiting.words(),
                None => first_line(&run.task).to_owned(),
            },
        };
        text.push_str(&format!("\n{} {} [{}]: {what}", run.run_id, run.status.word(), run.title()));
        if let Some(warning) = run.ending.warnings.first() {
            text.push_str(&format!(" (warning: {})", first_line(warning)));
        }
    }
    for run in &mut runs {
        cut(&mut run.task);
        if let Some(said) = &mut run.ending.final_text {
            cut(said);
        }
        run.ending.warnings.truncate(MOST_WARNINGS_IN_LIST);
        run.ending.warnings.iter_mut().for_each(cut);
    }
    Retrieved { text, details: json!({"runs": runs, "counts": counts}) }
}

fn first_line(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    cut_chars(line, LINE)
}

fn cut(text: &mut String) {
    let length = cut_bytes(text, MOST_BYTES_IN_LIST).len();
    text.truncate(length);
}
