use std::fs;
use std::os::unix::fs::symlink;

use plan::{ApiKey, Configuration, Definitions};

use super::*;
use crate::dialogs::testing::Answer::{self, Cancel, Enter, Leave, No, Pick, Type, Yes};
use crate::dialogs::testing::Script;
use crate::testing::World;

fn surroundings(world: &World) -> Surroundings {
    Surroundings { home: Some(world.at("")), ..world.surroundings("project") }
}

fn profiles(world: &World) -> Definitions {
    load_definitions(&DefinitionDirectories::of_profiles(&surroundings(world)))
}

/// Asks and saves, as the command does.
fn run(world: &World, name: &str, answers: &[Answer]) -> (Script, Option<Definition>) {
    let surroundings = surroundings(world);
    let current = profiles(world).get(name).ok().cloned();
    let mut script = Script::new(answers);
    let (current, directories) =
        (current.as_ref(), DefinitionDirectories::of_profiles(&surroundings));
    let edited = edit_definition(&surroundings, &directories, name, current, &mut script);
    if let Some(profile) = edited.clone() {
        save_definition(&surroundings, &directories, current, profile, &mut script);
    }
    (script, edited)
}

/// The answers with which everything stays as it is, after the scope.
fn keep_all(has_prompt: Answer, has_appended: Answer) -> Vec<Answer> {
    let mut answers = vec![Leave, Leave, has_prompt];
    answers.extend(matches!(has_prompt, Yes).then_some(Leave));
    answers.push(has_appended);
    answers.extend(matches!(has_appended, Yes).then_some(Leave));
    answers.extend([Yes, Cancel, No, No, No, No, Yes]);
    answers
}

fn files(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for directory in ["agent/agent-profiles", "project/.pi/agent-profiles"] {
        for entry in fs::read_dir(world.at(directory)).unwrap() {
            all.push(format!("{directory}/{}", entry.unwrap().file_name().to_str().unwrap()));
        }
    }
    all.sort();
    all
}

const CREATE: [Answer; 22] = [
    Pick(0),
    Type(" anthropic "),
    Type("sonnet:high"),
    Yes,
    Type("You review.\n"),
    Yes,
    Type("Be brief."),
    Yes,
    Pick(6),
    Yes,
    No,
    Pick(0),
    Type("read, bash,,grep "),
    Yes,
    Pick(0),
    Yes,
    No,
    Type("/x.js"),
    Yes,
    Type("one, two"),
    Type(""),
    Yes,
];

#[test]
fn a_profile_is_created_in_eleven_steps() {
    let world = World::new();
    let (script, edited) = run(&world, "reviewer", &CREATE);
    let detail = "\
Profile: reviewer
  provider:          anthropic
  model:             sonnet:high
  thinkingLevel:     max
  access:            read
  systemPrompt:      You review.
  appendSystemPrompt: Be brief.
  tools:             [read, bash, grep]
  extensions:        [/x.js]
  suggestedSkills:   [one, two]";
    assert_eq!(
        script.asked,
        [
            "Save to which scope? Global (~/agent/agent-profiles/reviewer.md) | \
             Project (.pi/agent-profiles/reviewer.md)",
            "Provider (e.g. anthropic, openai, dashscope):",
            "Model (supports provider/id and :thinking shorthand):",
            "System prompt? Set a custom system prompt?",
            "System prompt: You are a helpful coding assistant.",
            "Append to system prompt? Append text to the default system prompt?",
            "Append text:",
            "Thinking level? Set a thinking level?",
            "Thinking level: off | minimal | low | medium | high | xhigh | max",
            "Configure tools? Restrict which tools the subagent can use?",
            "Disable all tools? The subagent gets no tools at all.",
            "Select tool mode: Allowlist (only these tools) | Blacklist (all tools except these)",
            "Tool allowlist (comma-separated, e.g. read,bash,grep):",
            "Configure access? Limit what the subagent may change?",
            "Access: read (change nothing) | workspace (change its directory and build caches) | \
             full (change everything that you can)",
            "Configure extensions? Configure extension loading?",
            "Disable all extensions? The subagent loads no extensions.",
            "Extension paths (comma-separated):",
            "Configure skills? Configure skill loading for the subagent?",
            "Suggested skills (comma-separated skill names, model chooses to load):",
            "Pre-loaded skills (comma-separated skill names, content injected into system prompt):",
            &format!("Save profile \"reviewer\"? {detail}\n\nSave this profile?"),
        ]
    );
    let saved = "Profile \"reviewer\" saved to global agent-profiles.".to_owned();
    assert_eq!(script.notices, [(saved, Level::Info)]);
    assert_eq!(Some(profiles(&world).get("reviewer").unwrap()), edited.as_ref());
    assert_eq!(files(&world), ["agent/agent-profiles/reviewer.md"]);
}

