//! Writes one run directory while its run goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::{Event, Limits, Record, RunResult};

use crate::bounds::{end_of_data, open_with};
use crate::run_dir::{EVENTS, RESULT};
use crate::write_once::{create_private, remove_unfinished, write_once};
use crate::{Abandoned, Hold, RunDir, StoreError};

/// The logs beside `events.jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// The child's records without deltas.
    Stdout,
    /// The child's standard error, as it is.
    Stderr,
    /// The events in words.
    Transcript,
    /// What the preparation of the worktree has printed. Made when it prints something.
    Prepare,
    /// What the checks of the agent's work have printed. The same.
    Check,
}

impl Log {
    /// Its name in the run directory.
    pub fn file_name(self) -> &'static str {
        match self {
            Log::Stdout => "stdout.log",
            Log::Stderr => "stderr.log",
            Log::Transcript => "transcript.log",
            Log::Prepare => "prepare.log",
            Log::Check => "check.log",
        }
    }
}

/// Writes events, logs and the result of one run.
///
/// Once it is open, it never fails the run: when the disk is full or the directory is gone, the
/// journal stops writing, [`Journal::trouble`] says why, and the run goes on.
pub struct Journal {
    dir: RunDir,
    events: LogFile,
    /// Those that most runs do not have are made when they are needed.
    logs: Vec<(Log, LogFile)>,
    log_bytes: u64,
    last_seq: u64,
    trouble: Option<String>,
    _hold: Hold,
}

impl Journal {
    /// Begins the journal of a run that has not started. A second one is refused.
    pub fn begin(dir: &RunDir, limits: &Limits) -> Result<Journal, StoreError> {
        dir.check_writable()?;
        let path = dir.file(EVENTS);
        let open = || -> io::Result<(File, Hold)> {
            let events = open_append(&path)?;
            let hold = Hold::shared(events.try_clone()?)?;
            Ok((events, hold))
        };
        let (events, hold) = open().map_err(StoreError::io("opened", &path))?;
        // If the program that made the directory died, another program may have ended the run.
        if dir.file(RESULT).exists() {
            return Err(StoreError::AlreadyEnded(dir.path().to_owned()));
        }
        let create = |log: Log| match create_private(&dir.file(log.file_name())) {
            Ok(file) => Ok((log, LogFile::new(log.file_name(), file, limits.log_bytes))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StoreError::AlreadySupervised(dir.path().to_owned()))
            }
            Err(error) => Err(StoreError::io("created", dir.file(log.file_name()))(error)),
        };
        // Creating the first of these files is what refuses a second supervisor.
        let logs = vec![create(Log::Stdout)?, create(Log::Stderr)?, create(Log::Transcript)?];
        Ok(Journal {
            log_bytes: limits.log_bytes,
            dir: dir.clone(),
            events: LogFile::new(EVENTS, events, limits.log_bytes),
            logs,
            last_seq: 0,
            trouble: None,
            _hold: hold,
        })
    }

    /// Makes the run's directory the working directory of this process, so that it is still found
    /// after the project was moved. Returns the directory by its new, relative path.
    pub fn enter(&mut self) -> RunDir {
        // A directory that has vanished already keeps its path.
        if std::env::set_current_dir(self.dir.path()).is_ok() {
            self.dir = self.dir.here();
        }
        self.dir.clone()
    }

    /// Continues the journal of a run whose supervisor is gone, after removing a torn line at the
    /// end of its events and a result that was not finished.
    pub fn resume(abandoned: Abandoned, limits: &Limits) -> Result<Journal, StoreError> {
        let Abandoned { dir, hold } = abandoned;
        dir.check_writable()?;
        let path = dir.file(EVENTS);
        let last_seq = dir.events()?.last().map_or(0, |record| record.seq);
        let repair = || -> io::Result<File> {
            let mut events = open_append(&path)?;
            let whole = length_of_whole_lines(&mut events)?;
            events.set_len(whole)?;
            Ok(events)
        };
        let events = repair().map_err(StoreError::io("repaired", &path))?;
        remove_unfinished(dir.path());
        let open = |log: Log| {
            let path = dir.file(log.file_name());
            let mut options = OpenOptions::new();
            let file = open_with(options.append(true).create(true).mode(0o600), &path);
            file.map(|file| (log, LogFile::new(log.file_name(), file, limits.log_bytes)))
                .map_err(StoreError::io("opened", path))
        };
        let logs = vec![open(Log::Stdout)?, open(Log::Stderr)?, open(Log::Transcript)?];
        let events = LogFile::new(EVENTS, events, limits.log_bytes);
        let log_bytes = limits.log_bytes;
        Ok(Journal { dir, events, logs, log_bytes, last_seq, trouble: None, _hold: hold })
    }

    /// Numbers an event and writes it. Returns the record and its line without the line feed. The
    /// first event that exceeds the limit is preceded by [`Event::LogFull`].
    pub fn record(&mut self, at: u64, event: Event) -> Vec<(Record, Vec<u8>)> {
        let mut recorded = Vec::with_capacity(1);
        let (mut record, mut line) = self.number(at, event);
        if record.event.is_awaited() || self.events.has_room_for(line.len()) {
            self.events.append(&line);
        } else if self.events.close() {
            self.last_seq -= 1;
            let full = self.number(at, Event::LogFull { log: EVENTS.to_owned() });
            self.events.append(&full.1);
            recorded.push(full);
            (record, line) = self.number(at, record.event);
        }
        recorded.push((record, line));
        recorded
    }

    /// Whether there is room for this much more in the events.
    pub fn has_room_for_event(&self, bytes: usize) -> bool {
        self.events.has_room_for(bytes)
    }

    /// Adds a line to a log.
    pub fn log(&mut self, log: Log, line: &[u8]) {
        if !self.logs.iter().any(|(kind, _)| *kind == log) {
            self.begin_log(log);
        }
        let found = self.logs.iter_mut().find(|(kind, _)| *kind == log);
        let Some((_, file)) = found else { return };
        if file.has_room_for(line.len()) {
            file.append(line);
        } else if file.close() {
            file.append(b"[this log is full]");
        }
    }

    fn begin_log(&mut self, log: Log) {
        let name = log.file_name();
        let path = self.dir.file(name);
        match create_private(&path) {
            Ok(file) => self.logs.push((log, LogFile::new(name, file, self.log_bytes))),
            Err(error) => {
                let trouble = StoreError::io("created", path)(error).to_string();
                self.trouble.get_or_insert(trouble);
            }
        }
    }

    /// Hands everything to the operating system, so that other programs can read it.
    pub fn flush(&mut self) {
        let logs = self.logs.iter_mut().map(|(_, file)| file);
        for file in std::iter::once(&mut self.events).chain(logs) {
            if let Err(error) = file.flush() {
                let path = self.dir.file(file.name);
                let trouble = StoreError::io("written", path)(error).to_string();
                self.trouble.get_or_insert(trouble);
            }
        }
    }

    fn number(&mut self, at: u64, event: Event) -> (Record, Vec<u8>) {
        // What another program wrote into the record may have the last number that there is.
        self.last_seq = self.last_seq.saturating_add(1);
        let record = Record { seq: self.last_seq, at, event };
        // Plain data with string keys always serialises.
        let line = serde_json::to_vec(&record).unwrap_or_default();
        (record, line)
    }

    /// Why the first file that failed could not be written, if one failed.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Writes the result, even if the other files have failed.
    pub fn finish(mut self, result: &RunResult) -> Result<(), StoreError> {
        self.flush();
        let path = self.dir.file(RESULT);
        let mut json = serde_json::to_vec_pretty(result)
            .map_err(|source| StoreError::Damaged { path, source })?;
        json.push(b'\n');
        write_once(self.dir.path(), RESULT, &json)
    }
}

