//! What Claude Code asks before it uses a tool, and what it is answered.

use model::{Answer, Question, QuestionKind, ToolEffect};
use serde_json::{Value, json};

use super::stream::line_of;
use super::tools;
use crate::json::take_in;
use crate::question::{Asked, OpenQuestions, permission_text};

/// The tool with which the model asks the user something.
const ASK_TOOL: &str = "AskUserQuestion";
const READERS: [&str; 5] = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// What is said where the user has said nothing.
const DENIED: &str = "The user did not permit it.";
const ONE_BY_ONE: &str = "Ask one question at a time, with options to choose from.";

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Request {
    id: Value,
    /// What the tool gets if it is permitted.
    input: Value,
    /// The texts of the options, if it is a choice.
    options: Vec<String>,
}

pub(super) type Requests = OpenQuestions<Request>;

/// What a request of the agent comes to.
pub(super) enum Asking {
    Question(Box<Asked>),
    /// It is answered at once.
    Reply(Vec<u8>),
    /// It wants no answer of ours.
    Nothing,
}

/// Takes a request of the agent.
pub(super) fn ask(open: &mut Requests, mut record: Value) -> Asking {
    let id = take_in(&mut record, "request_id");
    let mut request = take_in(&mut record, "request");
    if request["subtype"] != "can_use_tool" {
        return Asking::Nothing;
    }
    let name = request["tool_name"].as_str().unwrap_or_default().to_owned();
    let input = take_in(&mut request, "input");
    if name == ASK_TOOL {
        let Some(question) = choice(&input) else {
            return Asking::Reply(denial(&id, ONE_BY_ONE));
        };
        let options = question.options.clone();
        let number = open.add(Request { id, input, options });
        return Asking::Question(Box::new(Asked {
            number,
            question,
            effect: ToolEffect::Other,
            patience: None,
        }));
    }
    let (tool, args) = tools::call(&name, input.clone());
    let question = Question::permission(&tool, &permission_text(&tool, &args));
    let number = open.add(Request { id, input, options: Vec::new() });
    let effect = if READERS.contains(&name.as_str()) {
        ToolEffect::ReadFiles
    } else if tools::WRITERS.contains(&name.as_str()) {
        ToolEffect::ChangeFiles
    } else {
        ToolEffect::Other
    };
    Asking::Question(Box::new(Asked { number, question, effect, patience: None }))
}

/// The agent does not ask any more.
pub(super) fn cancel(open: &mut Requests, id: &Value) -> Vec<u64> {
    open.withdraw(|request| request.id == *id)
}

/// The answer in the agent's words.
pub(super) fn answer(open: &mut Requests, number: u64, answer: &Answer) -> Vec<u8> {
    let Some(Request { id, mut input, options }) = open.take(number) else { return Vec::new() };
    match answer {
        Answer::Yes | Answer::Always => {}
        Answer::No(reason) => return denial(&id, reason.as_deref().unwrap_or(DENIED)),
        Answer::Option(index) => {
            let chosen = options.get(*index).cloned().unwrap_or_default();
            choose(&mut input, &chosen);
        }
        Answer::Text(text) => choose(&mut input, text),
    }
    response(&id, &json!({"behavior": "allow", "updatedInput": input}))
}

fn choose(input: &mut Value, chosen: &str) {
    let asked = input["questions"][0]["question"].as_str().unwrap_or_default().to_owned();
    if let Some(input) = input.as_object_mut() {
        input.insert("answers".to_owned(), json!({asked: chosen}));
    }
}

/// The one question of the model, if it has options to choose one from.
fn choice(input: &Value) -> Option<Question> {
    let [asked] = input["questions"].as_array()?.as_slice() else { return None };
    let labels = asked["options"].as_array()?.iter();
    let options: Vec<String> =
        labels.filter_map(|option| option["label"].as_str().map(str::to_owned)).collect();
    let is_offered = !options.is_empty() && asked["multiSelect"] != true;
    let text = asked["question"].as_str()?;
    is_offered.then(|| Question::dialog(QuestionKind::Choice, text, options))
}

fn denial(id: &Value, message: &str) -> Vec<u8> {
    response(id, &json!({"behavior": "deny", "message": message}))
}

fn response(id: &Value, response: &Value) -> Vec<u8> {
    line_of(&json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": response},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(open: &mut Requests, id: &str, tool: &str, input: &Value) -> Asked {
        let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input});
        match ask(open, json!({"request_id": id, "request": request})) {
            Asking::Question(asked) => *asked,
            _ => panic!("no question"),
        }
    }

    fn words(line: &[u8]) -> Value {
        serde_json::from_slice::<Value>(line).unwrap()["response"].clone()
    }

    #[test]
    fn a_permission_is_answered_in_its_words() {
        let mut open = Requests::default();
        let input = json!({"command": "echo hi > f.txt", "description": "x"});
        let first = asked(&mut open, "r1", "Bash", &input);
        assert_eq!(first.question, Question::permission("bash", "echo hi > f.txt"));
        assert_eq!((first.number, first.effect), (1, ToolEffect::Other));
        let edit = json!({"file_path": "a", "old_string": "x", "new_string": "y"});
        let second = asked(&mut open, "r2", "Edit", &edit);
        assert_eq!((second.number, second.effect), (2, ToolEffect::ChangeFiles));
        assert_eq!(asked(&mut open, "r3", "Read", &json!({})).effect, ToolEffect::ReadFiles);
        let allowed = words(&answer(&mut open, 1, &Answer::Always));
        assert_eq!(
            (&allowed["request_id"], &allowed["subtype"]),
            (&json!("r1"), &json!("success"))
        );
        assert_eq!(allowed["response"], json!({"behavior": "allow", "updatedInput": input}));
        let denied = words(&answer(&mut open, 2, &Answer::No(Some("Use git.".into()))));
        assert_eq!(denied["response"], json!({"behavior": "deny", "message": "Use git."}));
        assert_eq!(cancel(&mut open, &json!("r3")), [3]);
        assert_eq!(answer(&mut open, 3, &Answer::Yes), b"", "it was withdrawn");
    }

    #[test]
    fn the_model_asks_one_question_with_options() {
        let mut open = Requests::default();
        let question = json!({"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]});
        let input = json!({"questions": [question]});
        let asked = asked(&mut open, "r1", "AskUserQuestion", &input);
        assert_eq!(asked.question.options, ["A", "B"]);
        let chosen = words(&answer(&mut open, 1, &Answer::Option(1)));
        assert_eq!(chosen["response"]["updatedInput"]["answers"], json!({"Which?": "B"}));
        for questions in [json!([]), json!([{}, {}]), json!([{"question": "?"}]), json!(1)] {
            let input = json!({"questions": questions});
            let request = json!({"subtype": "can_use_tool", "tool_name": ASK_TOOL, "input": input});
            let asking = ask(&mut open, json!({"request_id": "r", "request": request}));
            let Asking::Reply(reply) = asking else { panic!("{questions}") };
            assert_eq!(words(&reply)["response"]["behavior"], "deny");
        }
    }
}