#[test]
fn leaving_at_any_step_writes_nothing() {
    let with_list = [&CREATE[..11], &[Pick(1), Type("write")], &CREATE[13..]].concat();
    for answers in [CREATE.to_vec(), with_list] {
        for count in 0..answers.len() {
            let world = World::new();
            let (script, edited) = run(&world, "reviewer", &answers[..count]);
            assert_eq!((edited, files(&world)), (None, Vec::new()), "{count}");
            let has_reviewed = script.asked.last().unwrap().starts_with("Save profile");
            let notices = if has_reviewed {
                vec![("Cancelled.".to_owned(), Level::Info)]
            } else {
                Vec::new()
            };
            assert_eq!(script.notices, notices, "{count}");
        }
    }
}

#[test]
fn leaving_while_editing_changes_nothing() {
    let world = World::new();
    world.profile("full", FULL);
    let path = world.at("agent/agent-profiles/full.md");
    let before = fs::read_to_string(&path).unwrap();
    let answers = [&[Pick(1), Pick(0)][..], &CREATE[1..18], &[Yes]].concat();
    for count in 0..=answers.len() {
        assert_eq!(run(&world, "full", &answers[..count]).1, None);
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        assert_eq!(files(&world), ["agent/agent-profiles/full.md"]);
    }
}

#[test]
fn cancelling_a_question_skips_its_field() {
    let world = World::new();
    let nothing_else = [No, No, No, No, No, No, No, Yes];
    let answers = [&[Pick(0), Cancel, Type("m")][..], &nothing_else].concat();
    let profile = run(&world, "p", &answers).1.unwrap();
    let Configuration { provider, model, .. } = profile.configuration;
    assert_eq!((provider, model.as_deref()), (None, Some("m")));

    // Whichever question is cancelled, the wizard goes on to the end, and what it asks for is absent.
    for (index, answer) in CREATE.into_iter().enumerate().skip(1) {
        let mut answers = CREATE.to_vec();
        answers[index] = Cancel;
        // The questions that only follow from the one that is cancelled are not asked.
        let following = match index {
            3 | 5 | 7 | 11 | 13 => 1,
            9 => 3,
            15 | 18 => 2,
            _ => 0,
        };
        answers.drain(index + 1..index + 1 + following);
        let world = World::new();
        let (script, edited) = run(&world, "p", &answers);
        let is_review = index == CREATE.len() - 1;
        assert_eq!(edited.is_some(), !is_review, "{index}: {answer:?}: {:?}", script.asked);
        assert!(script.is_used_up(), "{index}: {:?}", script.asked);
    }
}

