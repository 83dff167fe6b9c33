//! Commands that ask the user something, by pi's dialogs.

use plan::Surroundings;
use serde_json::{Value, json};
use session::clean;
use tools::{Dialogs, Level};

use crate::client::Client;

/// Runs `/profile` on a thread of its own, because it waits for the user, and answers the request when it
/// is done.
pub(crate) fn run_profile_command(
    client: Client,
    request: Value,
    surroundings: Surroundings,
    arguments: String,
) {
    std::thread::spawn(move || {
        let mut dialogs = PiDialogs { client: client.clone() };
        tools::profile_command(&surroundings, &arguments, &mut dialogs);
        client.answer(&request, &json!({}));
    });
}

struct PiDialogs {
    client: Client,
}

impl PiDialogs {
    fn text(&self, method: &str, params: &Value) -> Option<String> {
        let answer = self.client.ask(method, params)?;
        answer.get("value").and_then(Value::as_str).map(str::to_owned)
    }
}

impl Dialogs for PiDialogs {
    fn select(&mut self, title: &str, options: &[String]) -> Option<usize> {
        let chosen = self.text("ui/select", &json!({"title": clean(title), "options": options}))?;
        options.iter().position(|option| *option == chosen)
    }

    fn input(&mut self, title: &str, current: Option<&str>) -> Option<String> {
        match current {
            // Pi's line of input cannot be filled in, and leaving it empty would delete the current
            // text.
            Some(current) => self.editor(title, current),
            None => self.text("ui/input", &json!({"title": clean(title)})),
        }
    }

    fn editor(&mut self, title: &str, prefill: &str) -> Option<String> {
        self.text("ui/editor", &json!({"title": clean(title), "prefill": prefill}))
    }

    fn confirm(&mut self, title: &str, message: &str) -> bool {
        let answer = self
            .client
            .ask("ui/confirm", &json!({"title": clean(title), "message": clean(message)}));
        answer.is_some_and(|answer| answer.get("value") == Some(&Value::Bool(true)))
    }

    fn notify(&mut self, message: &str, level: Level) {
        self.client.show(message, level.word());
    }
}
