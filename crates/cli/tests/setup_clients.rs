//! `setup claude` and the like: what they print, their exit codes, and the files that they change.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use test_support::{Ran, World, write_file, write_program};

use crate::world;

const PROGRAM: &str = env!("CARGO_BIN_EXE_pi-subagents");

/// A client, its file in the home directory, and that in a project.
const CLIENTS: &[(&str, &str, &str)] = &[
    ("claude", ".claude.json", ".mcp.json"),
    ("codex", ".codex/config.toml", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json", ".vscode/mcp.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("opencode", ".config/opencode/opencode.json", "opencode.json"),
];

fn user_file(world: &World, client: &str) -> PathBuf {
    let (_, file, _) = CLIENTS.iter().find(|(name, _, _)| *name == client).unwrap();
    world.home().join(file)
}

fn write(world: &World, client: &str, text: &str) -> PathBuf {
    let path = user_file(world, client);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[track_caller]
fn setup(world: &World, arguments: &[&str]) -> Ran {
    let ran = world.run(&[&["setup"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

#[test]
fn every_client_is_set_up_and_what_was_done_is_undone() {
    for (client, user_file, project_file) in CLIENTS {
        let world = world();
        for (scope, path) in [
            (&[][..], world.home().join(user_file)),
            (&["--scope", "project"], world.project().join(project_file)),
        ] {
            let run = |more: &[&str]| setup(&world, &[&[*client], scope, more].concat());
            let shown = path.display().to_string();
            let planned = run(&["--dry-run"]);
            assert!(planned.stdout.starts_with(&format!("Would create {shown}")), "{planned:?}");
            assert!(planned.stderr.contains(PROGRAM) && !path.exists(), "{planned:?}");
            let created = run(&[]);
            assert!(created.stdout.starts_with(&format!("Created {shown}")), "{created:?}");
            assert!(created.stderr.contains("--remove` undoes this"), "{created:?}");
            assert!(fs::read_to_string(&path).unwrap().contains(PROGRAM));
            let again = run(&[]);
            assert_eq!(again.stdout, format!("Already up to date: pi-subagents in {shown}\n"));
            let removed = run(&["--remove"]);
            assert!(removed.stdout.starts_with(&format!("Deleted {shown}")), "{removed:?}");
            assert!(!path.exists());
            let again = run(&["--remove"]);
            assert!(again.stdout.starts_with("Nothing to remove: there is no "), "{again:?}");
        }
    }
}

#[test]
fn what_a_client_demands_of_its_user_is_said_once() {
    for (client, words) in [
        ("codex", "`default_tools_approval_mode = \"approve\"`"),
        ("gemini", "only in folders that you trust"),
    ] {
        let world = world();
        let (planned, created) = (setup(&world, &[client, "--dry-run"]), setup(&world, &[client]));
        assert!(created.stderr.contains(words), "{created:?}");
        for silent in [planned, setup(&world, &[client]), setup(&world, &[client, "--remove"])] {
            assert!(!silent.stderr.contains(words), "{silent:?}");
        }
    }
}

#[test]
fn codex_is_given_the_names_of_keys_and_no_key() {
    let world = world();
    let mut command = world.command(["setup", "codex"]);
    let ran = Ran::from(command.env("GROQ_API_KEY", "planted-0123456789").output().unwrap());
    let written = fs::read_to_string(user_file(&world, "codex")).unwrap();
    let names = written.lines().find(|line| line.starts_with("env_vars = ")).unwrap();
    for name in ["GROQ_API_KEY", "OPENAI_API_KEY", "PI_AGENT_DIR", "PI_SUBAGENTS_CHILD"] {
        assert!(names.contains(&format!("\"{name}\"")), "{names}");
    }
    assert!(!format!("{ran:?}{written}").contains("planted"), "{ran:?}");
}

#[test]
fn the_program_of_another_project_on_the_path_is_noticed() {
    let world = world();
    let package = world.path("other/node_modules/pi-subagents");
    let manifest = json!({
        "name": "pi-subagents", "version": "0.67.0", "bin": {"pi-subagents": "install.mjs"},
    });
    write_file(&package.join("package.json"), &manifest.to_string());
    let ran = world.path("ran");
    let script = format!("#!/bin/sh\ntouch {}\n", ran.display());
    write_program(&package.join("install.mjs"), &script);
    let bin = world.path("other/bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(package.join("install.mjs"), bin.join("pi-subagents")).unwrap();
    let words = format!(
        "warning: pi-subagents on your PATH is the program of another project: {}/pi-subagents (npm package \
         pi-subagents 0.67.0); start this program as {PROGRAM}\n",
        bin.display()
    );
    for arguments in [&["pi"][..], &["cursor"], &["cursor", "--scope", "project"]] {
        let mut command = world.command([&["setup"], arguments].concat());
        let done = Ran::from(command.env("PATH", &bin).output().unwrap());
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.stderr.contains(&words), "{done:?}");
    }
    // The name would start the other program.
    let project = fs::read_to_string(world.project().join(".cursor/mcp.json")).unwrap();
    assert!(project.contains(PROGRAM), "{project}");
    assert!(!ran.exists(), "the other program was run");
}

#[test]
fn what_is_written_starts_a_server() {
    let world = world();
    setup(&world, &["cursor"]);
    let text = fs::read_to_string(user_file(&world, "cursor")).unwrap();
    let entry = &serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["pi-subagents"];
    let mut words = vec![entry["command"].as_str().unwrap()];
    words.extend(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    let line = format!("exec '{}'", words.join("' '"));
    let mut server = World::behind(&["/bin/sh", "-c", &line], &world.command::<&str>([]));
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    // A client reads until it has the response.
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{initialize}").unwrap();
    let mut answer = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    drop(input);
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "pi-subagents", "{answer}");
}

#[test]
fn a_document_says_what_was_done() {
    let world = world();
    let path =
        write(&world, "cursor", "{\"mcpServers\": {\"a\": {\"env\": {\"KEY\": \"SECRET\"}}}}");
    let backup = format!("{}.pi-subagents-backup", path.display());
    let document = |arguments: &[&str]| -> Value {
        let ran = setup(&world, &[&["cursor", "--json"], arguments].concat());
        assert!(!ran.stdout.contains("SECRET") && ran.stderr.is_empty(), "{ran:?}");
        let mut document = ran.json();
        let diff = document["diff"].as_str().unwrap();
        document["diff"] = json!(diff.lines().filter(|line| line.contains(PROGRAM)).count());
        document
    };
    let expected = |change: &str, program: Value, backup: Value, dry_run: bool, lines: usize| {
        json!({
            "client": "cursor", "scope": "user", "path": path, "change": change,
            "program": program, "backup": backup, "dryRun": dry_run, "diff": lines,
        })
    };
    let program = || json!(PROGRAM);
    let planned = expected("added", program(), json!(backup), true, 1);
    assert_eq!(document(&["--dry-run"]), planned);
    assert_eq!(document(&[]), expected("added", program(), json!(backup), false, 1));
    assert_eq!(document(&[]), expected("unchanged", program(), json!(backup), false, 0));
    let nothing = || Value::Null;
    assert_eq!(document(&["--remove"]), expected("restored", nothing(), nothing(), false, 1));
    assert_eq!(document(&["--remove"]), expected("nothing", nothing(), nothing(), false, 0));
}

#[test]
fn what_else_was_changed_since_stays() {
    let world = world();
    let path = write(&world, "gemini", "{\n  \"ui\": 1\n}\n");
    let ran = setup(&world, &["gemini"]);
    let kept = format!("backed up the file to {}.pi-subagents-backup", path.display());
    assert!(ran.stderr.contains(&kept), "{ran:?}");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("1", "2")).unwrap();
    let ran = setup(&world, &["gemini", "--remove"]);
    assert!(ran.stdout.contains("; later changes to the file stay\n"), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"ui\": 2\n}\n");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn variables_of_the_clients_are_honoured() {
    let world = world();
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ] {
        let directory = world.path(variable);
        let mut command = world.command(["setup", client]);
        let ran = Ran::from(command.env(variable, &directory).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(directory.join(file).is_file() && !user_file(&world, client).exists());
    }
}

#[test]
fn a_project_gets_the_name_where_the_name_leads_here() {
    let world = world();
    let path = world.project().join(".vscode/mcp.json");
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let run = || -> Ran {
        let mut command = world.command(["setup", "vscode", "--scope", "project"]);
        // From anywhere in the project.
        fs::create_dir_all(world.project().join("src/deep")).unwrap();
        command.current_dir(world.project().join("src/deep")).env("PATH", &bin);
        command.output().unwrap().into()
    };
    let program = || -> Value {
        let text = fs::read_to_string(&path).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["servers"]["pi-subagents"]["command"].clone()
    };
    // Another one of the name is not this one.
    fs::write(bin.join("pi-subagents"), "").unwrap();
    let ran = run();
    assert!(
        ran.code == Some(0) && ran.stderr.contains("a path that others may not have"),
        "{ran:?}"
    );
    assert_eq!(program(), PROGRAM);
    fs::remove_file(bin.join("pi-subagents")).unwrap();
    symlink(PROGRAM, bin.join("pi-subagents")).unwrap();
    let ran = run();
    assert!(ran.code == Some(0) && !ran.stderr.contains("warning"), "{ran:?}");
    assert_eq!(program(), "pi-subagents");
    // An entry that another developer has committed stays, even if it does not work here.
    fs::remove_file(bin.join("pi-subagents")).unwrap();
    let ran = run();
    assert!(ran.stdout.starts_with("Already up to date"), "{ran:?}");
    assert!(ran.stderr.contains("warning: "), "{ran:?}");
    assert_eq!(program(), "pi-subagents");
}

#[test]
fn what_is_refused_is_named_with_what_to_do() {
    let world = world();
    let refused = |client: &str, text: &str, expected: &[&str]| {
        let path = write(&world, client, text);
        for arguments in [&[][..], &["--dry-run"], &["--remove"]] {
            let ran = world.run(&[&["setup", client], arguments].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
            for words in expected {
                assert!(ran.stderr.contains(words), "{words}: {ran:?}");
            }
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    };
    let entry = format!("      \"command\": \"{PROGRAM}\",\n");
    refused(
        "cursor",
        "{\n  \"mcpServers\": [\n}",
        &["mcp.json, line 3: unexpected close brace", "nothing was changed", &entry],
    );
    refused(
        "codex",
        "[a]\nb = 1\nb = 2\n",
        &["config.toml, line 3: duplicate key", "[mcp_servers.pi-subagents]\ncommand = "],
    );
    refused(
        "gemini",
        "{\"mcpServers\": {\"pi-subagents\": {\"command\": \"npx\"}}}",
        &["line 1: another server is called pi-subagents", "rename or remove it"],
    );

    let ran = {
        let mut command = world.command(["setup", "claude", "--scope", "project"]);
        Ran::from(command.current_dir(world.home()).output().unwrap())
    };
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("is the home directory, and no project"), "{ran:?}");
    assert!(ran.stderr.contains("leave out `--scope project`"), "{ran:?}");
    let ran = world.run(&["setup", "claude", "--scope", "machine"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("user, project"), "{ran:?}");
}

#[test]
fn nothing_that_is_shown_can_move_the_cursor() {
    let world = world();
    let text = format!(
        "{{\"mcpServers\": {{\"pi-subagents\": {{\n// \u{1b}]0;title\u{7}\u{1b}[2Jshown\n\
         \"command\": \"{PROGRAM}\", \"args\": [\"mcp\"]}}}}}}"
    );
    write(&world, "cursor", &text);
    let ran = setup(&world, &["cursor", "--remove"]);
    assert!(ran.stderr.contains("-// shown\n") && !ran.stderr.contains('\u{1b}'), "{ran:?}");
}
