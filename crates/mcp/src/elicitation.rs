//! What agents ask, put to the user of the client by elicitation.
//!
//! A client without a user, or with one who looks elsewhere, holds up nothing: the question waits in the
//! run, where other programs can answer it and its deadline denies it. Then the client is told that there
//! is nothing to answer any more.

use std::collections::BTreeSet;

use model::{AnsweredBy, LeftAnswer, Question, QuestionKind};
use process::NoThread;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, EnumSchema, ErrorCode, PrimitiveSchemaDefinition,
    ServerRequest, StringSchema,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use serde_json::Value;
use session::{clean, cut_chars};
use tokio::sync::oneshot;
use tools::{AskedQuestion, answer_run};

use crate::worker::{CallHandle, Request};

/// The only field of the form.
const ANSWER: &str = "answer";
const ALLOW_ONCE: &str = "allow once";
const ALLOW_FOR_THIS_RUN: &str = "allow for this run";
const DENY: &str = "deny";
/// How much of a value that is no answer is repeated.
const SHOWN_CHARS: usize = 80;

/// A question of an agent, for the client that started its run.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) question: AskedQuestion,
    pub(crate) client: Option<String>,
    /// Closed when the question has its answer, whichever program gave it.
    pub(crate) settled: oneshot::Receiver<()>,
}

/// Whether the client can show a form.
pub(crate) fn can_ask(capabilities: &ClientCapabilities) -> bool {
    // One that names no kind of elicitation has forms: there was nothing else at first.
    let elicitation = capabilities.elicitation.as_ref();
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// Asks the client's user, and hands the answer to the run.
pub(crate) async fn ask(peer: Peer<RoleServer>, handle: CallHandle, asked: Asked) {
    let Asked { question, client, settled } = asked;
    let AskedQuestion { name, dir, number, question } = question;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(&name, &question)));
    let request = peer.send_cancellable_request(request, PeerRequestOptions::no_options());
    tokio::pin!(settled);
    let mut request = tokio::select! {
        // A client that does not read has not seen the question.
        _ = &mut settled => return,
        request = request => match request {
            Ok(request) => request,
            // The client is gone, and its runs with it.
            Err(_) => return,
        }
    };
    let result = tokio::select! {
        biased;
        result = &mut request.rx => result,
        _ = &mut settled => {
            let reason = format!("question {number} of {name} has its answer");
            let _ = request.cancel(Some(reason)).await;
            return;
        }
    };
    let text = match result {
        Ok(Ok(result)) => meaning(&question, &result),
        // A client that fails has not asked its user: the question goes on waiting for another program.
        Ok(Err(ServiceError::McpError(error))) => {
            let reason = match error.code {
                ErrorCode::METHOD_NOT_FOUND => "it has no elicitation/create".to_owned(),
                _ => cut_chars(&clean(&error.message), SHOWN_CHARS).to_owned(),
            };
            handle.send(Request::Warn(format!(
                "the client does not ask what {name} asks: {reason}. \
                 Answer with `pi-subagents answer {} {number} ANSWER`",
                dir.run_id()
            )));
            return;
        }
        Ok(Err(_)) | Err(_) => return,
    };
    let Some(text) = text else { return };
    let left = LeftAnswer { text, by: AnsweredBy::Mcp, client };
    let give = move || {
        // A refusal is the end of a race with another answer, which the record tells.
        if let Err(error) = answer_run(&dir, Some(number), &left) {
            handle.send(Request::Warn(format!("{name} does not get its answer: {error}")));
        }
    };
    // It waits until the supervisor has taken the answer.
    if let Err(NoThread { work: Some(give), .. }) = process::start_thread(give) {
        give();
    }
}

/// The form with the question in full.
fn form(name: &str, question: &Question) -> ElicitRequestParams {
    let name = clean(name);
    let message = match &question.tool {
        Some(tool) => format!("{name} asks whether it may use {tool}:\n{}", question.text),
        None => format!("{name} asks:\n{}", question.text),
    };
    let field = match question.kind {
        QuestionKind::Text => {
            PrimitiveSchemaDefinition::String(StringSchema::new().title("Answer"))
        }
        _ => {
            // Without titles, which older clients do not know: the values are the words.
            let values = choices(question).into_iter().map(|(choice, _)| choice.to_owned());
            let values = EnumSchema::builder(values.collect()).title("Answer").build();
            PrimitiveSchemaDefinition::Enum(values)
        }
    };
    let properties = [(ANSWER.to_owned(), field)].into_iter().collect();
    let requested_schema =
        ElicitationSchema::new(properties).with_required(vec![ANSWER.to_owned()]);
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
}

/// What can be chosen, and what it means to [`Question::read_answer`].
fn choices(question: &Question) -> Vec<(&str, &str)> {
    match question.kind {
        QuestionKind::Permission => {
            vec![(ALLOW_ONCE, "yes"), (ALLOW_FOR_THIS_RUN, "always"), (DENY, "no")]
        }
        QuestionKind::Confirmation => vec![("yes", "yes"), ("no", "no")],
        QuestionKind::Choice => {
            // A form does not tell two of the same words apart, and neither does a user.
            let mut seen = BTreeSet::new();
            let options = question.options.iter().map(String::as_str);
            options.filter(|option| seen.insert(*option)).map(|option| (option, option)).collect()
        }
        QuestionKind::Text => Vec::new(),
    }
}