#[test]
fn cancelling_a_question_about_an_existing_profile_keeps_its_field() {
    let world = World::new();
    let text = format!("---\nname: full\n{FULL}\n---\n\nOld.\n");
    fs::write(world.at("agent/agent-profiles/full.md"), text).unwrap();
    let before = profiles(&world).get("full").unwrap().clone();
    let answers = [
        &[Pick(0), Cancel, Cancel, Yes, Cancel, Yes, Cancel, Yes, Cancel][..],
        // Tools: the mode, and then the list of the other mode.
        &[Yes, No, Cancel, Yes, Cancel, Yes, No, Cancel, Cancel, Yes],
    ];
    let (script, edited) = run(&world, "full", &answers.concat());
    assert_eq!(edited, Some(before.clone()), "{:?}", script.asked);
    let answers = [
        &[Pick(0), Cancel, Cancel, Yes, Cancel, Yes, Cancel, Yes, Cancel][..],
        &[Yes, No, Pick(0), Cancel, No, No, No, Yes],
    ];
    let (script, edited) = run(&world, "full", &answers.concat());
    assert_eq!(edited, Some(before), "{:?}", script.asked);
}

#[test]
fn nothing_has_to_be_said() {
    let world = World::new();
    let answers = [Pick(1), Type(""), Type(" "), No, No, No, No, No, No, No, Yes];
    let (script, edited) = run(&world, "plain", &answers);
    let directories = DefinitionDirectories::of_profiles(&surroundings(&world));
    assert_eq!(edited, Some(Definition::new("plain", Scope::Project, &directories)));
    let saved = "Profile \"plain\" saved to project agent-profiles.".to_owned();
    assert_eq!(script.notices, [(saved, Level::Info)]);
    assert_eq!(files(&world), ["project/.pi/agent-profiles/plain.md"]);
}

#[test]
fn the_preselected_answers_change_nothing() {
    let world = World::new();
    let (_, edited) = run(&world, "plain", &[Enter; 11]);
    let directories = DefinitionDirectories::of_profiles(&surroundings(&world));
    assert_eq!(edited, Some(Definition::new("plain", Scope::Global, &directories)));
    for project in [false, true] {
        let world = World::new();
        let fields = FULL.replace("apiKey: sk-test-abc123\n", "");
        match project {
            true => world.project_profile("full", &fields),
            false => world.profile("full", &fields),
        }
        let before = profiles(&world).get("full").unwrap().clone();
        let (script, edited) = run(&world, "full", &[Enter; 13]);
        assert_eq!(edited, Some(before), "{:?}", script.asked);
    }
}

const FULL: &str = "description: D.\nprovider: p\nmodel: m\nthinkingLevel: low\n\
    appendSystemPrompt: Add.\nexcludeTools: write\nextensions: [\"/a,b.js\"]\nloadSkills: s\n\
    apiKey: sk-test-abc123\nextraArgs: --verbose\nnoContextFiles: true\nagent: builtin\naccess: workspace";

#[test]
fn editing_begins_with_what_is_there_and_keeps_what_has_no_step() {
    let world = World::new();
    world.profile("full", FULL);
    let before = profiles(&world).get("full").unwrap().clone();
    let answers = [vec![Pick(0)], keep_all(No, Yes)].concat();
    let (script, edited) = run(&world, "full", &answers);
    assert_eq!(edited.as_ref(), Some(&before));
    assert!(script.is_used_up());
    assert_eq!(
        script.asked[1..script.asked.len() - 1],
        [
            "Provider (e.g. anthropic, openai, dashscope): p",
            "Model (supports provider/id and :thinking shorthand): m",
            "System prompt? Set a custom system prompt?",
            "Append to system prompt? An appended system prompt is set. Keep it?",
            "Append text: Add.",
            "Thinking level? Thinking level is low. Set one?",
            "Thinking level: low | off | minimal | medium | high | xhigh | max",
            "Configure tools? Tool config is set. Change it?",
            "Configure access? Access is workspace. Change it?",
            "Configure extensions? Extension config is set. Change it?",
            "Remove skills? Skill config is set. Remove existing skill configuration?",
        ]
    );
    assert_eq!(profiles(&world).get("full").unwrap(), &before);
}

