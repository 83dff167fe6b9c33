//! What a prompt consists of.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::PathBuf;

use plan::{Surroundings, Trust};
use tempfile::TempDir;

use super::*;
use crate::tools::testing::for_prompt;

struct World {
    top: TempDir,
    surroundings: Surroundings,
    invocation: Invocation,
}

const READ: Tool = for_prompt("read", "Read files", &["Use read.", " Mind. ", ""]);
const BASH: Tool = for_prompt("bash", "Run commands", &["Mind."]);
const GREP: Tool = for_prompt("grep", "Search", &[]);
const HIDDEN: Tool = for_prompt("hidden", "", &[]);

impl World {
    fn new() -> World {
        let top = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(top.path()).unwrap();
        fs::create_dir_all(path.join("home/agent")).unwrap();
        fs::create_dir_all(path.join("repo/.git")).unwrap();
        fs::create_dir_all(path.join("repo/.pi")).unwrap();
        fs::create_dir_all(path.join("repo/sub")).unwrap();
        let surroundings = Surroundings {
            home: Some(path.join("home")),
            ..Surroundings::new(path.join("repo/sub"), path.join("home/agent"))
        };
        World { top, surroundings, invocation: Invocation::default() }
    }

    fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.top.path()).unwrap().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn skill(&self, directory: &str, name: &str) {
        let text = format!("---\nname: {name}\ndescription: About <{name}>.\n---\nDo it.\n");
        self.write(&format!("{directory}/SKILL.md"), text);
    }

    fn inputs(&self) -> PromptInputs<'_> {
        PromptInputs {
            surroundings: &self.surroundings,
            trust: Trust::Undecided,
            tools: &[READ, BASH],
            invocation: &self.invocation,
        }
    }

    /// The prompt of an agent with these arguments.
    fn prompt(&self, invocation: &Invocation) -> SystemPrompt {
        system_prompt(&PromptInputs { invocation, ..self.inputs() })
    }
}

fn names(prompt: &SystemPrompt) -> Vec<&str> {
    prompt.sections.keys().map(String::as_str).collect()
}

fn section<'a>(prompt: &'a SystemPrompt, name: &str) -> &'a str {
    prompt.sections.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn without_files_there_are_tools_rules_and_the_directory() {
    let world = World::new();
    let prompt = system_prompt(&world.inputs());
    assert_eq!(names(&prompt), ["preamble", "tools", "rules", "cwd"]);
    assert_eq!(
        section(&prompt, "tools"),
        "<tools>\n- read: Read files\n- bash: Run commands\n</tools>"
    );
    assert_eq!(
        section(&prompt, "rules"),
        "<rules>\n- Use bash to list, search and find files (ls, rg, find)\n- Use read.\n- Mind.\n\
         - Be brief in what you say\n- Name files by their paths\n</rules>"
    );
    let cwd = world.at("repo/sub");
    assert_eq!(section(&prompt, "cwd"), format!("<cwd>\n{}\n</cwd>", cwd.display()));
    let text = prompt.text();
    assert!(text.starts_with(PREAMBLE) && text.ends_with("</cwd>"), "{text}");
    assert!(text.contains("</tools>\n\n<rules>"), "{text}");
    assert_eq!(prompt.warnings, Vec::<String>::new());
    let prompt = system_prompt(&PromptInputs { tools: &[BASH, GREP, HIDDEN], ..world.inputs() });
    assert!(!section(&prompt, "rules").contains("Use bash to list"));
    assert!(!section(&prompt, "tools").contains("hidden"));
    let prompt = system_prompt(&PromptInputs { tools: &[], ..world.inputs() });
    assert_eq!(section(&prompt, "tools"), "<tools>\n(none)\n</tools>");
}

