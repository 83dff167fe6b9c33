//! The pictures of our windows inside the real pi, in a pane of tmux, with its dark and its light theme.
//!
//! pi, its extension, the bridge and the agents are real. The models play scripts, each agent's with a server of its own,
//! so that nobody has to read the scripts in the prompts.

mod svg;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use xtask::{packages, repository_root};

use self::svg::Terminal;
use crate::scratch::Scratch;

const COLUMNS: u16 = 110;
const ROWS: u16 = 46;
/// What is not seen within this time is never seen.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the user of the pictures asks for.
const PROMPT: &str = "Look at the shop before the release, with several agents at once.";

pub(super) fn draw(pictures: &Path) -> Result<(), String> {
    packages::install().map_err(|(command, error)| format!("`{command}` {error}"))?;
    let scratch = Scratch::with_test_programs()?;
    for (theme, terminal) in [
        ("dark", Terminal { background: "#16181d", foreground: "#d7dae0" }),
        ("light", Terminal { background: "#ffffff", foreground: "#24292f" }),
    ] {
        let pane = Pane::start(&scratch, theme)?;
        let draw = |name: &str, from: &str| -> Result<(), String> {
            let path = pictures.join(format!("pi-{name}-{theme}.svg"));
            let captured = pane.tmux(&["capture-pane", "-e", "-p", "-N"])?;
            fs::write(&path, svg::draw(&captured, from, COLUMNS, terminal))
                .map_err(|error| format!("{}: {error}", path.display()))?;
            println!("wrote {}", path.display());
            Ok(())
        };
        pane.wait_for(&[
            "1/4 ━",
            "┃ bash   cargo test --test cart",
            "┃ bash   cargo check",
            "0:03",
        ])?;
        draw("live", PROMPT)?;
        pane.let_go("first")?;
        pane.wait_for(&["4/4 ━", "Ready but for two things"])?;
        pane.tmux(&["send-keys", "C-o"])?;
        pane.wait_for(&["What was wrong", "if token == expected"])?;
        draw("opened", "")?;
        pane.tmux(&["send-keys", "C-o"])?;
        pane.type_text("Meanwhile, have a scout find out where errors are handled.")?;
        pane.wait_for(&["bg: 1 running / 1 total", "A scout is looking."])?;
        pane.let_go("second")?;
        pane.wait_for(&["✓ scout · ", " more lines, ctrl+o)"])?;
        draw("finished", PROMPT)?;
        pane.type_text("/agents")?;
        pane.wait_for(&["this session", "Esc close"])?;
        draw("agents", "A scout is looking.")?;
    }
    Ok(())
}

/// pi in a pane of a tmux server that belongs to it.
struct Pane<'scratch> {
    scratch: &'scratch Scratch,
    home: PathBuf,
    /// They play as long as they are there.
    _models: Vec<FakeLlm>,
}