#[test]
fn every_step_can_take_away_what_is_there() {
    let world = World::new();
    world.profile("full", FULL);
    let before = profiles(&world).get("full").unwrap().clone();
    let answers = [
        &[Pick(0), Type(""), Type(""), No, No, No][..],
        &[Yes, No, Pick(1), Type(""), No, Yes, No, Type(""), Yes, Yes],
    ];
    let (_, edited) = run(&world, "full", &answers.concat());
    let configuration = Configuration {
        provider: None,
        model: None,
        append_system_prompt: None,
        thinking_level: None,
        exclude_tools: Vec::new(),
        extensions: Vec::new(),
        ..before.configuration
    };
    let expected = Definition { configuration, load_skills: Vec::new(), ..before };
    assert_eq!(edited, Some(expected));
}

#[test]
fn tools_and_extensions_are_one_thing_or_the_other() {
    let tools = |answers: &[Answer]| {
        let world = World::new();
        world.profile("p", "tools: a, b\nexcludeTools: c\nextensions: [\"/a,b.js\"]");
        let answers = [&[Pick(0), Leave, Leave, No, No, No][..], answers, &[No, Yes]].concat();
        let profile = run(&world, "p", &answers).1.unwrap();
        let Configuration { no_tools, tools, exclude_tools, no_extensions, extensions, .. } =
            profile.configuration;
        (no_tools, tools.join(" "), exclude_tools.join(" "), no_extensions, extensions.join(" "))
    };
    let with = |no_tools, tools: &str, excluded: &str, no_extensions, extensions: &str| {
        (no_tools, tools.to_owned(), excluded.to_owned(), no_extensions, extensions.to_owned())
    };
    let unchanged = "/a,b.js";
    assert_eq!(tools(&[Yes, Yes, No, No]), with(true, "", "", false, unchanged));
    assert_eq!(tools(&[Yes, No, Pick(0), Leave, No, No]), with(false, "a b", "", false, unchanged));
    assert_eq!(
        tools(&[Yes, No, Pick(1), Type("x,y"), No, Yes, No, Leave]),
        with(false, "", "x y", false, unchanged)
    );
    assert_eq!(tools(&[Yes, Yes, No, Yes, Yes]), with(true, "", "", true, ""));
}

#[test]
fn a_prompt_is_kept_changed_or_taken_away() {
    for (answers, expected) in [
        (&[Yes, Leave][..], Some("Old.")),
        (&[Yes, Type("New.")], Some("New.")),
        (&[Yes, Type(" ")], None),
        (&[No], None),
    ] {
        let world = World::new();
        let text = "---\nname: p\n---\n\nOld.\n";
        fs::write(world.at("agent/agent-profiles/p.md"), text).unwrap();
        let answers =
            [&[Pick(0), Leave, Leave][..], answers, &[No, No, No, No, No, No, Yes]].concat();
        let (script, edited) = run(&world, "p", &answers);
        assert_eq!(script.asked[3], "System prompt? A custom system prompt is set. Keep it?");
        assert_eq!(edited.unwrap().configuration.system_prompt.as_deref(), expected);
    }
    // Text that is added stays if nothing is typed in its place.
    let world = World::new();
    world.profile("p", "appendSystemPrompt: Old.");
    let answers = [Pick(0), Leave, Leave, No, Yes, Type(""), No, No, No, No, No, Yes];
    let edited = run(&world, "p", &answers).1.unwrap();
    assert_eq!(edited.configuration.append_system_prompt.as_deref(), Some("Old."));
}

#[test]
fn a_key_is_not_saved_to_the_project_and_the_user_chooses_again() {
    let world = World::new();
    world.profile("full", FULL);
    let answers = [vec![Pick(1), Pick(0)], keep_all(No, Yes)].concat();
    let (script, edited) = run(&world, "full", &answers);
    let refusal = format!(
        "Profile \"full\" cannot be saved to the project with an apiKey. Save it to the global \
         directory ({}/) or remove the key.",
        world.at("agent/agent-profiles").display()
    );
    assert_eq!(script.notices[0], (refusal, Level::Warning));
    assert_eq!(
        edited.unwrap().configuration.api_key,
        Some(ApiKey::new("sk-test-abc123".to_owned()))
    );
    assert_eq!(files(&world), ["agent/agent-profiles/full.md"]);
}