#[test]
fn a_prompt_of_ones_own_takes_the_place_of_ours() {
    let world = World::new();
    world.write("repo/sub/prompt.md", "\u{feff}From a file.");
    world.write("repo/sub/more.md", "More.");
    let long = "word ".repeat(10_000);
    let more = ["more.md".to_owned(), "And a text.".to_owned(), String::new()];
    for (given, expected) in [
        ("Just text.", "Just text."),
        ("prompt.md", "From a file."),
        (&long, &long),
        ("a\0b", "a\0b"),
    ] {
        let prompt = world.prompt(&Invocation {
            system_prompt: Some(given.to_owned()),
            append_system_prompt: more.to_vec(),
            ..Invocation::default()
        });
        assert_eq!(names(&prompt), ["preamble", "addendum", "cwd"]);
        assert_eq!(section(&prompt, "preamble"), expected);
        assert_eq!(section(&prompt, "addendum"), "<addendum>\nMore.\n\nAnd a text.\n</addendum>");
    }
    let given =
        |text: &str| Invocation { system_prompt: Some(text.to_owned()), ..Invocation::default() };
    let prompt = world.prompt(&given(""));
    assert_eq!(section(&prompt, "preamble"), PREAMBLE);
    // pi takes what it cannot read for the text itself.
    let prompt = world.prompt(&given("."));
    assert_eq!((section(&prompt, "preamble"), prompt.warnings.len()), (".", 1));
}

#[test]
fn the_users_files_count_and_the_projects_if_it_is_trusted() {
    let world = World::new();
    world.write("home/agent/SYSTEM.md", "User.");
    world.write("home/agent/APPEND_SYSTEM.md", "User's more.");
    world.write("repo/.pi/SYSTEM.md", "Project.");
    world.write("repo/.pi/APPEND_SYSTEM.md", "Project's more.");
    let texts = |inputs| {
        let prompt = system_prompt(&inputs);
        let addendum = section(&prompt, "addendum").replace("<addendum>\n", "");
        (section(&prompt, "preamble").to_owned(), addendum.replace("\n</addendum>", ""))
    };
    let expected = |left: &str, right: &str| (left.to_owned(), right.to_owned());
    assert_eq!(texts(world.inputs()), expected("User.", "User's more."));
    let trusted = PromptInputs { trust: Trust::Trusted, ..world.inputs() };
    assert_eq!(texts(trusted), expected("Project.", "Project's more."));
    let given = Invocation {
        system_prompt: Some("Mine.".to_owned()),
        append_system_prompt: vec!["Given.".to_owned()],
        ..Invocation::default()
    };
    let given = PromptInputs { invocation: &given, ..world.inputs() };
    assert_eq!(texts(given), expected("Mine.", "Given."));
}

#[test]
fn context_files_come_from_the_outside_in() {
    let world = World::new();
    world.write("home/agent/AGENTS.md", "user");
    world.write("AGENTS.md", "top");
    world.write("repo/CLAUDE.md", "claude");
    world.write("repo/sub/AGENTS.md", "plain");
    world.write("repo/sub/AGENTS.override.md", "override");
    let prompt = system_prompt(&world.inputs());
    let context = section(&prompt, "project_context");
    let block = |path: &str, text: &str| {
        let path = world.at(path);
        format!(
            "<project_instructions path=\"{}\">\n{text}\n</project_instructions>",
            path.display()
        )
    };
    let expected = [
        block("home/agent/AGENTS.md", "user"),
        block("AGENTS.md", "top"),
        block("repo/CLAUDE.md", "claude"),
        block("repo/sub/AGENTS.override.md", "override"),
    ]
    .join("\n\n");
    assert!(context.contains(&expected), "{context}");
    assert_eq!(names(&prompt), ["preamble", "tools", "rules", "project_context", "cwd"]);
    let none = world.prompt(&Invocation { no_context_files: true, ..Invocation::default() });
    assert_eq!(section(&none, "project_context"), "");
}

#[test]
fn a_file_of_another_user_in_a_shared_directory_is_not_told_to_the_model() {
    let world = World::new();
    world.write("AGENTS.md", "planted");
    world.write("repo/AGENTS.md", "ours");
    fs::set_permissions(world.at(""), fs::Permissions::from_mode(0o1777)).unwrap();
    // Only root can change the owner; for other users it stays their own file.
    let is_planted = lchown(world.at("AGENTS.md"), Some(12_345), None).is_ok();
    let prompt = system_prompt(&world.inputs());
    let context = section(&prompt, "project_context");
    assert_eq!(context.contains("planted"), !is_planted, "{context}");
    assert!(context.contains("ours"), "{context}");
}

#[test]
fn the_agent_directory_above_the_project_counts_once() {
    let mut world = World::new();
    world.write("home/agent/AGENTS.md", "user");
    world.surroundings.cwd = world.at("home/agent/work");
    fs::create_dir_all(&world.surroundings.cwd).unwrap();
    let prompt = system_prompt(&world.inputs());
    assert_eq!(section(&prompt, "project_context").matches("user\n").count(), 1);
}

