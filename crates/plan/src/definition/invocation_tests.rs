use proptest::prelude::*;

use super::super::ApiKey;
use super::super::testing::{any_definition, definition, directories, strings};
use super::*;

const SYSTEM: &str = "/run/system-prompt.md";
const APPEND: &str = "/run/append-system-prompt.md";

fn context(skills: &ResolvedSkills) -> InvocationContext<'_> {
    let trust = Trust::Undecided;
    InvocationContext { all_tools: None, skills, trust, is_model_asked_for: false }
}

fn try_arguments(change: impl FnOnce(&mut Definition)) -> Result<Vec<String>, String> {
    let mut definition = definition();
    change(&mut definition);
    let invocation = invocation(&definition, &context(&ResolvedSkills::default()))
        .map_err(|error| error.to_string())?;
    Ok(invocation.arguments(Path::new(SYSTEM), Path::new(APPEND)))
}

fn arguments(change: impl FnOnce(&mut Definition)) -> Vec<String> {
    try_arguments(change).unwrap()
}

#[test]
fn every_field_has_its_arguments() {
    assert_eq!(arguments(|_| ()), Vec::<String>::new());
    assert_eq!(arguments(|p| p.provider = Some("a".into())), ["--provider", "a"]);
    assert_eq!(arguments(|p| p.model = Some("a/b:high".into())), ["--model", "a/b:high"]);
    assert_eq!(arguments(|p| p.system_prompt = Some("s".into())), ["--system-prompt", SYSTEM]);
    assert_eq!(
        arguments(|p| p.append_system_prompt = Some("s".into())),
        ["--append-system-prompt", APPEND]
    );
    for (word, level) in ThinkingLevel::WORDS {
        assert_eq!(arguments(|p| p.thinking_level = Some(level)), ["--thinking", word]);
    }
    assert_eq!(arguments(|p| p.tools = strings(&["read", "bash"])), ["--tools", "read,bash"]);
    assert_eq!(arguments(|p| p.no_tools = true), ["--no-tools"]);
    assert_eq!(
        arguments(|p| p.exclude_tools = strings(&["write", "edit"])),
        ["--exclude-tools", "write,edit"]
    );
    assert_eq!(arguments(|p| p.no_extensions = true), ["--no-extensions"]);
    assert_eq!(
        arguments(|p| p.extensions = strings(&["/a.js", "b.js"])),
        ["--extension", "/a.js", "--extension", "b.js"]
    );
    assert_eq!(arguments(|p| p.no_skills = true), ["--no-skills"]);
    assert_eq!(arguments(|p| p.no_context_files = true), ["--no-context-files"]);
    assert_eq!(arguments(|p| p.extra_args = strings(&["--verbose", ""])), ["--verbose", ""]);
    assert_eq!(arguments(|p| p.api_key = Some(ApiKey::new("k".into()))), Vec::<String>::new());
}

#[test]
fn the_arguments_are_in_their_order() {
    let mut definition = definition();
    definition.provider = Some("anthropic".into());
    definition.model = Some("sonnet".into());
    definition.system_prompt = Some("You are.".into());
    definition.append_system_prompt = Some("Be brief.".into());
    definition.thinking_level = Some(ThinkingLevel::High);
    definition.tools = strings(&["read"]);
    definition.no_extensions = true;
    definition.no_skills = true;
    definition.no_context_files = true;
    definition.extensions = strings(&["/a.js"]);
    definition.extra_args = strings(&["--verbose"]);
    let skills = ResolvedSkills {
        suggested: vec!["/skills/a/SKILL.md".into(), "/skills/b/SKILL.md".into()],
        loaded: Vec::new(),
    };
    let invocation = invocation(&definition, &context(&skills)).unwrap();
    assert_eq!(
        invocation.arguments(Path::new(SYSTEM), Path::new(APPEND)).join(" "),
        "--provider anthropic --model sonnet --system-prompt /run/system-prompt.md \
         --append-system-prompt /run/append-system-prompt.md --thinking high --tools read \
         --no-extensions --no-skills --no-context-files --extension /a.js \
         --skill /skills/a/SKILL.md --skill /skills/b/SKILL.md --verbose"
    );
    assert_eq!(invocation.system_prompt.as_deref(), Some("You are."));
    assert_eq!(invocation.append_system_prompt.as_deref(), Some("Be brief."));
}