#[test]
fn editing_in_the_other_scope_writes_a_second_file() {
    let world = World::new();
    world.profile("p", "model: m");
    let answers = [vec![Pick(1)], keep_all(No, No)].concat();
    let (script, _) = run(&world, "p", &answers);
    assert_eq!(files(&world), ["agent/agent-profiles/p.md", "project/.pi/agent-profiles/p.md"]);
    assert_eq!(profiles(&world).get("p").unwrap().configuration.model.as_deref(), Some("m"));
    assert_eq!(script.notices.len(), 1);
}

#[test]
fn a_profile_that_was_not_seen_is_not_replaced_unasked() {
    let user_model = |world: &World| {
        let text = fs::read_to_string(world.at("agent/agent-profiles/p.md")).unwrap();
        text.lines().find(|line| line.starts_with("model")).unwrap().to_owned()
    };
    for (answer, model) in [(Yes, "model: the-projects"), (No, "model: the-users")] {
        let world = World::new();
        world.profile("p", "model: the-users");
        world.project_profile("p", "model: the-projects");
        // The project's own is preselected.
        let answers = [vec![Pick(1)], keep_all(No, No), vec![answer]].concat();
        let (script, _) = run(&world, "p", &answers);
        assert_eq!(user_model(&world), model);
        let exists = format!(
            "Profile \"p\" already exists: {}",
            world.at("agent/agent-profiles/p.md").display()
        );
        let question = format!("Replace profile? {exists}\n\nReplace it?");
        assert!(script.asked.contains(&question), "{:?}", script.asked);
        let notices = match answer {
            Yes => vec![
                ("Profile \"p\" saved to global agent-profiles.".to_owned(), Level::Info),
                (
                    "In this project, .pi/agent-profiles/p.md is used instead of it.".to_owned(),
                    Level::Warning,
                ),
            ],
            _ => vec![(exists, Level::Error)],
        };
        assert_eq!(script.notices, notices);
    }
}

#[test]
fn when_saving_fails_the_answers_are_kept_and_another_place_can_be_chosen() {
    let world = World::new();
    // Nothing can be created below a link that leads nowhere.
    fs::remove_dir(world.at("agent/agent-profiles")).unwrap();
    symlink(world.at("nowhere/at/all"), world.at("agent/agent-profiles")).unwrap();
    let answers = [&CREATE[..], &[Pick(0), Pick(1)]].concat();
    let (script, edited) = run(&world, "reviewer", &answers);
    let levels: Vec<Level> = script.notices.iter().map(|(_, level)| *level).collect();
    assert_eq!(levels, [Level::Error, Level::Error, Level::Info]);
    assert!(script.notices[0].0.contains("cannot be"), "{:?}", script.notices);
    let saved = profiles(&world).get("reviewer").unwrap().clone();
    assert_eq!(saved.scope, Scope::Project);
    assert_eq!(
        Definition { scope: Scope::Global, path: edited.clone().unwrap().path, ..saved },
        edited.unwrap()
    );
}

#[test]
fn a_contradiction_is_told_before_it_is_saved() {
    let world = World::new();
    world.profile("p", "noSkills: true");
    let answers = [Pick(0), Leave, Leave, No, No, No, No, No, No, Yes, Type("s"), Type(""), No];
    let (script, _) = run(&world, "p", &answers);
    assert!(
        script.notices[0].0.starts_with("Profile \"p\" has both \"suggestedSkills\" and"),
        "{:?}",
        script.notices
    );
    assert_eq!(script.notices[0].1, Level::Warning);
    assert_eq!(script.notices[1], ("Cancelled.".to_owned(), Level::Info));
}

