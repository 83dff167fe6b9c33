//! The files of a commit that came from another machine, as git lists them.

use std::collections::BTreeMap;

use workspace::{checked_entry, leads_out};

use crate::scratch::parts;

/// More links than this in one path are an error of the system.
const MOST_LINKS: usize = 40;

/// The parts are entries, each with the target of its link behind a line break.
pub(super) fn check(data: &[u8]) {
    let mut links: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for part in parts(data) {
        let text = String::from_utf8_lossy(part);
        let (entry, target) = text.split_once('\n').unwrap_or((&text, ""));
        let Ok(file) = checked_entry(entry) else { continue };
        let path: Vec<String> = file.path.split('/').map(str::to_owned).collect();
        for name in &path {
            assert!(!matches!(name.as_str(), "" | "." | ".."), "{entry:?}");
            assert!(!name.eq_ignore_ascii_case(".git"), "{entry:?}");
        }
        if file.link.is_some() && !leads_out(file.path, target) {
            links.insert(path, target.to_owned());
        }
    }
    // git makes no file below a link.
    let paths: Vec<Vec<String>> = links.keys().cloned().collect();
    let is_below = |path: &[String]| (1..path.len()).any(|end| links.contains_key(&path[..end]));
    for path in paths.iter().filter(|path| !is_below(path)) {
        follow(&links, path);
    }
}

/// Goes where the system would go, which never is above the root.
fn follow(links: &BTreeMap<Vec<String>, String>, path: &[String]) {
    let mut reached: Vec<String> = Vec::new();
    let mut left: Vec<String> = path.iter().rev().cloned().collect();
    let mut count = 0;
    while let Some(name) = left.pop() {
        match name.as_str() {
            "" | "." => {}
            ".." => assert!(reached.pop().is_some(), "{path:?} leads out: {links:?}"),
            _ => {
                reached.push(name);
                if let Some(target) = links.get(&reached) {
                    count += 1;
                    if count > MOST_LINKS {
                        return;
                    }
                    reached.pop();
                    assert!(!target.starts_with('/'), "{path:?} leads out: {links:?}");
                    left.extend(target.split('/').rev().map(str::to_owned));
                }
            }
        }
    }
}