/// What the result of an `elicitation/create` means, in the words that [`Question::read_answer`] takes. `None` leaves the
/// question to its deadline.
pub fn read_elicited(question: &Question, result: &[u8]) -> Option<String> {
    match serde_json::from_slice(result) {
        Ok(result) => meaning(question, &result),
        Err(_) => None,
    }
}

fn meaning(question: &Question, result: &ClientResult) -> Option<String> {
    match result {
        ClientResult::ElicitResult(result) => answer(question, result),
        _ => no_answer(question, "its action is not accept, decline or cancel"),
    }
}

/// What the client's user says, in the words that [`Question::read_answer`] takes. What is no answer
/// denies, with the reason.
fn answer(question: &Question, result: &ElicitResult) -> Option<String> {
    if result.action != ElicitationAction::Accept {
        return question.refusal().map(str::to_owned);
    }
    let value = result.content.as_ref().and_then(|content| content.get(ANSWER));
    let Some(value) = value else {
        return no_answer(question, "it has no \"answer\"");
    };
    let Value::String(text) = value else {
        return no_answer(question, "its \"answer\" is not a text");
    };
    if text.len() > LeftAnswer::TEXT_BYTES {
        let limit = LeftAnswer::TEXT_BYTES;
        let problem = format!("its \"answer\" has {} bytes, and the limit is {limit}", text.len());
        return no_answer(question, &problem);
    }
    if question.kind == QuestionKind::Text {
        return Some(text.clone());
    }
    let chosen = choices(question).into_iter().find(|(choice, _)| choice == text);
    chosen.map(|(_, meaning)| meaning.to_owned()).or_else(|| {
        let text = clean(text);
        let shown = cut_chars(&text, SHOWN_CHARS);
        no_answer(question, &format!("its \"answer\" {shown:?} was not offered"))
    })
}

/// The words that deny, with the reason where the question has a place for it. `None` if the question can
/// only be left to its deadline.
fn no_answer(question: &Question, problem: &str) -> Option<String> {
    match question.kind {
        QuestionKind::Permission => {
            Some(format!("Denied: what the MCP client said is no answer: {problem}."))
        }
        _ => question.refusal().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(question: &Question, result: Value) -> Option<String> {
        answer(question, &serde_json::from_value(result).unwrap())
    }

    fn dialog(kind: QuestionKind, options: &[&str]) -> Question {
        Question::dialog(kind, "Which?", options.iter().map(|&option| option.to_owned()).collect())
    }

    #[test]
    fn only_what_was_offered_is_an_answer() {
        let permission = Question::permission("bash", "make");
        let accepted = |answer: Value| json!({"action": "accept", "content": {"answer": answer}});
        for (result, expected) in [
            (accepted(json!("allow once")), "yes"),
            (accepted(json!("allow for this run")), "always"),
            (accepted(json!("deny")), "no"),
            (json!({"action": "decline"}), "no"),
            (json!({"action": "cancel"}), "no"),
            // Whatever comes with it.
            (json!({"action": "decline", "content": {"answer": "allow once"}}), "no"),
        ] {
            assert_eq!(
                answered(&permission, result.clone()).as_deref(),
                Some(expected),
                "{result}"
            );
        }
        for (result, problem) in [
            (json!({"action": "accept"}), "it has no \"answer\""),
            (json!({"action": "accept", "content": "allow once"}), "it has no \"answer\""),
            (json!({"action": "accept", "content": {"answers": "allow once"}}), "it has no"),
            (accepted(json!(true)), "is not a text"),
            (accepted(json!(["allow once"])), "is not a text"),
            (accepted(json!("yes")), "\"yes\" was not offered"),
            (accepted(json!("Allow once")), "was not offered"),
            (accepted(json!("\u{1b}[2Jallow once")), "\"allow once\" was not offered"),
            (accepted(json!("y".repeat(1 << 20))), "has 1048576 bytes, and the limit is 65536"),
        ] {
            let text = answered(&permission, result).unwrap();
            assert!(text.starts_with("Denied: ") && text.contains(problem), "{text}");
            let read = permission.read_answer(&text);
            assert_eq!(read, Ok(model::Answer::No(Some(text))));
        }
    }

    #[test]
    fn a_dialog_is_answered_by_its_options_and_by_nothing_else() {
        let accepted = |answer: &str| json!({"action": "accept", "content": {"answer": answer}});
        let declined = json!({"action": "decline"});
        let choice = dialog(QuestionKind::Choice, &["left", "no", "left"]);
        assert_eq!(choices(&choice), [("left", "left"), ("no", "no")]);
        let confirmation = dialog(QuestionKind::Confirmation, &[]);
        let text = dialog(QuestionKind::Text, &[]);
        for (question, result, expected) in [
            (&choice, accepted("no"), Some("no")),
            (&choice, accepted("1"), Some("n")),
            (&choice, declined.clone(), Some("n")),
            (&dialog(QuestionKind::Choice, &["no", "n"]), declined.clone(), None),
            (&confirmation, accepted("yes"), Some("yes")),
            (&confirmation, accepted("always"), Some("no")),
            (&text, accepted("no"), Some("no")),
            (&text, declined, Some("")),
        ] {
            assert_eq!(answered(question, result).as_deref(), expected, "{question:?}");
        }
    }
}
