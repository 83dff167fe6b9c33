use super::super::facts::{
    ChosenFacts, LimitFacts, OtherAgentFacts, ProcessFacts, RunFacts, SettingsFileFacts,
    StoreFacts, TemporaryStoreFacts, UnknownSetting,
};
use super::*;

/// The findings that are not fine, with the first remedy of each.
fn complaints(findings: &[Finding]) -> Vec<(char, &str, &str)> {
    findings
        .iter()
        .filter(|finding| finding.level != Level::Fine)
        .map(|finding| {
            let remedy = finding.remedies.first().map_or("", String::as_str);
            (finding.level.mark(), finding.text.as_str(), remedy)
        })
        .collect()
}

fn chosen(kind: model::AgentKind, path: Option<&str>) -> Option<ChosenFacts> {
    Some(ChosenFacts {
        kind,
        reason: "because",
        program: Some("my-agent".to_owned()),
        path: path.map(str::to_owned),
    })
}

#[test]
fn an_agent_that_cannot_be_started_is_a_problem_only_if_it_is_needed() {
    use model::AgentKind::{Builtin, Pi, Program};
    let silent = || {
        let problem = Some("it took longer than 5 seconds".to_owned());
        Some(ProgramFacts { path: "/bin/pi".to_owned(), version: None, problem })
    };
    for (pi, chosen, expected) in [
        (None, chosen(Builtin, None), None),
        (None, chosen(Pi, None), Some(('✗', "tasks would use pi, which is not installed"))),
        (silent(), chosen(Pi, Some("/bin/pi")), Some(('✗', "/bin/pi did not print its version"))),
        (silent(), chosen(Builtin, None), Some(('!', "/bin/pi did not print its version"))),
        (
            None,
            chosen(Program, None),
            Some(('✗', "tasks would use \"my-agent\", which is missing")),
        ),
        (None, chosen(Program, Some("/bin/my-agent")), None),
    ] {
        let facts =
            AgentFacts { builtin_version: "1", pi, others: Vec::new(), chosen, problem: None };
        let findings = agents(&facts);
        let told = complaints(&findings);
        match expected {
            None => assert_eq!(told, []),
            Some((mark, text)) => {
                assert!(told.len() == 1 && told[0].0 == mark, "{told:?}");
                assert!(told[0].1.starts_with(text) && !told[0].2.is_empty(), "{told:?}");
            }
        }
    }
}

#[test]
fn an_agent_of_another_make_is_told_with_its_version_and_what_to_do() {
    let agent = |program: Option<&str>, sign_in: Option<&str>, remedy| OtherAgentFacts {
        name: "claude".to_owned(),
        title: "Claude Code".to_owned(),
        program: program.map(|path| ProgramFacts {
            path: path.to_owned(),
            version: Some("2.1.325 (Claude Code)".to_owned()),
            problem: None,
        }),
        configured: None,
        sign_in: sign_in.map(str::to_owned),
        remedy,
    };
    let told = |agent: OtherAgentFacts, kind| {
        let (pi, chosen) = (None, chosen(kind, agent.program.as_ref().map(|it| it.path.as_str())));
        let others = vec![agent];
        let facts = AgentFacts { builtin_version: "1", pi, others, chosen, problem: None };
        let told = agents(&facts).into_iter().map(|found| {
            format!("{:?} {} ({})", found.level, found.text, found.remedies.join("; "))
        });
        told.collect::<Vec<String>>().join("\n")
    };
    let claude = || model::AgentKind::Named("claude".to_owned());
    let here = told(agent(Some("/bin/claude"), Some("ANTHROPIC_API_KEY"), None), claude());
    assert!(here.contains(
        "Fine Claude Code 2.1.325 (Claude Code): /bin/claude, signed in (ANTHROPIC_API_KEY)"
    ));
    assert!(here.contains("Fine tasks use claude"), "{here}");
    let unsigned = told(agent(Some("/bin/claude"), None, Some("sign in")), claude());
    assert!(unsigned.contains("no sign-in can be seen") && unsigned.contains("(sign in)"));
    let missing = told(agent(None, None, Some("install it")), claude());
    assert!(missing.contains("Problem tasks would use claude, which is not installed"));
    assert!(missing.contains("(install it)"), "{missing}");
    let unused = told(agent(None, None, Some("install it")), model::AgentKind::Builtin);
    let told = "Fine Claude Code is not installed, and not needed; install it ()";
    assert!(unused.contains(told), "{unused}");
}

