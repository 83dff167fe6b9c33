//! What the user is asked by pi's dialogs, by commands and by agents.

use std::io;

use model::{AnsweredBy, LeftAnswer, Question, QuestionKind};
use plan::Surroundings;
use serde_json::{Value, json};
use session::clean;
use tools::{Answered, AskedQuestion, Dialogs, Level, Preselected, answer_run};

use crate::client::{Client, RequestId};

/// Runs `/profile` on a thread of its own, because it waits for the user, and answers the request when it
/// is done. Without a thread the command is refused: the one that calls this reads the user's answers.
pub(crate) fn run_profile_command(
    client: Client,
    request: Value,
    surroundings: Surroundings,
    arguments: String,
    is_drawn: bool,
) -> io::Result<()> {
    let run = move || {
        let mut dialogs = PiDialogs { client: client.clone(), is_drawn, is_gone: false };
        tools::profile_command(&surroundings, &arguments, &mut dialogs);
        client.answer(&request, &json!({}));
    };
    process::start_thread(run).map(drop).map_err(|no_thread| no_thread.error)
}

/// Asks the user what an agent asks. A thread of its own hands the answer to the run, because it waits. A user who
/// closes the dialog has not answered: the question waits, and other programs can answer it.
pub(crate) fn ask_question(client: &Client, asked: AskedQuestion) -> RequestId {
    let AskedQuestion { name, dir, number, question } = asked;
    let title = match &question.tool {
        Some(tool) => format!("{name} asks whether it may use {tool}:\n{}", question.text),
        None => format!("{name} asks:\n{}", question.text),
    };
    let answers = answers(question);
    let (request, chosen) = match &answers {
        None => client.begin("ui/input", &json!({"title": clean(&title)})),
        Some(answers) => {
            let options: Vec<&str> = answers.iter().map(|(label, _)| label.as_str()).collect();
            client.begin("ui/select", &json!({"title": clean(&title), "options": options}))
        }
    };
    let hand_over = {
        let client = client.clone();
        move || {
            let Some(text) = chosen.recv().ok().and_then(|answer| meaning(&answer, answers)) else {
                return;
            };
            let left = LeftAnswer::new(&text, AnsweredBy::Pi);
            let problem = match answer_run(&dir, Some(number), &left) {
                Ok(Answered::Given { .. }) => return,
                Ok(Answered::Refused { reason, .. }) => reason,
                Err(error) => error.to_string(),
            };
            let problem = format!("The agent does not get the answer: {problem}");
            client.show(&problem, Level::Warning.word());
        }
    };
    if let Err(no_thread) = process::start_thread(hand_over) {
        client.take_back(request);
        let problem =
            format!("{name} asks something, and cannot be answered here: {}", no_thread.error);
        client.show(&problem, Level::Warning.word());
    }
    request
}

/// What can be chosen, and what it means to [`Question::read_answer`]. Nothing if any text is an answer.
fn answers(question: Question) -> Option<Vec<(String, String)>> {
    let word = |label: &str, word: &str| (label.to_owned(), word.to_owned());
    match question.kind {
        QuestionKind::Permission => {
            let tool = question.tool.unwrap_or_default();
            let always = format!("Allow {tool} for this run");
            Some(vec![word("Allow once", "yes"), word(&always, "always"), word("Deny", "no")])
        }
        QuestionKind::Confirmation => Some(vec![word("Yes", "yes"), word("No", "no")]),
        QuestionKind::Choice => {
            Some(question.options.iter().map(|option| word(option, option)).collect())
        }
        QuestionKind::Text => None,
    }
}

/// What the user of a dialog has chosen or typed, if they have.
fn meaning(answer: &Value, answers: Option<Vec<(String, String)>>) -> Option<String> {
    let chosen = answer.get("value")?.as_str()?;
    match answers {
        None => Some(chosen.to_owned()),
        Some(answers) => answers.into_iter().find(|(label, _)| label == chosen).map(|it| it.1),
    }
}

struct PiDialogs {
    client: Client,
    /// Whether pi itself shows the dialogs, on a terminal.
    is_drawn: bool,
    /// Whether a question got no answer at all.
    is_gone: bool,
}

impl PiDialogs {
    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        let answer = self.client.ask(method, params);
        self.is_gone |= answer.is_none();
        answer?.get_mut("value").map(Value::take)
    }

    fn text(&mut self, method: &str, params: &Value) -> Option<String> {
        self.ask(method, params)?.as_str().map(str::to_owned)
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

    fn confirm(&mut self, title: &str, message: &str, preselected: Preselected) -> bool {
        // In its own dialog, pi preselects "Yes".
        if self.is_drawn && preselected == Preselected::No {
            let options = ["No", "Yes"].map(str::to_owned);
            return self.select(&format!("{title}\n{message}"), &options) == Some(1);
        }
        let question = json!({"title": clean(title), "message": clean(message)});
        self.ask("ui/confirm", &question) == Some(Value::Bool(true))
    }

    fn has_left(&self) -> bool {
        self.is_gone
    }

    fn notify(&mut self, message: &str, level: Level) {
        self.client.show(message, level.word());
    }
}