#[test]
fn the_strongest_restriction_of_tools_counts() {
    let all = strings(&["read", "bash", "edit", "write"]);
    // noTools, tools, excludeTools, whether all tools are known
    for (no_tools, tools, excluded, is_known, expected) in [
        (true, "read", "bash", true, "--no-tools"),
        (false, "read", "bash", true, "--tools read"),
        (false, "", "write,edit", true, "--tools read,bash"),
        (false, "", "write,edit", false, "--exclude-tools write,edit"),
        (false, "", "unknown", true, "--tools read,bash,edit,write"),
        (false, "", "read,bash,edit,write", true, "--no-tools"),
        (false, "", "", true, ""),
    ] {
        let list = |text: &str| strings(&text.split_terminator(',').collect::<Vec<_>>());
        let mut definition = definition();
        definition.no_tools = no_tools;
        definition.tools = list(tools);
        definition.exclude_tools = list(excluded);
        let skills = ResolvedSkills::default();
        let all_tools = is_known.then_some(&all[..]);
        let context = InvocationContext { all_tools, ..context(&skills) };
        let found = invocation(&definition, &context).unwrap();
        let found = found.arguments(Path::new(SYSTEM), Path::new(APPEND)).join(" ");
        assert_eq!(found, expected, "{no_tools} {tools} {excluded} {is_known}");
    }
}

#[test]
fn loaded_skills_follow_what_is_appended() {
    let skill = |name: &str| LoadedSkill { name: name.into(), text: format!("Do {name}.") };
    let one = ResolvedSkills { suggested: Vec::new(), loaded: vec![skill("a")] };
    let two = ResolvedSkills { suggested: Vec::new(), loaded: vec![skill("a"), skill("b")] };
    let appended = |own: Option<&str>, skills: &ResolvedSkills| {
        let mut definition = definition();
        definition.append_system_prompt = own.map(str::to_owned);
        invocation(&definition, &context(skills)).unwrap().append_system_prompt
    };
    let a = "<loaded_skill name=\"a\">\nDo a.\n</loaded_skill>";
    let b = "<loaded_skill name=\"b\">\nDo b.\n</loaded_skill>";
    assert_eq!(appended(Some("Own."), &one), Some(format!("Own.\n\n{a}")));
    assert_eq!(appended(Some("Own."), &two), Some(format!("Own.\n\n{a}\n\n{b}")));
    assert_eq!(appended(None, &one), Some(format!("\n\n{a}")));
    assert_eq!(appended(None, &ResolvedSkills::default()), None);
}

#[test]
fn extra_arguments_cannot_override_the_restriction_of_tools() {
    let restrictions: [fn(&mut Definition); 3] = [
        |p| p.no_tools = true,
        |p| p.tools = strings(&["read"]),
        |p| p.exclude_tools = strings(&["write"]),
    ];
    for flag in ["--tools", "-t", "--no-tools", "-nt", "--exclude-tools", "-xt"] {
        for argument in [flag.to_owned(), format!("{flag}="), format!("{flag}=read")] {
            for restriction in restrictions {
                let refusal = try_arguments(|p| {
                    restriction(p);
                    p.extra_args = strings(&["--verbose", &argument]);
                });
                let expected = format!(
                    "Refusing extraArg \"{argument}\" which would override profile tool \
                     restrictions. Use the dedicated profile fields instead."
                );
                assert_eq!(refusal, Err(expected));
            }
            let allowed = arguments(|p| p.extra_args = vec![argument.clone()]);
            assert_eq!(allowed, [argument]);
        }
    }
    for argument in ["--tool", "--tools-of-mine", "-tx", "--theme", "tools"] {
        let allowed = arguments(|p| {
            p.no_tools = true;
            p.extra_args = strings(&[argument]);
        });
        assert_eq!(allowed, ["--no-tools", argument]);
    }
}

#[test]
fn unsafe_extra_arguments_are_refused() {
    let refusal = |argument: &str| try_arguments(|p| p.extra_args = strings(&[argument])).err();
    for argument in [
        "| ls",
        "& rm",
        "; echo",
        "$HOME",
        "\\x",
        "`whoami`",
        "! x",
        " x",
        "\tx",
        "\nx",
        "\u{a0}x",
        "\u{feff}x",
        "a&&b",
        "a||b",
        "a;b",
        "a>b",
        "a>>b",
        "a<b",
        "a<<b",
        "&& rm",
        "|| exit",
        "> file",
        ">> file",
        "< file",
    ] {
        let expected = format!("Refusing extraArg: potentially unsafe argument '{argument}'");
        assert_eq!(refusal(argument), Some(expected));
    }
    for argument in ["--verbose", "a|b", "a&b", "arg$(whoami)", "a`b`", "a!", "", "a\\b", "=x"] {
        assert_eq!(refusal(argument), None, "{argument}");
    }
    let long = format!(";{}", "ż".repeat(60));
    let expected = format!("Refusing extraArg: potentially unsafe argument ';{}'", "ż".repeat(39));
    assert_eq!(refusal(&long), Some(expected));
}