#[test]
fn paths_are_shown_as_the_user_knows_them() {
    let in_home = Surroundings {
        home: Some("/home/u".into()),
        ..Surroundings::new("/home/u".into(), "/home/u/.pi/agent".into())
    };
    let in_project = Surroundings { cwd: "/home/u/p/sub".into(), ..in_home.clone() };
    for (surroundings, path, expected) in [
        (&in_home, "/home/u/.pi/agent/agent-profiles/a.md", "~/.pi/agent/agent-profiles/a.md"),
        (&in_home, "/home/u/.pi/agent-profiles/a.md", ".pi/agent-profiles/a.md"),
        (&in_project, "/home/u/p/.pi/agent-profiles/a.md", "~/p/.pi/agent-profiles/a.md"),
        (&in_project, "/home/u/p/sub/.pi/agent-profiles/a.md", ".pi/agent-profiles/a.md"),
        (&in_project, "/else/a.md", "/else/a.md"),
    ] {
        assert_eq!(shown(surroundings, Path::new(path)), expected);
    }
}

#[test]
fn a_preset_is_asked_for_its_description_and_has_no_system_prompt_of_its_own() {
    let world = World::new();
    let surroundings = surroundings(&world);
    let directories = DefinitionDirectories::of_presets(&surroundings);
    let presets = || load_definitions(&directories);
    let ask = |answers: &[Answer]| {
        let current = presets().get("scout").ok().cloned();
        let mut script = Script::new(answers);
        let edited =
            edit_definition(&surroundings, &directories, "scout", current.as_ref(), &mut script)?;
        save_definition(&surroundings, &directories, current.as_ref(), edited, &mut script)?;
        Some(script)
    };
    let script = ask(&[
        Pick(0),
        Type(" "),
        Type("Explores."),
        Type(""),
        Type("a/one"),
        Yes,
        Type("You are a scout.\n"),
        No,
        No,
        No,
        No,
        No,
        Yes,
    ]);
    let script = script.unwrap();
    assert_eq!(
        script.asked[..6],
        [
            "Save to which scope? Global (~/agent/subagents/scout.md) | \
             Project (.pi/subagents/scout.md)",
            "Description (models choose by it):",
            "Description (models choose by it):",
            "Provider (e.g. anthropic, openai, dashscope):",
            "Model (supports provider/id and :thinking shorthand):",
            "Instructions? Add instructions to the system prompt?",
        ]
    );
    assert!(script.asked.last().unwrap().ends_with("Save this preset?"), "{:?}", script.asked);
    let notices: Vec<&str> = script.notices.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(
        notices,
        ["A preset needs a description.", "Preset \"scout\" saved to global subagents."]
    );
    let text = fs::read_to_string(world.at("agent/subagents/scout.md")).unwrap();
    let expected =
        "---\nname: scout\ndescription: Explores.\nmodel: a/one\n---\n\nYou are a scout.\n";
    assert_eq!(text, expected);
    // What is cancelled stays.
    let cancelled = [Pick(0), Cancel, Cancel, Cancel, Yes, Cancel, No, No, No, No, No, Yes];
    assert!(ask(&cancelled).is_some());
    assert_eq!(fs::read_to_string(world.at("agent/subagents/scout.md")).unwrap(), expected);
    // With the current values, Enter alone changes nothing.
    let kept = [Pick(0), Leave, Leave, Leave, Yes, Leave, No, No, No, No, No, Yes];
    assert!(ask(&kept).is_some());
    assert_eq!(fs::read_to_string(world.at("agent/subagents/scout.md")).unwrap(), expected);
    // Without a description there is no preset.
    fs::remove_file(world.at("agent/subagents/scout.md")).unwrap();
    assert!(ask(&[Pick(0), Cancel]).is_none());
}
