//! What an MCP client answers when its user is asked what an agent wants to know.

use model::{Answer, LeftAnswer, Question, QuestionKind};
use serde_json::Value;

use crate::scratch::parts;

/// The parts are a question and the results of the client.
pub(super) fn check(data: &[u8]) {
    let mut parts = parts(data);
    let question = parts.next().unwrap_or_default();
    let question = serde_json::from_slice::<Question>(question)
        .unwrap_or_else(|_| Question::permission("bash", &String::from_utf8_lossy(question)));
    for result in parts {
        check_result(&question, result);
    }
}

/// Only an action `accept` with what was offered allows or chooses anything.
fn check_result(question: &Question, result: &[u8]) {
    let Some(text) = mcp::read_elicited(question, result) else { return };
    assert!(text.len() <= LeftAnswer::TEXT_BYTES + 256, "{} bytes", text.len());
    let said: Value = serde_json::from_slice(result).unwrap_or_default();
    let is_accepted = said["action"] == "accept";
    let word = said["content"]["answer"].as_str();
    let word = word.filter(|word| is_accepted && word.len() <= LeftAnswer::TEXT_BYTES);
    let given = question.read_answer(&text);
    match given {
        Ok(Answer::Yes) => {
            let offered = match question.kind {
                QuestionKind::Permission => "allow once",
                _ => "yes",
            };
            assert_eq!(word, Some(offered), "{question:?}");
        }
        Ok(Answer::Always) => assert_eq!(word, Some("allow for this run"), "{question:?}"),
        Ok(Answer::Option(index)) => {
            let chosen = word.and_then(|word| question.options.iter().position(|it| it == word));
            assert!(
                chosen.is_some()
                    && question.options[index].trim() == word.unwrap_or_default().trim(),
                "{word:?} is {index} of {question:?}"
            );
        }
        Ok(Answer::Text(text)) => assert_eq!(word.map(str::trim), Some(text.as_str())),
        Ok(Answer::No(_)) | Err(_) => {}
    }
}
