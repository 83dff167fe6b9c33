//! Tasks of one call that got into each other's way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::{Event, Record};
use serde_json::Value;
use workspace::{Repository, WorkspaceError, uncommitted_files};

use super::CallTask;
use crate::conflict_warnings;

/// The files that a task's agent wrote by its own tools, and when it did last. [`DiskChanges`] knows of what its commands wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WrittenFiles {
    written: BTreeMap<PathBuf, u64>,
    /// Calls that have no result yet. They count, unless they fail: an agent that is killed may have written all the same.
    open: BTreeMap<String, Vec<(PathBuf, u64)>>,
}

impl WrittenFiles {
    /// More are not remembered.
    const MOST: usize = 10_000;

    /// Takes the next event of a task that works in this directory.
    pub(super) fn apply(&mut self, record: &Record, cwd: &Path) {
        match &record.event {
            Event::ToolCall { id, tool, args } if matches!(tool.as_str(), "write" | "edit") => {
                // One whose id an agent uses again has ended.
                self.close(id, true);
                let left = WrittenFiles::MOST.saturating_sub(self.written.len() + self.open.len());
                let path = |path| cwd.join(path).components().collect();
                let paths = paths_of(args).into_iter().take(left);
                let writes: Vec<_> = paths.map(|name| (path(name), record.at)).collect();
                if !writes.is_empty() {
                    self.open.insert(id.clone(), writes);
                }
            }
            Event::ToolResult { id, is_error, .. } => self.close(id, !is_error),
            _ => {}
        }
    }

    fn close(&mut self, id: &str, has_written: bool) {
        let writes = self.open.remove(id).filter(|_| has_written);
        self.written.extend(writes.into_iter().flatten());
    }

    /// The files, each with its last time.
    fn all(&self) -> BTreeMap<&Path, u64> {
        let written =
            self.written.iter().chain(self.open.values().flatten().map(|(p, at)| (p, at)));
        let mut all = BTreeMap::new();
        for (path, at) in written {
            let last: &mut u64 = all.entry(path.as_path()).or_default();
            *last = (*last).max(*at);
        }
        all
    }
}

/// The files that a call names. Codex changes several at once, and names them all in `path` for people to read.
fn paths_of(args: &Value) -> Vec<&str> {
    let changes = args["changes"].as_array().map_or(&[][..], Vec::as_slice);
    let changed: Vec<&str> = changes.iter().filter_map(|change| change["path"].as_str()).collect();
    if !changed.is_empty() {
        return changed;
    }
    let names = ["path", "filePath", "file_path"].into_iter();
    let path = names.filter_map(|name| args[name].as_str()).find(|path| !path.is_empty());
    path.into_iter().collect()
}

/// When files of a shared working tree were written, by their times on the disk. It is looked at whenever a task ends, as far
/// as that is cheap: every other call of this program waits meanwhile.
#[derive(Debug, Default)]
pub(super) struct DiskChanges {
    /// In milliseconds since 1970.
    written: BTreeMap<PathBuf, BTreeSet<u64>>,
    /// When it may be looked at again.
    due: Option<Instant>,
    has_failed: bool,
}

impl DiskChanges {
    /// In a repository in which it takes longer, it is not looked at again.
    const PATIENCE: Duration = Duration::from_millis(300);
    /// Looking takes at most such a part of the time.
    const SHARE: u32 = 20;

    /// Looks at the working tree around the directory. The last look is taken even if the one before was just now.
    pub(super) fn look(&mut self, directory: &Path, is_last: bool) {
        let now = Instant::now();
        // Where there is no repository, no program is started to learn that.
        let is_repository = |parent: &Path| parent.join(".git").exists();
        self.has_failed |= !directory.ancestors().any(is_repository);
        if self.has_failed || !is_last && self.due.is_some_and(|due| now < due) {
            return;
        }
        self.has_failed = self.read(directory, &|| now.elapsed() > DiskChanges::PATIENCE).is_err();
        self.due = Some(Instant::now() + now.elapsed() * DiskChanges::SHARE);
    }

    fn read(&mut self, directory: &Path, is_late: &dyn Fn() -> bool) -> Result<(), WorkspaceError> {
        // Anew each time: a task can have changed the settings, and with them what git would run.
        let repository = Repository::find_unless(directory, is_late)?;
        for file in uncommitted_files(&repository, is_late)?.into_iter().take(WrittenFiles::MOST) {
            self.written.entry(file.path).or_default().insert(file.written_at);
        }
        Ok(())
    }
}

/// A file was written, by one of these tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Write {
    at: u64,
    by: BTreeSet<usize>,
}

/// A task that shares its directory with others.
struct SharingTask<'a> {
    name: &'a str,
    written: &'a WrittenFiles,
    /// From its start to its end.
    ran: Option<(u64, u64)>,
}