#[test]
fn without_any_key_only_the_built_in_agent_is_lost() {
    let facts = |keys| KeyFacts {
        keys,
        unsupported: Vec::new(),
        configured_providers: Vec::new(),
        profiles_with_key: Vec::new(),
        problems: Vec::new(),
    };
    let level = |keys, uses_builtin| {
        complaints(&keys_of(&facts(keys), uses_builtin))
            .iter()
            .map(|told| told.0)
            .collect::<String>()
    };
    let key = |problem: Option<&str>| KeyFact {
        provider: "groq".to_owned(),
        place: "GROQ_API_KEY".to_owned(),
        problem: problem.map(str::to_owned),
    };
    assert_eq!(level(Vec::new(), true), "✗");
    assert_eq!(level(Vec::new(), false), "!");
    assert_eq!(level(vec![key(None)], true), "");
    assert_eq!(level(vec![key(Some("it is empty"))], true), "!✗");
}

fn keys_of(facts: &KeyFacts, uses_builtin: bool) -> Vec<Finding> {
    keys(facts, uses_builtin, "/agent")
}

#[test]
fn an_unknown_setting_is_told_with_the_one_that_was_meant() {
    let unknown = |name: &str| UnknownSetting {
        name: name.to_owned(),
        suggestions: plan::similar_names(name, plan::SETTINGS),
    };
    let facts = SettingsFacts {
        files: vec![SettingsFileFacts {
            path: "/s".to_owned(),
            is_there: true,
            problems: Vec::new(),
            blocks_tasks: false,
            unknown: vec![unknown("maxConcurency"), unknown("colour")],
        }],
        runner: Some("process"),
        runner_file: None,
        runner_problem: None,
        runner_remedy: None,
        tmux_problem: None,
    };
    let findings = settings(&facts);
    let told = complaints(&findings);
    assert_eq!(
        told[0],
        (
            '!',
            "/s: there is no setting \"subagents.maxConcurency\". Did you mean maxConcurrency?",
            "rename it to \"maxConcurrency\", or remove it"
        )
    );
    assert_eq!(told[1].1, "/s: there is no setting \"subagents.colour\".");
    assert!(told[1].2.contains("looping_tool_count"), "{told:?}");
}

fn nothing_kept() -> StoreFacts {
    StoreFacts {
        path: "/p/.pi/subagents/runs".to_owned(),
        runs: 1,
        sessions: 1,
        bytes: 2048,
        limits: LimitFacts { runs: 10, bytes: 1 << 30, days: 30 },
        ..StoreFacts::default()
    }
}

#[test]
fn what_a_crash_has_left_is_told_with_what_removes_it() {
    assert_eq!(complaints(&runs::findings(&nothing_kept())), []);
    let run = |processes| RunFacts {
        run_id: "r".to_owned(),
        name: "task".to_owned(),
        is_background: true,
        created_at: 0,
        processes,
    };
    let facts = StoreFacts {
        runs: 11,
        running: vec![run(vec![1])],
        abandoned: vec![run(Vec::new()), run(vec![7, 8])],
        leftover_processes: vec![ProcessFacts { pid: 9, run_dir: "/p/r".to_owned() }],
        temporary_stores: vec![TemporaryStoreFacts {
            path: "/t/s".to_owned(),
            runs: 2,
            bytes: 10,
            is_in_use: false,
        }],
        ..nothing_kept()
    };
    let findings = runs::findings(&facts);
    let told: Vec<(char, &str)> =
        complaints(&findings).iter().map(|(mark, _, remedy)| (*mark, *remedy)).collect();
    assert_eq!(
        told,
        [
            ('!', "remove old runs with `pi-subagents sessions prune`"),
            ('!', "end it with `pi-subagents sessions list`"),
            ('✗', "stop its processes and end it with `pi-subagents sessions list`"),
            ('✗', "stop it with `kill 9`"),
            ('!', "when you no longer need their answers, remove them with `rm -r /t/s`"),
        ]
    );
}

#[test]
fn an_extension_of_another_version_is_a_warning_and_one_without_program_a_problem() {
    let facts = |version: &str, has_program, differing_files| ExtensionFacts {
        directory: Some("/e".to_owned()),
        is_installed: true,
        version: Some(version.to_owned()),
        differing_files,
        program: None,
        has_program,
        problem: None,
    };
    let own = env!("CARGO_PKG_VERSION");
    for (facts, expected) in [
        (facts(own, true, 0), ""),
        (facts(own, true, 1), "!"),
        (facts("0.0.1", true, 3), "!"),
        (facts(own, false, 0), "✗"),
    ] {
        let findings = extension(&facts, true);
        let marks: String = complaints(&findings).iter().map(|told| told.0).collect();
        assert_eq!(marks, expected, "{facts:?}");
    }
}

#[test]
fn without_a_cgroup_each_platform_is_told_what_is_true_there() {
    let (linux, remedy) = without_cgroup(true);
    assert!(linux.contains("environment") && remedy.is_some_and(|it| it.contains("systemd-run")));
    let (other, remedy) = without_cgroup(false);
    assert!(other.contains("process group") && !other.contains("environment"));
    assert_eq!(remedy, None, "there is no systemd");
}