fn open_append(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).append(true), path)
}

/// The position after the last line feed. What follows a hole is not read, so it does not count.
fn length_of_whole_lines(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = end_of_data(file)?;
    let mut buffer = Vec::new();
    while end > 0 {
        let begin = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(begin))?;
        buffer.clear();
        Read::by_ref(file).take(end - begin).read_to_end(&mut buffer)?;
        if let Some(offset) = buffer.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + offset as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// A file to which lines are appended up to a limit, or until writing fails.
struct LogFile {
    name: &'static str,
    file: File,
    pending: Vec<u8>,
    /// The length up to which the file holds whole lines.
    length: u64,
    limit: u64,
    state: LogState,
    /// What went wrong since the last flush.
    failure: Option<io::Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LogState {
    Open,
    /// The limit is reached: only awaited events and the note that it is full are written.
    Full,
    /// Writing failed.
    Broken,
}

impl LogFile {
    /// How much is held back before it is written; a flush writes all.
    const PENDING: usize = 64 * 1024;

    fn new(name: &'static str, file: File, limit: u64) -> LogFile {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let state = LogState::Open;
        LogFile { name, file, pending: Vec::new(), length, limit, state, failure: None }
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        let length = self.length + (self.pending.len() + bytes) as u64 + 1;
        self.state == LogState::Open && length <= self.limit
    }

    /// Notes that the limit is reached. True the first time.
    fn close(&mut self) -> bool {
        let is_new = self.state == LogState::Open;
        if is_new {
            self.state = LogState::Full;
        }
        is_new
    }

    /// Appends beyond the limit, too, and to a broken file, which may have recovered.
    fn append(&mut self, line: &[u8]) {
        self.pending.extend_from_slice(line);
        self.pending.push(b'\n');
        if self.pending.len() > LogFile::PENDING {
            self.write_pending();
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_pending();
        self.failure.take().map_or(Ok(()), Err)
    }

    fn write_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        match self.file.write_all(&self.pending) {
            Ok(()) => self.length += self.pending.len() as u64,
            Err(error) => {
                self.state = LogState::Broken;
                self.failure.get_or_insert(error);
                // Half a line must not be followed by a whole one.
                let _ = self.file.set_len(self.length);
            }
        }
        self.pending.clear();
        // One large line must not hold its memory for the rest of the run.
        self.pending.shrink_to(2 * LogFile::PENDING);
    }
}
