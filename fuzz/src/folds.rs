//! What must be true of the folds of any events.

use model::{Record, SessionId, Status};
use session::view::{self, Phase, TaskView};
use session::{Context, Facts, PastRun, PreviewContext, State};

use crate::assertions::{assert_blocks, assert_clean, assert_reads_back, assert_row};

/// Folds the events in every way that there is.
pub(crate) fn check(records: &[Record]) {
    let preview = PreviewContext { cwd: "/project".into(), home: Some("/home".into()), width: 40 };
    let mut state = State::new(Context { preview, window_lines: 3, has_window: true });
    let mut replayed = State::default();
    for record in records {
        assert_reads_back(record);
        state.apply(record);
        replayed.apply(record);
        assert_row("what the agent does", &state.doing_words());
    }
    assert_eq!(replayed, State::replay(records.to_vec()), "live and replayed runs differ");
    assert_eq!(state.facts, Facts::replay(records.to_vec()));
    check_views(&state);
    check_transcripts(records, &state);
}

fn check_views(state: &State) {
    let Ok(session) = SessionId::parse("0123456789abcdef") else { return };
    for phase in [Phase::Queued, Phase::Running, Phase::Ended] {
        let task = TaskView {
            name: "task",
            profile: None,
            agent: Some("pi"),
            model: None,
            thinking: None,
            state,
            phase,
            elapsed_ms: 1_000,
            doing_ms: 10,
            timeout_ms: Some(2_000),
            session: &session,
            budget: model::Budget::default(),
            access: model::Access::Full,
        };
        assert_blocks(&view::call_blocks(&[task, task]));
        assert_blocks(&view::opened_blocks(&[(task, Some(state.facts.output.clone()))]));
        assert_blocks(&[view::listed_row(&task, 1).into()]);
        for column in view::COLUMNS {
            assert_row(column.name, &(column.cell)(&task).text());
        }
        for step in view::steps(&task, Context::WINDOW_LINES, false) {
            assert_row(
                "a line of the window",
                &step.line.and(step.result.unwrap_or_default()).text(),
            );
        }
        assert_clean("the text of an update", &view::streaming_text(&[task]));
    }
}

fn check_transcripts(records: &[Record], state: &State) {
    let error = state.facts.error.clone();
    let run = |prompt: Option<&str>| PastRun {
        status: Status::Completed,
        error: error.clone(),
        prompt: prompt.map(str::to_owned),
        records: records.to_vec(),
    };
    let whole = session::transcript_with_prompts(vec![run(None), run(Some("Why?"))]);
    assert_clean("a transcript", &whole);
    assert_clean("what a later run is told", &session::resume_transcript(vec![run(Some("Why?"))]));
    let short = records.iter().filter_map(|record| {
        let event = session::abridged(&record.event)?;
        Some(Record { event, ..record.clone() })
    });
    let of = |records| session::transcript(vec![(Status::Error, None, records)]);
    assert_eq!(of(records.to_vec()), of(short.collect()), "abridged events tell something else");
}