impl Pane<'_> {
    fn start<'scratch>(scratch: &'scratch Scratch, theme: &str) -> Result<Pane<'scratch>, String> {
        let home = scratch.subdirectory(theme)?;
        for directory in ["agent/subagents", "bin", "shop/.pi", "shop/crates/auth/src", "shop/src"]
        {
            scratch.subdirectory(&format!("{theme}/{directory}"))?;
        }
        let programs = repository_root().join("e2e/node_modules/.bin");
        let mut models = Vec::new();
        let mut providers = json!({});
        for (provider, model, script) in MODELS {
            let script: Value =
                serde_json::from_str(script).map_err(|error| format!("{provider}: {error}"))?;
            let server = FakeLlm::start_with(&script).map_err(|error| error.to_string())?;
            providers[provider] = json!({
                "baseUrl": server.base_url(), "api": "openai-completions", "apiKey": "k",
                "models": [{
                    "id": model, "contextWindow": 200_000,
                    "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
                }],
            });
            models.push(server);
        }
        let settings = json!({
            "theme": theme, "defaultProvider": "anthropic", "defaultModel": "claude-opus-4-5",
            "quietStartup": true, "subagents": {"agent": "builtin"},
        });
        let cargo = format!("#!/bin/sh\nhome='{}'\n{CARGO}", home.display());
        let scout = "---\nname: scout\ndescription: Looks around\nmodel: scout/claude-haiku-4-5\n---\nBe quick.\n";
        let pi = format!(
            "#!/bin/sh\ncd '{}' && exec env -i HOME='{1}' PATH='{1}/bin:{2}:/usr/bin:/bin' TERM=xterm-256color \
             COLORTERM=truecolor LC_ALL=C.UTF-8 PI_OFFLINE=1 PI_CODING_AGENT_DIR='{1}/agent' \
             PI_SUBAGENTS_BIN='{3}' pi --extension '{4}' '{PROMPT}'\n",
            home.join("shop").display(),
            home.display(),
            programs.display(),
            Path::new(scratch.our("pi-subagents").get_program()).display(),
            repository_root().join("extension").display(),
        );
        for (name, text) in [
            ("agent/models.json", json!({"providers": providers}).to_string()),
            ("agent/settings.json", settings.to_string()),
            ("agent/subagents/scout.md", scout.to_owned()),
            (
                "shop/crates/auth/src/token.rs",
                "if token == expected {\n    return Ok(session);\n}\n".repeat(20),
            ),
            ("shop/src/coupon.rs", "let percent = text.parse().unwrap();\n".repeat(12)),
            ("bin/cargo", cargo),
            ("bin/start", pi),
        ] {
            let path = home.join(name);
            let failed = |error: std::io::Error| format!("{}: {error}", path.display());
            fs::write(&path, text).map_err(failed)?;
            if name.starts_with("bin/") {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
            }
        }
        let pane = Pane { scratch, home, _models: models };
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        let start = pane.home.join("bin/start").display().to_string();
        pane.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, &start])?;
        Ok(pane)
    }

    fn command(&self) -> Command {
        let mut command = self.scratch.command("tmux");
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.home);
        command
            .env("TMUX_TMPDIR", &self.home)
            .env("LC_ALL", "C.UTF-8")
            .args(["-u", "-L", "pictures"]);
        command
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.command().args(arguments).output();
        let output = output.map_err(|error| format!("tmux: {error}"))?;
        if !output.status.success() {
            return Err(format!("tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Types a text and sends it.
    fn type_text(&self, text: &str) -> Result<(), String> {
        self.tmux(&["send-keys", "-l", text])?;
        self.wait_for(&[text])?;
        self.tmux(&["send-keys", "Enter"]).map(drop)
    }

    /// Lets the commands of the agents end that wait for this file.
    fn let_go(&self, file: &str) -> Result<(), String> {
        fs::write(self.home.join(file), "").map_err(|error| format!("{file}: {error}"))
    }

    fn wait_for(&self, texts: &[&str]) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = self.tmux(&["capture-pane", "-p"])?;
            if texts.iter().all(|text| seen.contains(text)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{texts:?} were never seen at once, but:\n{seen}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        // With the server ends its pi, and with pi everything that runs for it.
        let _ = self.tmux(&["kill-server"]);
    }
}

/// What the agents see when they run `cargo`. It ends when it is let go.
const CARGO: &str = r#"gate=first
case "$*" in *tree*) gate=second ;; esac
until [ -e "$home/$gate" ]; do sleep 0.05; done
case "$*" in
*cart*) echo 'test result: ok. 31 passed; 0 failed' ;;
*auth*) echo 'test result: ok. 42 passed; 0 failed' ;;
*tree*) echo 'shop v0.1.0' ;;
*) echo '    Finished `dev` profile in 1.12s' ;;
esac
"#;