#[test]
fn context_files_can_be_anything_and_do_no_harm() {
    let world = World::new();
    process::make_named_pipe(&world.at("repo/AGENTS.md")).unwrap();
    world.write("repo/CLAUDE.md", "after the pipe");
    world.write("repo/sub/AGENTS.override.md", [b'a', 0xff]);
    fs::create_dir_all(world.at("repo/sub/AGENTS.md")).unwrap();
    world.write("repo/sub/CLAUDE.md", "x".repeat(300 * 1024));
    let prompt = system_prompt(&world.inputs());
    let context = section(&prompt, "project_context");
    assert!(context.contains("after the pipe"));
    assert!(context.len() < 150 * 1024, "{}", context.len());
    assert!(context.contains("xxx\n[The file goes on here"));
    for problem in
        ["AGENTS.md: it cannot be read", "it is not UTF-8", "CLAUDE.md: the model gets only"]
    {
        assert!(prompt.warnings.iter().any(|warning| warning.contains(problem)), "{problem}");
    }
    assert_eq!(prompt.warnings.len(), 3, "{:?}", prompt.warnings);
}

#[test]
fn a_worktree_within_its_repository_has_only_its_own_file() {
    let mut world = World::new();
    world.write("repo/AGENTS.md", "of the repository");
    world.write("repo/.git/worktrees/w/commondir", "../..\n");
    world.write("repo/trees/AGENTS.md", "between");
    world.write("repo/trees/w/AGENTS.md", "of the worktree");
    let link = format!("gitdir: {}\n", world.at("repo/.git/worktrees/w").display());
    world.write("repo/trees/w/.git", link);
    world.surroundings.cwd = world.at("repo/trees/w");
    let prompt = system_prompt(&world.inputs());
    let context = section(&prompt, "project_context");
    assert!(!context.contains("of the repository"), "{context}");
    assert!(context.contains("between") && context.contains("of the worktree"), "{context}");
    // A worktree without a file of its own has that of the repository.
    fs::remove_file(world.at("repo/trees/w/AGENTS.md")).unwrap();
    assert!(section(&system_prompt(&world.inputs()), "project_context").contains("repository"));
}

#[test]
fn skills_are_offered_to_those_who_can_read_them() {
    let world = World::new();
    world.skill("home/agent/skills/mine", "mine");
    world.skill("repo/.pi/skills/theirs", "theirs");
    world.skill("repo/sub/extra/named", "named");
    let skills = vec![PathBuf::from("extra/named"), PathBuf::from("extra/missing")];
    let prompt = world.prompt(&Invocation { skills, ..Invocation::default() });
    let skills = section(&prompt, "skills");
    let mine = format!(
        "<available_skills>\n  <skill>\n    <name>mine</name>\n    <description>About \
         &lt;mine&gt;.</description>\n    <location>{}</location>\n  </skill>\n",
        world.at("home/agent/skills/mine/SKILL.md").display()
    );
    assert!(skills.contains(&mine) && skills.contains("with read first"), "{skills}");
    assert!(skills.contains("<name>named</name>") && !skills.contains("theirs"), "{skills}");
    assert!(prompt.warnings.iter().any(|warning| warning.contains("no such skill")));
    assert!(prompt.warnings.iter().any(|warning| warning.contains("not trusted")));
    let trusted = PromptInputs { trust: Trust::Approved, ..world.inputs() };
    assert!(section(&system_prompt(&trusted), "skills").contains("theirs"));
    let skills = vec![PathBuf::from("extra/named")];
    let only = world.prompt(&Invocation { no_skills: true, skills, ..Invocation::default() });
    assert!(!section(&only, "skills").contains("mine") && only.warnings.is_empty());
    let bash = PromptInputs { tools: &[BASH], ..world.inputs() };
    assert!(section(&system_prompt(&bash), "skills").contains("with bash first"));
    let neither = PromptInputs { tools: &[GREP], ..world.inputs() };
    assert_eq!(section(&system_prompt(&neither), "skills"), "");
    let none = world.prompt(&Invocation { no_skills: true, ..Invocation::default() });
    assert_eq!(section(&none, "skills"), "");
}
