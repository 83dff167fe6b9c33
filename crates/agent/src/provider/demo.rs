//! The scripts of the demonstration, which this program carries: they work on any directory, and
//! only look.

/// The script with this name, as `script/demo:NAME` means it.
pub(super) fn script(name: &str) -> Option<&'static str> {
    SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

const SCRIPTS: [(&str, &str); 7] = [
    ("count", include_str!("demo/count.json")),
    ("search", include_str!("demo/search.json")),
    ("read", include_str!("demo/read.json")),
    ("loop", include_str!("demo/loop.json")),
    ("hang", include_str!("demo/hang.json")),
    ("resume", include_str!("demo/resume.json")),
    ("report", include_str!("demo/report.json")),
];