/// The models, each with its provider and what it says and does.
const MODELS: [(&str, &str, &str); 6] = [
    (
        "anthropic",
        "claude-opus-4-5",
        r#"[
    {"text": "I send four agents.", "usage": {"input": 2400, "output": 310}, "tools": [
        {"name": "delegate_to_subagents", "args": {"tasks": [
            {"name": "survey-errors", "prompt": "Where can this program panic although a user only made a mistake?", "model": "survey/claude-haiku-4-5"},
            {"name": "port-tests", "prompt": "Port the tests of the cart from JavaScript to Rust.", "model": "port/gpt-5.2"},
            {"name": "fix-flaky", "prompt": "Find out why the test of the checkout fails now and then.", "model": "flaky/qwen3-coder", "timeout": 1},
            {"name": "review-auth", "prompt": "Review crates/auth: does anything compare secrets so that an attacker can measure it?", "model": "review/claude-sonnet-4-5"}
        ]}}]},
    {"text": "Ready but for two things: a coupon with a space in it still panics, and nobody has looked at the flaky test.", "usage": {"input": 4100, "output": 90}},
    {"text": "", "usage": {"input": 4300, "output": 80}, "tools": [
        {"name": "background_agent", "args": {"preset": "scout", "task": "Where are errors handled?"}}]},
    {"text": "A scout is looking.", "usage": {"input": 4400, "output": 20}}
]"#,
    ),
    (
        "survey",
        "claude-haiku-4-5",
        r#"[
    {"text": "First I look for everything that can panic.", "usage": {"input": 3200, "output": 120},
     "tools": [{"name": "bash", "args": {"command": "grep -c unwrap src/coupon.rs"}}]},
    {"text": "A coupon comes from the user, and this one can fail.", "usage": {"input": 5200, "output": 210},
     "tools": [{"name": "edit", "args": {"path": "src/coupon.rs", "edits": [{"oldText": "nothing like this", "newText": "x"}]}}]},
    {"text": "The text has to be unique. I check before I try again.", "usage": {"input": 5600, "output": 150},
     "tools": [{"name": "bash", "args": {"command": "cargo check"}}]},
    {"text": "Of 12 calls of `unwrap()`, one can be reached by a user: a coupon with a space in it.", "usage": {"input": 6100, "output": 240}}
]"#,
    ),
    (
        "port",
        "gpt-5.2",
        r#"[
    {"text": "Three files with 31 tests; two of them need a clock, which I pass in.", "usage": {"input": 7100, "output": 410},
     "tools": [{"name": "write", "args": {"path": "tests/cart.rs", "content": "use shop::Cart;\n\n#[test]\nfn a_cart_is_empty_at_first() {\n    assert!(Cart::new().is_empty());\n}\n"}}]},
    {"text": "Now I see whether they pass.", "usage": {"input": 8800, "output": 190},
     "tools": [{"name": "bash", "args": {"command": "cargo test --test cart"}}]},
    {"text": "All 31 tests of the cart are ported and pass.", "usage": {"input": 9100, "output": 130}}
]"#,
    ),
    ("flaky", "qwen3-coder", r#"[{"hang": true}]"#),
    (
        "review",
        "claude-sonnet-4-5",
        r#"[
    {"text": "I read how sessions are checked.", "usage": {"input": 4100, "output": 160},
     "tools": [{"name": "read", "args": {"path": "crates/auth/src/token.rs"}}]},
    {"text": "The session token is compared with `==`, which returns at the first byte that differs. That can be measured.",
     "usage": {"input": 6900, "output": 420}, "tools": [{"name": "bash", "args": {"command": "cargo test -p auth"}}]},
    {"text": "Session tokens are compared so that the time tells how much of one is right.\n\n## What was wrong\n\n`==` returns at the first byte that differs, so an attacker guesses a token **byte by byte**:\n\n```rust\nif token == expected {\n    return Ok(session);\n}\n```\n\n- `crates/auth/src/token.rs` has to use `subtle::ConstantTimeEq`\n- a test has to cover tokens of different lengths\n",
     "usage": {"input": 7400, "output": 610}}
]"#,
    ),
    (
        "scout",
        "claude-haiku-4-5",
        r#"[
    {"text": "I see which crates there are.", "usage": {"input": 2100, "output": 90},
     "tools": [{"name": "bash", "args": {"command": "cargo tree"}}]},
    {"text": "Errors are built in `src/error.rs` and told to the user in **one** place, `src/main.rs`:\n\n1. what happened\n2. why\n3. what to do next\n\nLibraries return typed errors. Nothing is printed below `main`.\n",
     "usage": {"input": 2900, "output": 260}}
]"#,
    ),
];
