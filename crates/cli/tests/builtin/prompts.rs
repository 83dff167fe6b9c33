//! What the model is told, as the provider sees it: prompts, files, system prompts, context files,
//! skills and tools; and what is printed of its answer.

use std::process::Stdio;

use serde_json::json;
use test_support::{Ran, write_file};

use super::harness::{ANSWER, Api, Asked, Builtin, CLOSING, OPENING};
use super::{bash, world};

/// A model that answers, and needs nothing for that.
fn answering(api: Api) -> Builtin {
    Builtin::new(api, &json!([{"text": "first"}, {"text": "second"}, {"text": "third"}]))
}

/// The prompt that the provider got.
fn prompt(builtin: &Builtin) -> String {
    let asked = builtin.asked_once();
    let conversation = Asked(&asked).conversation();
    assert_eq!(conversation.len(), 1, "{conversation:?}");
    conversation[0].1.clone()
}

/// The system prompt that the provider gets with these arguments.
fn system_prompt(builtin: &Builtin, arguments: &[&str]) -> String {
    let heard = builtin.ask(&[arguments, &["hello"]].concat());
    heard.assert_story(0, &[OPENING, ANSWER, CLOSING]);
    let system = Asked(builtin.asked().last().unwrap()).system();
    let sections = &heard.messages("system")[0]["sections"];
    let said: Vec<&str> =
        sections.as_object().unwrap().values().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(said.join("\n\n"), system, "the stream says something else");
    system
}

#[test]
fn several_prompts_are_answered_one_after_the_other() {
    for builtin in
        Builtin::everywhere(&json!([{"text": "first"}, {"text": "second"}, {"text": "third"}]))
    {
        let heard = builtin.ask(&["one", "two", "three"]);
        let next = ["agent start", "turn start", "user starts", "user ends"];
        let rest = [&next, ANSWER, CLOSING].concat();
        heard.assert_story(0, &[OPENING, ANSWER, CLOSING, &rest, &rest]);
        let answers: Vec<_> =
            heard.messages("assistant").iter().map(|it| it["content"][0]["text"].clone()).collect();
        assert_eq!(answers, ["first", "second", "third"]);
        if let Some(last) = builtin.asked().last() {
            let words: Vec<String> =
                Asked(last).conversation().into_iter().map(|(_, text)| text).collect();
            assert_eq!(words, ["one", "first", "two", "second", "three"]);
        }
    }
}

#[test]
fn standard_input_comes_before_the_argument_and_files_before_both() {
    for api in Api::ALL {
        let builtin = answering(api);
        builtin.project_file("notes.md", "some notes");
        let command = builtin.agent(&["@notes.md", "and the argument"]);
        let ran = builtin.world.feed(command, "from a pipe, ");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let path = builtin.project("notes.md");
        let file = format!("<file name=\"{}\">\nsome notes\n</file>\n", path.display());
        assert_eq!(prompt(&builtin), format!("from a pipe, {file}and the argument"));
    }
}

#[test]
fn standard_input_alone_is_the_prompt() {
    for api in Api::ALL {
        let builtin = answering(api);
        let ran = builtin.world.feed(builtin.agent(&[]), "what is this?\n");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(prompt(&builtin).trim_end(), "what is this?");
    }
}

#[test]
fn without_a_prompt_or_a_file_that_can_be_read_nothing_is_asked() {
    let builtin = answering(Api::Completions);
    for (arguments, words) in [
        (&[][..], "there is no prompt; give one as an argument or on standard input"),
        (&["  "], "there is no prompt"),
        (&["@missing.md", "x"], "the file \"missing.md\" cannot be read: there is no such file"),
        (&["@.", "x"], "cannot be read"),
    ] {
        let heard = builtin.ask(arguments);
        assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{heard:#?}");
        assert!(heard.stderr.starts_with("error: ") && heard.stderr.contains(words), "{heard:#?}");
    }
    assert_eq!(builtin.asked().len(), 0);
}

#[test]
fn in_text_mode_only_the_last_answer_is_printed() {
    let turns = json!([
        {"text": "I look.", "tools": [{"name": "bash", "args": {"command": "echo hi"}}]},
        {"text": "It says: {{result:0}}"},
    ]);
    for api in Api::ALL {
        for arguments in [&["agent", "-p", "look"][..], &["agent", "--mode", "text", "look"]] {
            let ran = Builtin::new(api, &turns).text(arguments);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It says: hi\n"), "{ran:#?}");
            assert_eq!(ran.stderr, "");
        }
        let failed = Builtin::new(api, &json!([{"error": 400, "error_message": "no such thing"}]));
        let ran = failed.text(&["agent", "-p", "look"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("no such thing"));
    }
}

#[test]
fn the_tools_are_those_that_were_asked_for() {
    for api in Api::ALL {
        for (arguments, expected) in [
            (&[][..], &["read", "bash", "edit", "write"][..]),
            (&["--tools", "ls,read"], &["read", "ls"]),
            (&["--tools", "grep", "--tools", "find"], &["grep", "find"]),
            (&["--exclude-tools", "bash,write"], &["read", "edit"]),
            (&["--no-tools"], &[]),
        ] {
            let builtin = answering(api);
            let heard = builtin.ask(&[arguments, &["hello"]].concat());
            heard.assert_story(0, &[OPENING, ANSWER, CLOSING]);
            let asked = builtin.asked_once();
            assert_eq!(Asked(&asked).tools(), expected, "{arguments:?}");
            let declared = heard.messages("system")[0]["toolsAdded"].clone();
            let declared = declared.as_array().map_or(0, Vec::len);
            assert_eq!(declared, expected.len());
        }
    }
    let builtin = answering(Api::Completions);
    let heard = builtin.ask(&["--tools", "read,browse", "hello"]);
    heard.assert_story(0, &[OPENING, ANSWER, CLOSING]);
    assert_eq!(heard.stderr, "warning: the built-in agent has no tool \"browse\"\n");
}

#[test]
fn a_tool_that_was_left_out_cannot_be_called() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([bash("touch made"), {"text": "sorry"}]));
        let heard = builtin.ask(&["--exclude-tools", "bash", "do it"]);
        assert_eq!(heard.code, Some(0));
        assert_eq!(heard.results(), ["Tool bash not found"]);
        assert!(!builtin.project("made").exists());
    }
}

