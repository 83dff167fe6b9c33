//! Tasks of one call that got into each other's way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{Event, Record};

use super::CallTask;
use crate::conflict_warnings;

/// The files that a task's agent wrote by its own tools, and when it did last. What its commands wrote is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WrittenFiles(BTreeMap<PathBuf, u64>);

impl WrittenFiles {
    /// More are not remembered.
    const MOST: usize = 10_000;

    /// Takes the next event of a task that works in this directory.
    pub(super) fn apply(&mut self, record: &Record, cwd: &Path) {
        let Event::ToolCall { tool, args, .. } = &record.event else { return };
        if !matches!(tool.as_str(), "write" | "edit") || self.0.len() >= WrittenFiles::MOST {
            return;
        }
        let names = ["path", "filePath", "file_path"].into_iter();
        let path = names.filter_map(|name| args.get(name)?.as_str()).find(|path| !path.is_empty());
        if let Some(path) = path {
            self.0.insert(cwd.join(path).components().collect(), record.at);
        }
    }
}

/// Files that several tasks wrote in one directory, and results that conflict with each other.
pub(super) fn warnings(tasks: &[CallTask]) -> Vec<String> {
    let shared = tasks.iter().filter(|task| task.shown.meta.worktree.is_none());
    let shared: Vec<(&str, &WrittenFiles)> =
        shared.map(|task| (task.shown.meta.name.as_str(), &task.written)).collect();
    let isolated = tasks.iter().filter_map(|task| {
        let result = &task.report.as_ref()?.result;
        Some((&task.shown.meta, result))
    });
    overwritten(&shared).into_iter().chain(conflict_warnings(isolated)).collect()
}

fn overwritten(tasks: &[(&str, &WrittenFiles)]) -> Vec<String> {
    let mut writers: BTreeMap<&Path, Vec<(u64, &str)>> = BTreeMap::new();
    for (name, written) in tasks {
        for (path, at) in &written.0 {
            writers.entry(path).or_default().push((*at, name));
        }
    }
    let several = writers.into_iter().filter(|(_, writers)| writers.len() > 1);
    let warnings = several.map(|(path, mut writers)| {
        writers.sort_by_key(|(at, _)| *at);
        let names: Vec<String> = writers.iter().map(|(_, name)| format!("\"{name}\"")).collect();
        let last = names.last().cloned().unwrap_or_default();
        format!(
            "{} was written by {}; {last} was last. Tasks with isolation \"worktree\" cannot overwrite each other",
            path.display(),
            names.join(" and ")
        )
    });
    warnings.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_that_two_tasks_wrote_are_named_with_the_last_writer() {
        let mut tasks = [WrittenFiles::default(), WrittenFiles::default(), WrittenFiles::default()];
        let calls = [
            (0, 5, "write", json!({"path": "src/a.rs"})),
            (1, 3, "edit", json!({"path": "/work/src/a.rs"})),
            (1, 4, "edit", json!({"file_path": "/work/./src/b.rs"})),
            (2, 9, "read", json!({"path": "src/a.rs"})),
            (2, 9, "write", json!({"path": ""})),
        ];
        for (task, at, tool, args) in calls {
            let event = Event::ToolCall { id: String::new(), tool: tool.to_owned(), args };
            tasks[task].apply(&Record { seq: 1, at, event }, Path::new("/work"));
        }
        let [one, two, three] = &tasks;
        assert_eq!(
            overwritten(&[("one", one), ("two", two), ("three", three)]),
            [
                "/work/src/a.rs was written by \"two\" and \"one\"; \"one\" was last. Tasks with isolation \
              \"worktree\" cannot overwrite each other"
            ]
        );
    }
}
