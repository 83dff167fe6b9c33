//! The examples in the documents, run as they are written there.
//!
//! Every block of `sh` in `README.md` and `docs/` is run, in the order of its document, in a project
//! with a `pi` that answers everything. Blocks of `markdown` are profiles or presets, and blocks of `json` are the files or the
//! arguments that the word behind `json` names. The other blocks need what tests do not have, or nothing prints them: the word
//! behind their kind is one of those in `documents/classes.rs`. Of blocks of `console`, every command must still be one that the program understands.

mod classes;
mod samples;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use test_support::{Ran, World, write_file, write_program};
use tools::{
    BackgroundArguments, ControlArguments, DelegateArguments, MOST_TASKS, NoArguments,
    SessionArguments, StatusArguments, SubagentArguments,
};

/// The id of the session in all examples.
const SESSION: &str = "0123456789abcdef";

#[test]
fn every_example_works() {
    let documents = documents();
    assert!(documents.len() > 8, "{documents:?}");
    let mut run = 0;
    for document in documents {
        run += Examples::new(&document).run_all();
    }
    assert!(run > 12, "only {run} blocks were run");
}

/// The pages that a new user reads first. Only git, `jq` and a provider of models are there, and what earlier examples of
/// the same page have made.
#[test]
fn the_first_pages_work_on_a_fresh_machine_in_their_order() {
    for (document, questions) in [("README.md", 13), ("docs/learn/getting-started.md", 7)] {
        let examples = Examples::fresh(&root().join(document));
        let text = fs::read_to_string(&examples.document).unwrap();
        let mut script = String::new();
        for block in blocks(&text) {
            match (block.kind.as_str(), block.name.as_str()) {
                ("sh", _) => script += &block.text.replace("_API_KEY=…", "_API_KEY=key"),
                // As the words before it say.
                ("json", name @ ("tasks.json" | "turns.json")) => {
                    script += &format!("cat > {name} <<'END'\n{}END\n", block.text);
                }
                ("console" | "text" | "", _) => {}
                (kind, name) => panic!("{document}: a block of {kind} {name:?}?"),
            }
        }
        // One shell for all of them, because they set variables for each other.
        let llm = FakeLlm::start_with(&json!([{"text": "done"}])).unwrap();
        let base_url = llm.base_url().trim_end_matches("/v1").to_owned();
        let ran = examples.shell(&format!("export ANTHROPIC_BASE_URL={base_url}\n{script}"));
        // The scripts of the demo ask no model.
        assert_eq!(llm.requests().len(), questions, "{document}: {ran:?}");
        examples.world.wait_until_nothing_is_left();
    }
}

