//! The scripts of the demonstration. They work in any directory, and only read.

/// The script of the model `script/demo:NAME`.
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
