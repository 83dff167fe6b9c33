use super::*;

fn questions(access: Access) -> Questions {
    Questions::new(access, &Limits { question_timeout_ms: 1_000, ..Limits::default() })
}

fn command() -> Question {
    Question::permission("bash", "make")
}

fn ask(
    questions: &mut Questions,
    number: u64,
    effect: ToolEffect,
    now: Instant,
) -> Option<Settled> {
    questions.ask(number, command(), 4, effect, None, now)
}

fn left(text: &str, by: AnsweredBy) -> Result<LeftAnswer, String> {
    Ok(LeftAnswer::new(text, by))
}

fn outcome(settled: &Settled) -> (u64, bool, AnsweredBy) {
    (settled.number, matches!(settled.answer, Answer::Yes | Answer::Always), settled.by)
}

#[test]
fn access_answers_at_once_and_the_rest_waits_until_it_is_answered_or_denied() {
    let now = Instant::now();
    let mut questions = questions(Access::Read);
    let answered = ask(&mut questions, 1, ToolEffect::ReadFiles, now).unwrap();
    assert_eq!(outcome(&answered), (1, true, AnsweredBy::Access));
    let answered = ask(&mut questions, 2, ToolEffect::ChangeFiles, now).unwrap();
    assert_eq!(outcome(&answered), (2, false, AnsweredBy::Access));
    assert!(!questions.is_waiting());
    assert_eq!(ask(&mut questions, 3, ToolEffect::Other, now), None);
    let later = now + Duration::from_millis(500);
    assert_eq!(ask(&mut questions, 4, ToolEffect::Other, later), None);
    assert_eq!((questions.waiting(), questions.take_new()), (vec![3, 4], vec![3, 4]));
    assert!(questions.take_new().is_empty());
    assert_eq!(questions.next_deadline(), Some(now + Duration::from_secs(1)));
    assert_eq!(questions.check(later), []);
    let denied = questions.check(now + Duration::from_secs(1));
    assert_eq!(denied.iter().map(outcome).collect::<Vec<_>>(), [(3, false, AnsweredBy::Deadline)]);
    let answered = questions.answer(4, left("yes", AnsweredBy::View)).unwrap();
    assert_eq!(outcome(&answered), (4, true, AnsweredBy::View));
    assert_eq!(questions.answer(4, left("yes", AnsweredBy::Pi)), None, "each is answered once");
    assert!(!questions.is_waiting());
}

#[test]
fn always_holds_for_the_tool_and_for_no_other() {
    let now = Instant::now();
    let mut questions = questions(Access::Full);
    assert_eq!(ask(&mut questions, 1, ToolEffect::Other, now), None);
    questions.answer(1, left("always", AnsweredBy::Shell)).unwrap();
    let answered = ask(&mut questions, 2, ToolEffect::Other, now).unwrap();
    assert_eq!(outcome(&answered), (2, true, AnsweredBy::Always));
    let fetch = Question::permission("fetch_content", "https://example.com");
    assert_eq!(questions.ask(3, fetch, 4, ToolEffect::Other, None, now), None);
}

#[test]
fn what_is_no_answer_denies_and_claims_nothing() {
    let now = Instant::now();
    let mut questions = questions(Access::Full);
    let confirmation = Question::dialog(QuestionKind::Confirmation, "Sure?", Vec::new());
    for (number, given) in [
        (1, Err("the file is damaged".to_owned())),
        (2, left("perhaps", AnsweredBy::Shell)),
        (3, left(&"x".repeat(LeftAnswer::TEXT_BYTES + 1), AnsweredBy::Shell)),
        (4, left("nonsense", AnsweredBy::Access)),
    ] {
        assert_eq!(
            questions.ask(number, confirmation.clone(), 5, ToolEffect::Other, None, now),
            None
        );
        let settled = questions.answer(number, given).unwrap();
        assert_eq!(outcome(&settled), (number, false, AnsweredBy::Shell));
    }
    assert_eq!(questions.ask(5, confirmation, 5, ToolEffect::Other, None, now), None);
    let early = questions.refuse_early_answer(5).unwrap();
    assert_eq!(outcome(&early), (5, false, AnsweredBy::Limit));
}

#[test]
fn an_agent_that_waits_less_withdraws_its_question() {
    let now = Instant::now();
    let mut questions = questions(Access::Full);
    let patience = Some(Duration::from_millis(10));
    assert_eq!(questions.ask(1, command(), 4, ToolEffect::Other, patience, now), None);
    assert_eq!(ask(&mut questions, 2, ToolEffect::Other, now), None);
    let withdrawn = questions.check(now + Duration::from_millis(10));
    assert_eq!(withdrawn.iter().map(outcome).collect::<Vec<_>>(), [(1, false, AnsweredBy::Agent)]);
    assert_eq!(outcome(&questions.withdraw(2).unwrap()), (2, false, AnsweredBy::Agent));
    assert_eq!(questions.withdraw(2), None);
}

#[test]
fn questions_are_bounded_and_end_with_the_run() {
    let now = Instant::now();
    let mut questions = questions(Access::Full);
    let long = questions.ask(1, command(), Question::TEXT_BYTES + 1, ToolEffect::Other, None, now);
    assert_eq!(outcome(&long.unwrap()), (1, false, AnsweredBy::Limit));
    let mut number = 1;
    let mut waited = 0;
    while waited < Question::MOST {
        for _ in 0..Question::OPEN {
            number += 1;
            waited += u64::from(ask(&mut questions, number, ToolEffect::Other, now).is_none());
        }
        number += 1;
        let refused = ask(&mut questions, number, ToolEffect::Other, now).unwrap();
        assert_eq!(refused.by, AnsweredBy::Limit);
        for open in questions.waiting() {
            questions.answer(open, left("no", AnsweredBy::Shell)).unwrap();
        }
    }
    assert_eq!(waited, Question::MOST);
    let mut ending = self::questions(Access::Full);
    assert_eq!(ask(&mut ending, 1, ToolEffect::Other, now), None);
    assert_eq!(
        ending.stop().iter().map(outcome).collect::<Vec<_>>(),
        [(1, false, AnsweredBy::End)]
    );
    let late = ask(&mut ending, 2, ToolEffect::Other, now).unwrap();
    assert_eq!(outcome(&late), (2, false, AnsweredBy::End));
}

#[test]
fn another_supervisor_answers_what_needs_no_user() {
    let now = Instant::now();
    let mut questions = questions(Access::Full).relayed(true);
    assert_eq!(ask(&mut questions, 1, ToolEffect::Other, now), None);
    questions.answer(1, left("always", AnsweredBy::Shell)).unwrap();
    assert_eq!(ask(&mut questions, 2, ToolEffect::Other, now), None, "it says so itself");
    assert_eq!(questions.next_deadline(), None);
    assert!(questions.close(2) && !questions.close(2) && !questions.close(1));
    assert!(!questions.is_waiting());
}
