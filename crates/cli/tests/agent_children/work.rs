//! Tasks that succeed: what is told of them, and where.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::Ran;

use crate::{BOTH, Claude, Codex, KEY, Scene, outcome, story};

#[test]
fn calls_thoughts_usage_and_cost_are_told() {
    for agent in BOTH {
        let usage = json!({"input": 1000, "output": 70, "cached": 300, "thinking": 20});
        let scene = Scene::new(
            agent,
            &json!([
                {"thinking": "Both at once.", "text": "I look.",
                 "tools": [agent.bash("echo one"), agent.bash("echo two")], "usage": usage},
                {"text": "{{result:0}}{{result:1}}", "usage": {"input": 2000, "output": 10}},
            ]),
        );
        let ran = scene.run(&[]);
        assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:#?}");
        let task = ran.task();
        let said = task["output"].as_str().unwrap();
        assert!(said.contains("one") && said.contains("two"), "{said}");
        let story = story(&ran);
        let of = |kind: &str| story.iter().filter(|event| event.starts_with(kind)).count();
        assert_eq!(
            (of("call bash {\"command\":\"echo "), of("bash finished")),
            (2, 2),
            "{story:#?}"
        );
        assert_eq!(of("assistant "), 2, "{story:#?}");
        let first = &story[1];
        assert!(first.starts_with("assistant ") && first.ends_with("\"I look.\""), "{story:#?}");
        let used = |field: &str| task["usage"][field].as_u64().unwrap();
        let figures = ["input", "cacheRead", "output", "totalTokens"].map(used);
        assert_eq!(figures, [700 + 2000, 300, 80, 3080], "{task:#}");
        let cost = &task["usage"]["cost"];
        match agent {
            Claude => assert!(cost["total"].as_f64().unwrap() > 0.0, "{task:#}"),
            Codex => assert_eq!(*cost, Value::Null, "{task:#}"),
        }
        // Codex does not say which model has answered.
        let model = if agent == Claude { json!(agent.model()) } else { Value::Null };
        assert_eq!(task["model"], model, "{task:#}");
    }
}

#[test]
fn a_resumed_session_knows_what_was_said() {
    for agent in BOTH {
        let scene = Scene::new(agent, &json!([{"text": "The answer is 42."}]));
        let task = scene.complete(&["--name", "first"]);
        let resumed = scene.complete(&["--resume", "first"]);
        assert_eq!(task["sessionId"], resumed["sessionId"]);
        let asked = scene.asked();
        assert_eq!(asked.len(), 2);
        assert!(!asked[0].to_string().contains("The answer is 42."));
        assert!(asked[1].to_string().contains("The answer is 42."), "{:#}", asked[1]);
    }
}

#[test]
fn what_an_agent_does_in_a_worktree_is_kept_and_merged() {
    for agent in BOTH {
        let work = "pwd && echo made > made.txt && rm old.txt";
        let scene = Scene::new(agent, &json!([agent.running(work), {"text": "{{result:0}}"}]));
        let project = scene.world.project();
        let in_project = |command: &str| {
            let output = scene.world.command_of("sh").args(["-c", command]).output().unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        in_project(
            "rm -rf .git && git init -q -b main && git config user.name A && git config user.email a && \
             echo old > old.txt && echo .pi/ > .gitignore && git add . && git commit -qm First",
        );
        let task = scene.complete(&["--worktree", "--name", "t"]);
        let id = task["runId"].as_str().unwrap();
        let tree = scene.world.home().join(".local/state/pi-subagents/worktrees").join(id);
        assert!(task["output"].as_str().unwrap().contains(tree.to_str().unwrap()), "{task:#}");
        assert_eq!(task["changes"]["files"], 2, "{agent:?}: {task:#}");
        assert_eq!((task["changes"].get("directory"), tree.exists()), (None, false), "{task:#}");
        let is_changed = || project.join("made.txt").exists() || !project.join("old.txt").exists();
        assert!(!is_changed(), "{agent:?}");
        let merged = scene.world.run(&["changes", "merge", "t"]);
        assert_eq!(merged.code, Some(0), "{merged:#?}");
        assert!(is_changed());
        assert_eq!(in_project("git log --format=%s && git status --short"), "t\nFirst\n");
    }
}

#[test]
fn a_task_in_the_background_outlives_its_caller() {
    for agent in BOTH {
        let wait = "touch started; until [ -e go ]; do sleep 0.02; done; echo found";
        let scene = Scene::new(agent, &json!([agent.running(wait), {"text": "{{result:0}}"}]));
        let start = ["bg", "start", "--access", "full", "--agent", agent.name(), "do it"];
        let started = Ran::from(scene.command(&start).output().unwrap());
        assert_eq!(started.code, Some(0), "{started:#?}");
        test_support::wait_until(|| scene.world.project().join("started").exists());
        fs::write(scene.world.project().join("go"), "").unwrap();
        let ran = Ran::from(scene.command(&["bg", "wait", "@last"]).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(ran.stdout.contains("found"), "{ran:#?}");
        scene.world.wait_until_nothing_is_left();
    }
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn the_users_own_history_stays_empty() {
    const SAID: &str = "a word that stands nowhere else";
    for agent in BOTH {
        for access in ["full", "workspace", "read"] {
            if access != "full" && process::landlock_version().is_err() {
                continue;
            }
            let scene = Scene::new(agent, &json!([{"text": SAID}]));
            let mut command = scene.command(&[
                "run",
                "--json",
                "--agent",
                agent.name(),
                "--access",
                access,
                SAID,
            ]);
            let ran = Ran::from(command.output().unwrap());
            assert_eq!(outcome(&ran).0, "completed", "{ran:#?}");
            scene.world.wait_until_nothing_is_left();
            for path in files(&scene.world.home()) {
                let bytes = fs::read(&path).unwrap_or_default();
                let has_it = bytes.windows(SAID.len()).any(|window| window == SAID.as_bytes());
                assert!(!has_it, "{agent:?}, {access}: {}", path.display());
            }
        }
    }
}

#[test]
fn a_key_that_the_agent_prints_is_hidden() {
    const SECRET: &str = "sk-ant-a-secret-of-the-profile";
    for agent in BOTH {
        let variable = match agent {
            Claude => "ANTHROPIC_API_KEY",
            Codex => "CODEX_API_KEY",
        };
        let print = format!("echo \"it is ${variable}\"");
        let scene = Scene::new(agent, &json!([agent.running(&print), {"text": "{{result:0}}"}]));
        scene.worker(&format!("apiKey: {SECRET}\naccess: full"), "");
        if agent == Codex {
            // Its own provider takes the key.
            let text =
                format!("model = \"gpt-5\"\nopenai_base_url = \"{}\"\n", scene.llm.base_url());
            fs::write(agent.state(&scene.world).join("config.toml"), text).unwrap();
        }
        let task = scene.complete(&["--profile", "worker"]);
        let keys: Vec<String> = scene
            .requests()
            .iter()
            .map(|request| {
                let bearer = request.header("authorization").map(|it| it.replace("Bearer ", ""));
                request.header("x-api-key").map(str::to_owned).or(bearer).unwrap_or_default()
            })
            .collect();
        assert_eq!(keys, [SECRET, SECRET], "{task:#}");
        assert!(!keys.contains(&KEY.to_owned()));
        let said = task["output"].as_str().unwrap();
        assert!(said.contains("it is ") && !said.contains(SECRET), "{said}");
        for path in files(Path::new(task["runDir"].as_str().unwrap())) {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(SECRET), "{}", path.display());
        }
    }
}