#[test]
fn null_bytes_are_refused_and_the_checks_have_an_order() {
    let refusal = |argument: &str, no_tools: bool| {
        let result = try_arguments(|p| {
            p.no_tools = no_tools;
            p.extra_args = strings(&[argument]);
        });
        result.unwrap_err()
    };
    assert_eq!(refusal("test\0arg", false), "Invalid extraArg: contains null byte");
    assert_eq!(refusal(";\0", false), "Invalid extraArg: contains null byte");
    assert!(refusal("--tools=\0;", true).starts_with("Refusing extraArg \"--tools="));
    let refusal = try_arguments(|p| p.model = Some("a\0b".into())).unwrap_err();
    assert_eq!(refusal, "Profile \"p\" cannot be used: \"model\" contains a null byte");
}

#[test]
fn no_field_can_be_an_option() {
    let changes: [fn(&mut Definition); 5] = [
        |p| p.provider = Some("--extension=/evil.js".into()),
        |p| p.model = Some("-e".into()),
        |p| p.tools = strings(&["--extension", "/evil.js"]),
        |p| p.exclude_tools = strings(&["-e"]),
        |p| p.extensions = strings(&["--approve"]),
    ];
    for (field, change) in
        ["provider", "model", "tools", "excludeTools", "extensions"].into_iter().zip(changes)
    {
        let expected = format!("\"{field}\" begins with a hyphen, as an option does");
        let refusal = try_arguments(change).unwrap_err();
        assert!(refusal.ends_with(&expected), "{refusal}");
    }
}

#[test]
fn a_project_may_run_code_only_if_it_is_trusted() {
    let changes: [fn(&mut Definition); 4] = [
        |p| p.extensions = strings(&["/evil.js"]),
        |p| p.extra_args = strings(&["--extension=/evil.js"]),
        |p| p.model = Some("script/evil.json".into()),
        |p| p.provider = Some("script".into()),
    ];
    for trust in [Trust::Approved, Trust::Trusted, Trust::Refused, Trust::Undecided] {
        for scope in [Scope::Global, Scope::Project] {
            for change in changes {
                let mut definition = Definition::new("p", scope, &directories());
                change(&mut definition);
                let skills = ResolvedSkills::default();
                let context = InvocationContext { trust, ..context(&skills) };
                let is_allowed = invocation(&definition, &context).is_ok();
                assert_eq!(is_allowed, scope == Scope::Global || trust.allows());
            }
        }
    }
    let mut definition = Definition::new("p", Scope::Project, &directories());
    definition.model = Some("m".into());
    assert!(invocation(&definition, &context(&ResolvedSkills::default())).is_ok());
    changes[0](&mut definition);
    changes[1](&mut definition);
    let error = invocation(&definition, &context(&ResolvedSkills::default())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Profile \"p\" belongs to this project and sets \"extensions\" and \"extraArgs\", which \
         can run any program, but the project is not trusted. Look at \
         /work/.pi/agent-profiles/p.md, then trust the project with /trust in pi, or run with \
         --approve."
    );
}

#[test]
fn a_script_that_the_caller_asks_for_is_not_the_projects() {
    let mut definition = Definition::new("p", Scope::Project, &directories());
    definition.model = Some("script/turns.json".into());
    let skills = ResolvedSkills::default();
    let error = invocation(&definition, &context(&skills)).unwrap_err().to_string();
    assert!(error.contains("sets \"model\" to a script, which can run any program"), "{error}");
    let context = InvocationContext { is_model_asked_for: true, ..context(&skills) };
    assert!(invocation(&definition, &context).is_ok());
}

proptest! {
    #[test]
    fn any_definition_is_an_invocation_or_a_refusal(mut definition in any_definition()) {
        definition.api_key = Some(ApiKey::new("a key like no other".to_owned()));
        let skills = ResolvedSkills::default();
        let context = InvocationContext { trust: Trust::Approved, ..context(&skills) };
        if let Ok(invocation) = invocation(&definition, &context) {
            let shown = format!("{invocation:?}");
            prop_assert!(!shown.contains("a key like no other"));
            let arguments = invocation.arguments(Path::new(SYSTEM), Path::new(APPEND));
            prop_assert!(arguments.iter().all(|argument| !argument.contains('\0')));
        }
    }
}