/// Files that several tasks wrote in one directory, and results that conflict with each other.
pub(super) fn warnings(tasks: &[CallTask], disk: &DiskChanges) -> Vec<String> {
    let sharing = tasks.iter().filter(|task| task.shares_directory()).map(|task| {
        let result = task.report.as_ref().map(|report| &report.result);
        let ran = result.and_then(|result| Some((result.started_at?, result.ended_at)));
        SharingTask { name: &task.shown.meta.name, written: &task.written, ran }
    });
    let sharing: Vec<SharingTask<'_>> = sharing.collect();
    let isolated = tasks.iter().filter_map(|task| {
        let result = &task.report.as_ref()?.result;
        Some((&*task.shown.meta, result))
    });
    let overwritten = overwritten(&sharing, &disk.written);
    overwritten.into_iter().chain(conflict_warnings(isolated)).collect()
}

/// The clock of files can be so much behind, in milliseconds.
const CLOCK_MS: u64 = 10;
/// How long after a call of a tool the file is written, in milliseconds.
const TOOL_MS: u64 = 2_000;

/// The writes to each file, from tool calls and from the disk. What no task of the call can have written is not among them.
fn writes<'a>(
    tasks: &[SharingTask<'a>],
    on_disk: &'a BTreeMap<PathBuf, BTreeSet<u64>>,
) -> BTreeMap<&'a Path, Vec<Write>> {
    let mut writes: BTreeMap<&Path, Vec<Write>> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        for (path, at) in task.written.all() {
            let write = Write { at, by: BTreeSet::from([index]) };
            writes.entry(path).or_default().push(write);
        }
    }
    for (path, times) in on_disk {
        let known = writes.entry(path).or_default();
        let by_tools = known.len();
        for at in times {
            let ran = |task: &SharingTask<'_>| {
                task.ran.is_some_and(|(from, to)| from <= at + CLOCK_MS && *at <= to)
            };
            let running = tasks.iter().enumerate().filter(|(_, task)| ran(task));
            let by: BTreeSet<usize> = running.map(|(index, _)| index).collect();
            let is_known = known[..by_tools].iter().any(|write| {
                let time = write.at..=write.at + TOOL_MS;
                time.contains(at) && write.by.is_subset(&by)
            });
            if !by.is_empty() && !is_known {
                known.push(Write { at: *at, by });
            }
        }
    }
    writes
}