#[test]
fn the_system_prompt_can_be_replaced_and_added_to_by_texts_and_files() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!(vec![json!({"text": "hi"}); 9]));
        builtin.project_file("system.md", "Be a pirate.");
        builtin.project_file("more.md", "Say arr.");
        let usual = system_prompt(&builtin, &[]);
        assert!(usual.starts_with("You are an expert coding agent."), "{usual}");
        assert!(usual.contains("<tools>\n- read: ") && usual.contains("<rules>\n"), "{usual}");
        let cwd = format!("<cwd>\n{}\n</cwd>", builtin.world.project().display());
        assert!(usual.ends_with(&cwd), "{usual}");
        for given in ["system.md", "Be a pirate."] {
            let system = system_prompt(&builtin, &["--system-prompt", given]);
            assert_eq!(system, format!("Be a pirate.\n\n{cwd}"));
        }
        let added = ["--append-system-prompt", "more.md", "--append-system-prompt", "Twice."];
        let system = system_prompt(&builtin, &added);
        assert!(system.contains("<addendum>\nSay arr.\n\nTwice.\n</addendum>"), "{system}");
        assert!(system.starts_with("You are an expert coding agent."), "{system}");
    }
}

#[test]
fn context_files_are_told_from_the_outermost_to_the_innermost() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!(vec![json!({"text": "hi"}); 9]));
        builtin.agent_file("AGENTS.md", "the user's rules");
        builtin.project_file("AGENTS.md", "the project's rules");
        builtin.project_file("CLAUDE.md", "not these, too");
        let system = system_prompt(&builtin, &[]);
        let position = |words: &str| system.find(words).unwrap_or_default();
        assert!(position("the user's rules") > 0, "{system}");
        assert!(position("the project's rules") > position("the user's rules"), "{system}");
        assert!(!system.contains("not these"), "{system}");
        let path = builtin.project("AGENTS.md");
        let block = format!(
            "<project_instructions path=\"{}\">\nthe project's rules\n</project_instructions>",
            path.display()
        );
        assert!(system.contains(&block), "{system}");
        let without = system_prompt(&builtin, &["--no-context-files"]);
        assert!(!without.contains("rules\n</project_instructions>"), "{without}");
        assert!(!without.contains("the user's rules"), "{without}");
    }
}

#[test]
fn skills_are_offered_by_name_and_place() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!(vec![json!({"text": "hi"}); 9]));
        let skill =
            |name: &str| format!("---\nname: {name}\ndescription: Knows {name}.\n---\nBody.");
        builtin.agent_file("skills/knots/SKILL.md", &skill("knots"));
        builtin.project_file(".pi/skills/sails/SKILL.md", &skill("sails"));
        builtin.project_file("elsewhere/ropes/SKILL.md", &skill("ropes"));
        let offered = |arguments: &[&str]| {
            let system = system_prompt(&builtin, arguments);
            let names = ["knots", "sails", "ropes"].into_iter();
            let is_offered = |name: &&str| {
                system.contains(&format!("<name>{name}</name>\n    <description>Knows {name}."))
            };
            names.filter(is_offered).collect::<Vec<_>>()
        };
        assert_eq!(offered(&[]), ["knots"], "the project is not trusted");
        assert_eq!(offered(&["--approve"]), ["knots", "sails"]);
        assert_eq!(offered(&["--skill", "elsewhere/ropes"]), ["knots", "ropes"]);
        assert_eq!(offered(&["--no-skills"]), Vec::<&str>::new());
        assert_eq!(offered(&["--no-skills", "--skill", "elsewhere/ropes/SKILL.md"]), ["ropes"]);
        assert_eq!(offered(&["--no-tools"]), Vec::<&str>::new(), "nothing could read them");
    }
}

#[test]
fn extensions_are_refused_before_anything_is_asked() {
    let builtin = answering(Api::Completions);
    for flag in ["--extension", "-e"] {
        let heard = builtin.ask(&[flag, "my-extension.ts", "hello"]);
        assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{heard:#?}");
        assert_eq!(
            heard.stderr,
            "error: the built-in agent cannot load the extension \"my-extension.ts\": extensions \
             are programs for pi\nhint: leave the extension out, or use `--agent pi`\n"
        );
    }
    assert_eq!(builtin.asked().len(), 0);
    let heard = builtin.ask(&["--no-extensions", "hello"]);
    heard.assert_story(0, &[OPENING, ANSWER, CLOSING]);
}

#[test]
fn a_script_answers_about_real_files() {
    let world = world();
    write_file(&world.project().join("list"), "one\ntwo\nthree\n");
    let turns = json!([
        {"tools": [{"name": "bash", "args": {"command": "cat list"}}]},
        {"text": "{{prompt}}: {{count:0}} lines from {{first:0}} to {{last:0}}."},
    ]);
    write_file(&world.project().join("turns.json"), &turns.to_string());
    let model = ["agent", "-p", "--model", "script/turns.json", "Counted"];
    let mut command = world.command(model);
    let ran: Ran = command.stdin(Stdio::null()).output().unwrap().into();
    world.assert_nothing_left();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Counted: 3 lines from one to three.\n"));
}