/// Five agents, of which two change the same lines, with what the page about worktrees says and nothing else.
#[test]
fn the_page_about_worktrees_is_enough_for_five_agents_of_which_two_conflict() {
    let examples = Examples::fresh(&root().join("docs/learn/five-agents.md"));
    let world = &examples.world;
    let work = "#!/bin/sh\nset -e\ncase $1 in\n\
        *README.md*) echo '# Parse' > README.md ;;\n\
        *LICENSE*) echo MIT > LICENSE ;;\n\
        *CHANGELOG*) echo '# Changes' > CHANGELOG.md ;;\n\
        *faster*) sed -i 's/slow and dark/fast/' src/parse.rs ;;\n\
        *easier*) sed -i 's/slow and dark/clear/' src/parse.rs ;;\n\
        *) exit 1 ;;\nesac\n";
    write_program(&world.path("bin/work"), work);
    let call = json!({"name": "bash", "args": {"command": "work '{{prompt}}'"}});
    let turns = json!([{"tools": [call]}, {"text": "Done."}]);
    write_file(&world.path("turns.json"), &turns.to_string());
    let settings = json!({"defaultProvider": "script", "defaultModel": world.path("turns.json")});
    write_file(&world.agent_dir().join("settings.json"), &settings.to_string());
    write_file(&world.path("home/.gitconfig"), "[user]\nname = Me\nemail = me@localhost\n");
    write_file(&world.project().join("src/parse.rs"), "// slow and dark\n");
    examples.commit_everything();
    let text = fs::read_to_string(&examples.document).unwrap();
    let blocks = blocks(&text);
    let script: String =
        blocks.iter().filter(|it| it.kind == "sh").map(|it| it.text.as_str()).collect();
    let ran = examples.run(&script);
    let told = blocks.iter().find(|it| it.text.starts_with("The changes of ")).unwrap();
    assert!(ran.stderr.contains(told.text.trim_end()), "{ran:?}");
    assert_eq!(ran.stderr.matches("conflict in").count(), 1, "{ran:?}");
    let git = |arguments: &str| examples.shell(&format!("git {arguments}")).stdout;
    assert_eq!(git("log --format='%s %an' -4"), "faster Me\nchangelog Me\nlicense Me\nreadme Me\n");
    assert_eq!(git("status --porcelain"), "?? tasks.json\n");
    assert_eq!(git("show HEAD:src/parse.rs"), "// fast\n");
    assert_eq!(
        git("show HEAD:LICENSE HEAD:README.md HEAD:CHANGELOG.md"),
        "MIT\n# Parse\n# Changes\n"
    );
    let list = examples.shell("pi-subagents changes list").stdout;
    let states = |word: &str| list.matches(word).count();
    assert_eq!((states("merged"), states("discarded")), (4, 1), "{list}");
    world.wait_until_nothing_is_left();
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `README.md` and all pages below `docs`.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![root().join("README.md")];
    let mut directories = vec![root().join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// A block of code.
struct Block {
    kind: String,
    name: String,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    // A block can belong to an item of a list; then all of it is indented as its first line is.
    let mut indent = 0;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence && open.is_none() {
            indent = line.len() - line.trim_start().len();
        }
        let blank = line.len() - line.trim_start().len();
        let line = &line[indent.min(blank)..];
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                let (kind, name) = info.split_once(' ').unwrap_or((info, ""));
                let (kind, name) = (kind.to_owned(), name.to_owned());
                open = Some(Block { kind, name, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

/// The world in which the examples of a document run.
struct Examples {
    world: World,
    document: PathBuf,
    session: String,
    /// The models of Anthropic, where there are keys.
    llm: Option<FakeLlm>,
}

impl Examples {
    /// A world with nothing but the program, in a project that was just cloned.
    fn fresh(document: &Path) -> Examples {
        let world = crate::world();
        let bin = world.path("bin");
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_pi-subagents"), bin.join("pi-subagents")).unwrap();
        // The examples must not build or install the program.
        let cargo = "#!/bin/sh\n[ \"$1 $2 $3\" = \"run --release --\" ] || exit 0\nshift 3\nexec pi-subagents \"$@\"\n";
        for (name, text) in [("cargo", cargo), ("jq", "#!/bin/sh\ncat\n")] {
            write_program(&bin.join(name), text);
        }
        write_file(&world.project().join("README.md"), "# A project\n");
        let (document, session) = (document.to_owned(), String::new());
        let examples = Examples { world, document, session, llm: None };
        examples.commit_everything();
        examples
    }

    /// The same with agents, keys, files and an earlier session, as the documents assume them.
    fn new(document: &Path) -> Examples {
        let examples = Examples::fresh(document);
        let Examples { world, .. } = &examples;
        let agent = "#!/bin/sh\nexec \"$FAKE_AGENT\" '[\"start\", {\"say\": \"done\"}, {\"end\": false}, \"settle\"]' \"$@\"\n";
        write_program(&world.path("bin/pi"), agent);
        for (name, text) in [
            ("project/src/parser.rs", "fn parse() {}\n"),
            ("project/src/main.rs", "fn main() {}\n"),
            ("project/CHANGELOG.md", "# Changelog\n"),
            ("home/.gitconfig", "[user]\nname = a\nemail = b@c\n"),
            ("project/tasks.json", r#"{"tasks": [{"name": "a", "prompt": "b"}]}"#),
            ("home/.pi/agent/agent-profiles/researcher.md", "---\nname: researcher\n---\n"),
            (
                "home/.claude/agents/code-reviewer.md",
                "---\nname: code-reviewer\ndescription: Reviews.\n---\nReview.\n",
            ),
            ("home/.pi/agent/agent-profiles/writer.md", "---\nname: writer\n---\n"),
            (
                "home/.pi/agent/subagents/scout.md",
                "---\nname: scout\ndescription: Looks around.\nmodel: a/one\n---\n",
            ),
        ] {
            write_file(&world.path(name), text);
        }
        let makes_it = fs::read_to_string(document).unwrap().contains("profile create reviewer");
        if !makes_it {
            let profile = "---\nname: reviewer\n---\n";
            fs::write(world.path("home/.pi/agent/agent-profiles/reviewer.md"), profile).unwrap();
        }
        examples.commit_everything();
        fs::write(examples.world.project().join("src/main.rs"), "fn main() {} // changed\n")
            .unwrap();
        let first = examples.shell("pi-subagents run --json --name review first").json();
        let session = first["tasks"][0]["sessionId"].as_str().unwrap().to_owned();
        let llm = FakeLlm::start_with(&json!([{"text": "done"}])).unwrap();
        Examples { session, llm: Some(llm), ..examples }
    }

    fn commit_everything(&self) {
        // What is there marks a project, and is no repository.
        let _ = fs::remove_dir(self.world.project().join(".git"));
        self.shell(
            "git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm next",
        );
    }

    /// Runs everything, and returns how many blocks were commands.
    fn run_all(&self) -> usize {
        let text = fs::read_to_string(&self.document).unwrap();
        let mut count = 0;
        for block in blocks(&text) {
            let text = block.text.replace(SESSION, &self.session);
            match block.kind.as_str() {
                "sh" => {
                    self.shell(&text);
                    count += 1;
                }
                "json" => self.json(&block.name, &text),
                "markdown" => self.definition(&text),
                _ => self.classified(&block),
            }
        }
        self.world.wait_until_nothing_is_left();
        count
    }

    /// Runs the lines, which must succeed without a warning.
    fn shell(&self, script: &str) -> Ran {
        let ran = self.run(script);
        assert!(
            !ran.stderr.contains("warning:"),
            "{}:\n{script}\n{ran:?}",
            self.document.display()
        );
        ran
    }

    /// Runs the lines, which must succeed.
    fn run(&self, script: &str) -> Ran {
        let command = self.world.command::<&str>([]);
        let mut shell = World::behind(&["/bin/sh", "-euc", script, "sh"], &command);
        let path = format!("{}:/usr/bin:/bin", self.world.path("bin").display());
        shell.env("PATH", path).env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"));
        // A browser that shows nothing.
        shell.env("BROWSER", "true");
        if let Some(llm) = &self.llm {
            shell.env("ANTHROPIC_BASE_URL", llm.base_url().trim_end_matches("/v1"));
            for key in ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"] {
                shell.env(key, "key");
            }
        }
        let ran = Ran::from(shell.stdin(Stdio::null()).output().unwrap());
        assert_eq!(ran.code, Some(0), "{}:\n{script}\n{ran:?}", self.document.display());
        ran
    }

    fn json(&self, name: &str, text: &str) {
        let value: Value = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{}: {error}: {text}", self.document.display()));
        let most = Some(MOST_TASKS);
        let read = match name {
            "tasks.json" | "" => {
                fs::write(self.world.project().join("tasks.json"), text).map_err(|e| e.to_string())
            }
            "settings.json" | "subagents.json" | "models.json" => {
                fs::write(self.world.agent_dir().join(name), text).unwrap();
                self.shell("pi-subagents run hello");
                Ok(())
            }
            "delegate_to_subagents" => {
                DelegateArguments::parse(&value, most).map(drop).map_err(|e| e.to_string())
            }
            "subagent" => {
                SubagentArguments::parse(&value, most).map(drop).map_err(|e| e.to_string())
            }
            "get_subagent_output" => {
                SessionArguments::parse(&value).map(drop).map_err(|e| e.to_string())
            }
            "list_subagent_profiles" => {
                NoArguments::parse(&value).map(drop).map_err(|e| e.to_string())
            }
            "background_agent" => {
                BackgroundArguments::parse(&value).map(drop).map_err(|e| e.to_string())
            }
            "background_agent_status" => {
                StatusArguments::parse(&value).map(drop).map_err(|e| e.to_string())
            }
            "background_agent_control" => {
                ControlArguments::parse(&value).map(drop).map_err(|e| e.to_string())
            }
            "turns.json" => {
                fs::write(self.world.project().join(name), text).unwrap();
                self.shell("pi-subagents run --agent builtin --model script/turns.json hello");
                Ok(())
            }
            name => Err(format!("a file {name:?}?")),
        };
        assert_eq!(read, Ok(()), "{}: {text}", self.document.display());
    }

    /// A profile, or, with a description, a preset.
    fn definition(&self, text: &str) {
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        let is_preset = text.contains("\ndescription: ");
        let (directory, option) =
            if is_preset { ("subagents", "--preset") } else { ("agent-profiles", "--profile") };
        let directory = self.world.agent_dir().join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{name}.md")), text).unwrap();
        self.shell(&format!("pi-subagents run {option} {name} hello"));
    }
}

#[test]
fn a_block_in_a_list_is_seen_without_its_indentation() {
    let found = blocks("- x\n   ```console server\n   $ a\n     b\n   ```\n```sh\nc\n```\n");
    let found: Vec<(&str, &str)> = found.iter().map(|block| (&*block.kind, &*block.text)).collect();
    assert_eq!(found, [("console", "$ a\n  b\n"), ("sh", "c\n")]);
}

#[test]
fn no_document_links_to_what_is_not_there() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if target.starts_with("http") {
                continue;
            }
            let path = if file.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(file)
            };
            let linked = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {target}: {error}", document.display()));
            let titles = linked.lines().filter_map(|line| line.strip_prefix('#'));
            let mut anchors = titles.map(|title| {
                let title = title.trim_start_matches('#').trim().to_lowercase();
                let kept =
                    title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.collect::<String>().replace(' ', "-")
            });
            assert!(
                anchor.is_empty() || anchors.any(|known| known == anchor),
                "{}: there is no {target}",
                document.display()
            );
        }
    }
}

/// The index of the documents leads to every page, and a page can be read at one go.
#[test]
fn every_page_is_in_the_index_and_has_at_most_300_lines() {
    let docs = root().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).unwrap();
    for page in documents() {
        let text = fs::read_to_string(&page).unwrap();
        let lines = text.lines().count();
        assert!(lines <= 300, "{} has {lines} lines: split it", page.display());
        let Ok(name) = page.strip_prefix(&docs) else { continue };
        let is_listed = index.contains(&format!("]({})", name.display()));
        assert!(is_listed || name == Path::new("README.md"), "{} is not listed", name.display());
    }
}

#[test]
fn an_example_that_fails_is_noticed() {
    let blocks = blocks("x\n```sh\nfalse\n```\n```json a.json\n{}\n```\n");
    let kinds: Vec<(&str, &str, &str)> =
        blocks.iter().map(|block| (&*block.kind, &*block.name, &*block.text)).collect();
    assert_eq!(kinds, [("sh", "", "false\n"), ("json", "a.json", "{}\n")]);
    assert_eq!(json!({}), serde_json::from_str::<Value>(&blocks[1].text).unwrap());
}