/// Names the files that more than one task has certainly written. One that was written while several tasks ran can be the work
/// of each of them, so it is named only if no single task can have made all its changes.
fn overwritten(
    tasks: &[SharingTask<'_>],
    on_disk: &BTreeMap<PathBuf, BTreeSet<u64>>,
) -> Vec<String> {
    let warning = |(path, mut writes): (&Path, Vec<Write>)| {
        writes.sort_by_key(|write| write.at);
        let (last, others) = writes.split_last()?;
        let all = others.iter().fold(last.by.clone(), |all, write| &all & &write.by);
        if !all.is_empty() {
            return None;
        }
        let mut writers: Vec<usize> = Vec::new();
        for writer in writes.iter().flat_map(|write| &write.by) {
            writers.retain(|other| other != writer);
            writers.push(*writer);
        }
        let quoted = |task: &usize| format!("\"{}\"", tasks[*task].name);
        let names = writers.iter().map(quoted).collect::<Vec<_>>().join(" and ");
        let writers = if writes.iter().all(|write| write.by.len() == 1) {
            format!("was written by {names}")
        } else {
            format!("was written by more than one of {names}")
        };
        let last = match last.by.first() {
            Some(last_writer) if last.by.len() == 1 => format!("{} was last", quoted(last_writer)),
            _ => "it is not known which was last".to_owned(),
        };
        Some(format!(
            "{} {writers}; {last}. Tasks with isolation \"worktree\" cannot overwrite each other",
            path.display()
        ))
    };
    writes(tasks, on_disk).into_iter().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(files: &mut WrittenFiles, at: u64, event: Event) {
        files.apply(&Record { seq: 1, at, event }, Path::new("/work"));
    }

    fn call(files: &mut WrittenFiles, at: u64, id: &str, tool: &str, args: Value) {
        let event = Event::ToolCall { id: id.to_owned(), tool: tool.to_owned(), args };
        apply(files, at, event);
    }

    fn result(files: &mut WrittenFiles, at: u64, id: &str, is_error: bool) {
        let (id, tool) = (id.to_owned(), "edit".to_owned());
        let (text, limit_reached) = (String::new(), false);
        apply(files, at, Event::ToolResult { id, tool, is_error, text, limit_reached });
    }

    fn all(files: &WrittenFiles) -> Vec<(&str, u64)> {
        files.all().into_iter().map(|(path, at)| (path.to_str().unwrap(), at)).collect()
    }

    #[test]
    fn each_file_of_a_call_that_changes_several_was_written() {
        // As Codex's calls are recorded; see `protocol/src/codex/stream.rs`.
        let several = json!({"path": "/work/a, /work/b", "item": "2", "changes": [
            {"path": "/work/a", "kind": "add"}, {"path": "b", "kind": "update"},
        ]});
        let mut files = WrittenFiles::default();
        call(&mut files, 5, "item_2", "edit", several);
        result(&mut files, 6, "item_2", false);
        assert_eq!(all(&files), [("/work/a", 5), ("/work/b", 5)]);
        let mut other = WrittenFiles::default();
        call(&mut other, 7, "1", "edit", json!({"path": "/work/a"}));
        let task = |name, written| SharingTask { name, written, ran: Some((0, 9)) };
        let warnings = overwritten(&[task("one", &files), task("two", &other)], &BTreeMap::new());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("/work/a was written by \"one\" and \"two\""));
    }

    #[test]
    fn calls_that_failed_wrote_nothing_and_those_without_a_result_count() {
        let mut files = WrittenFiles::default();
        let write = |files: &mut WrittenFiles, at, id, path| {
            call(files, at, id, "write", json!({"path": path}));
        };
        write(&mut files, 1, "1", "before");
        result(&mut files, 2, "1", false);
        write(&mut files, 3, "2", "before");
        write(&mut files, 3, "3", "never");
        write(&mut files, 4, "4", "open");
        result(&mut files, 5, "2", true);
        result(&mut files, 5, "3", true);
        result(&mut files, 5, "unknown", false);
        assert_eq!(all(&files), [("/work/before", 1), ("/work/open", 4)]);
        // The end of a call whose id is used again is that of the later one.
        write(&mut files, 6, "4", "later");
        result(&mut files, 7, "4", true);
        assert_eq!(all(&files), [("/work/before", 1), ("/work/open", 4)]);
    }

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
            call(&mut tasks[task], at, "", tool, args);
        }
        let tasks = ["one", "two", "three"].into_iter().zip(&tasks);
        let tasks: Vec<SharingTask<'_>> =
            tasks.map(|(name, written)| SharingTask { name, written, ran: Some((0, 9)) }).collect();
        // What a tool wrote is on the disk, too.
        let on_disk = BTreeMap::from([(PathBuf::from("/work/src/a.rs"), BTreeSet::from([6]))]);
        assert_eq!(
            overwritten(&tasks, &on_disk),
            [
                "/work/src/a.rs was written by \"two\" and \"one\"; \"one\" was last. Tasks with isolation \
              \"worktree\" cannot overwrite each other"
            ]
        );
    }

    #[test]
    fn what_commands_wrote_is_named_if_no_single_task_can_have_written_it() {
        let none = WrittenFiles::default();
        let mut by_tool = WrittenFiles::default();
        call(&mut by_tool, 1_000, "1", "write", json!({"path": "/tool"}));
        let task = |name, from, to, written| SharingTask { name, written, ran: Some((from, to)) };
        // The first two run at the same time, the third after them.
        let tasks = [
            task("one", 1_000, 20_000, &none),
            task("two", 1_000, 20_000, &by_tool),
            task("three", 30_000, 40_000, &none),
        ];
        let on_disk = [
            ("/by-one-of-two", vec![2_000, 3_000, 19_000]),
            ("/by-three-alone", vec![31_000, 32_000]),
            ("/by-the-user", vec![25_000, 31_000]),
            ("/last-is-known", vec![2_000, 31_000]),
            ("/tool", vec![1_500, 19_000, 35_000]),
        ];
        let on_disk = on_disk.map(|(path, at)| (PathBuf::from(path), at.into_iter().collect()));
        let advice = "Tasks with isolation \"worktree\" cannot overwrite each other";
        let expected = [
            format!(
                "/last-is-known was written by more than one of \"one\" and \"two\" and \"three\"; \
                 \"three\" was last. {advice}"
            ),
            format!(
                "/tool was written by more than one of \"one\" and \"two\" and \"three\"; \"three\" was \
                 last. {advice}"
            ),
        ];
        assert_eq!(overwritten(&tasks, &BTreeMap::from(on_disk)), expected);
        let ambiguous = [(PathBuf::from("/tool"), BTreeSet::from([31_000]))];
        let tasks = [
            task("two", 1_000, 20_000, &by_tool),
            task("three", 30_000, 40_000, &none),
            task("four", 30_000, 40_000, &none),
        ];
        let warnings = overwritten(&tasks, &BTreeMap::from(ambiguous));
        assert_eq!(
            warnings,
            [format!(
                "/tool was written by more than one of \"two\" and \"three\" and \"four\"; it is not known \
                 which was last. {advice}"
            )]
        );
    }
}
