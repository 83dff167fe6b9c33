//! The key is pressed in a real shell.

use std::fs;

use test_support::{Ran, World};

use crate::world;

fn world_with_profiles() -> World {
    let world = world();
    let directory = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    for name in ["reviewer", "planner"] {
        fs::write(directory.join(format!("{name}.md")), format!("---\nname: {name}\n---\n"))
            .unwrap();
    }
    world
}

fn shell(world: &World, shell: &[&str]) -> Ran {
    let ran = Ran::from(World::behind(shell, &world.command::<&str>([])).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

#[test]
fn fish_completes_commands_and_names() {
    let world = world_with_profiles();
    // Behind `--` stands the program itself, which is `$argv[1]`.
    let press = |line: &str| -> Vec<String> {
        let script = format!("$argv[1] completions fish | source; complete -C '{line}'");
        let ran = shell(&world, &["fish", "--no-config", "-c", &script, "--"]);
        // A description may stand behind the name.
        let names = ran.stdout.lines().filter_map(|line| line.split('\t').next());
        names.map(str::to_owned).collect()
    };
    assert_eq!(press("pi-subagents del"), ["delegate"]);
    assert_eq!(press("pi-subagents run --profile re"), ["reviewer"]);
    let all = press("pi-subagents profile show ");
    assert!(all.contains(&"planner".to_owned()) && all.contains(&"reviewer".to_owned()), "{all:?}");
}

/// An interactive zsh in a terminal of its own, in which the line is typed and the key pressed; what
/// becomes of the line is written to a file by a widget.
const ZSH: &str = r#"
zmodload zsh/zpty || exit 8
program=$1 line=$2 answer=$3
zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit && compinit -u -D; source <($program completions zsh)"
zpty -w shell "show() { print -r -- \"\$BUFFER\" > $answer }; zle -N show"
zpty -w shell "bindkey '^I' complete-word; bindkey '^X' show"
zpty -w shell "print REA''DY"
zpty -r shell out '*READY*' || exit 7
zpty -w -n shell "$line"$'\t'$'\x18'
while [[ ! -s $answer ]]; do zpty -r -t shell out; done
zpty -d shell
"#;

#[test]
fn zsh_completes_commands_and_names() {
    let world = world_with_profiles();
    for (index, (line, expected)) in [
        ("pi-subagents del", "pi-subagents delegate"),
        ("pi-subagents run --profile re", "pi-subagents run --profile reviewer"),
        ("pi-subagents profile show pl", "pi-subagents profile show planner"),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = world.path(&format!("answer-{index}"));
        let command = world.command([line, answer.to_str().unwrap()]);
        let mut command =
            World::behind(&["timeout", "60", "zsh", "-f", "-c", ZSH, "zsh"], &command);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        assert_eq!(fs::read_to_string(answer).unwrap().trim(), expected);
    }
    world.wait_until_nothing_is_left();
}
