//! A session as HTML: one file without scripts, links or anything to load.

use std::fmt::Write;

use super::{Entry, ExportedRun, ExportedSession};
use crate::text::clean;

/// Nothing may be loaded and no script may run, whatever the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --faint: #59636e; --line: #d1d9e0; \
--code: #f6f8fa; --good: #1a7f37; --bad: #d1242f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9198a1; \
--line: #3d444d; --code: #151b23; --good: #3fb950; --bad: #f85149; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; \
max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.25; } h2 { border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 1.5rem 0 .25rem; font-size: .9rem; color: var(--faint); }
table { border-collapse: collapse; font-size: .9rem; } th { text-align: left; color: var(--faint); \
font-weight: normal; padding-right: 1.5rem; vertical-align: top; } td { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; }
pre.code { font: .85rem/1.45 ui-monospace, monospace; background: var(--code); padding: .75rem; \
border-radius: 6px; max-height: 40rem; overflow: auto; }
.prompt { border-left: 4px solid var(--line); padding-left: 1rem; }
details { margin: .75rem 0; } summary { cursor: pointer; font-family: ui-monospace, monospace; \
font-size: .85rem; } .note { color: var(--faint); font-style: italic; }
.completed { color: var(--good); } .error { color: var(--bad); }
";

pub(super) fn render(session: &ExportedSession) -> String {
    let mut page = String::new();
    let title = escaped(session.name());
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>Session <code>{}</code>: {}.</p>\n",
        session.id,
        escaped(&session.summary())
    );
    let count = session.runs.len();
    for (index, run) in session.runs.iter().enumerate() {
        let status = run.status().word();
        let _ = writeln!(
            page,
            "<section>\n<h2>Run {} of {count}: <span class=\"{status}\">{status}</span></h2>",
            index + 1
        );
        render_run(run, &mut page);
        page.push_str("</section>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn render_run(run: &ExportedRun, page: &mut String) {
    page.push_str("<table>\n");
    for (name, value) in run.facts() {
        let _ = writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escaped(&value));
    }
    page.push_str("</table>\n");
    for entry in run.entries() {
        let _ = match entry {
            Entry::Prompt(text) => {
                writeln!(page, "<h3>Prompt</h3>\n<pre class=\"prompt\">{}</pre>", escaped(&text))
            }
            Entry::Said(text) => writeln!(page, "<h3>Agent</h3>\n<pre>{}</pre>", escaped(&text)),
            Entry::Call { tool, args } => writeln!(
                page,
                "<details open><summary>→ {}</summary><pre class=\"code\">{}</pre></details>",
                escaped(&tool),
                escaped(&args)
            ),
            Entry::Answer { tool, is_error, text } => {
                let (class, mark) = if is_error { ("error", "✗") } else { ("answer", "←") };
                writeln!(
                    page,
                    "<details><summary class=\"{class}\">{mark} {}</summary>\
                     <pre class=\"code\">{}</pre></details>",
                    escaped(&tool),
                    escaped(&text)
                )
            }
            Entry::Note(text) => writeln!(page, "<p class=\"note\">{}</p>", escaped(&text)),
        };
    }
}

fn escaped(text: &str) -> String {
    let text = clean(text);
    // The ampersand comes first: the others bring their own.
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
