//! A call whose tasks run, as pi is told about it.

use std::time::{Duration, Instant};

use model::Usage;
use serde_json::{Value, json};
use session::view::{self, Extent, Phase};
use tools::{RunningCall, ShownTask};

use crate::wire;

/// How often a screen is told at most.
const FRAME: Duration = Duration::from_millis(50);
/// How often the clocks in the windows are set, and how often those are told who draw nothing.
const SECOND: Duration = Duration::from_secs(1);

/// One call of a tool that runs tasks in the foreground.
pub(crate) struct Call {
    pub(crate) id: String,
    /// The request that is answered in the end.
    pub(crate) request: Value,
    pub(crate) running: RunningCall,
    /// Whether somebody draws the windows.
    is_drawn: bool,
    told: Option<Instant>,
    pub(crate) is_changed: bool,
}

/// What a call is answered with.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) details: Value,
    pub(crate) usage: Option<Usage>,
    pub(crate) is_error: bool,
}

impl Answer {
    pub(crate) fn into_json(self) -> Value {
        let Answer { text, details, usage, is_error } = self;
        // What agents say is shown in a terminal, and of no use to a model with escape sequences.
        let text = session::clean(&text);
        json!({"text": text, "details": details, "usage": usage, "isError": is_error})
    }
}

impl Call {
    pub(crate) fn new(
        (id, request): (String, Value),
        running: RunningCall,
        is_drawn: bool,
    ) -> Call {
        Call { id, request, running, is_drawn, told: None, is_changed: true }
    }

    /// The task of a run.
    pub(crate) fn shown(&self, run: &str) -> Option<&ShownTask> {
        self.running.tasks().find(|shown| shown.meta.run_id.as_str() == run)
    }

    /// How long until something is to be told, as things stand.
    pub(crate) fn next_word(&self) -> Duration {
        let interval = if self.is_changed && self.is_drawn { FRAME } else { SECOND };
        self.told.map_or(Duration::ZERO, |told| interval.saturating_sub(told.elapsed()))
    }

    /// What is told now, if it is time for it.
    pub(crate) fn word(&mut self) -> Option<Value> {
        if !self.next_word().is_zero() {
            return None;
        }
        self.told = Some(Instant::now());
        let is_news = std::mem::take(&mut self.is_changed);
        if !is_news && !self.is_drawn {
            // Nobody looks at the clocks.
            return None;
        }
        let views = self.running.views();
        let lines = if self.is_drawn {
            view::render(&views, Extent::Collapsed)
        } else {
            let running = views.iter().filter(|task| task.phase == Phase::Running);
            [view::overview(&views)].into_iter().chain(running.map(view::window_header)).collect()
        };
        let text = view::streaming_text(&views);
        let details =
            json!({"status": "running", "lines": wire::kept(&lines), "runs": self.runs()});
        Some(json!({"callId": self.id, "text": text, "details": details}))
    }

    /// The answer when all tasks have ended.
    pub(crate) fn answer(&self) -> Answer {
        let lines = view::render(&self.running.views(), Extent::Collapsed);
        let sessions: Vec<Value> = self
            .running
            .results()
            .map(|result| {
                json!({
                    "name": result.name,
                    "sessionId": result.session_id.as_str(),
                    "status": result.status.word(),
                })
            })
            .collect();
        Answer {
            text: self.running.answer(),
            details: json!({
                "status": "done",
                "sessions": sessions,
                "lines": wire::kept(&lines),
                "runs": self.runs(),
            }),
            usage: self.running.usage(),
            is_error: self.running.is_failure(),
        }
    }

    fn runs(&self) -> Vec<&str> {
        self.running.tasks().map(|task| task.meta.run_id.as_str()).collect()
    }
}
