//! Tasks on the screen: windows on a terminal, and elsewhere a line for each thing that happens.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use model::{Event, Meta, Question, Record, RunId};
use tools::ShownTask;
use tui::Command;

use crate::error::CommandError;
use crate::live::Live;
use crate::notification::NotifyArguments;
use crate::printer::{Mention, Printer};

/// How a question is answered by another program.
pub(crate) fn how_to_answer(meta: &Meta, number: u64, question: &Question) -> String {
    let ways = question.ways();
    format!("{ways}: `pi-subagents answer {} {number} ANSWER`", meta.run_id)
}

pub(crate) struct Screen<'a> {
    printer: &'a Printer,
    /// The windows, on a terminal.
    pub(crate) live: Option<Live<'a>>,
    /// The latest text of each agent, where there are no windows. It is not printed until more comes,
    /// because the last one is the answer.
    held_back: BTreeMap<usize, String>,
    /// The error that each agent printed last. It is printed when more comes, and at the end only if it is not the run's own
    /// error, which is in the line about the task.
    held_errors: BTreeMap<usize, String>,
    notify: NotifyArguments,
    /// The last question of each run that the user was notified of.
    notified: BTreeMap<RunId, u64>,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(
        printer: &'a Printer,
        live: Option<Live<'a>>,
        notify: NotifyArguments,
    ) -> Screen<'a> {
        Screen {
            printer,
            live,
            held_back: BTreeMap::new(),
            held_errors: BTreeMap::new(),
            notify,
            notified: BTreeMap::new(),
        }
    }

    /// Shows soon what has changed, where there are windows.
    pub(crate) fn change(&mut self) {
        if let Some(live) = &mut self.live {
            live.change();
        }
    }

    /// Shows an event of a task, which has these words.
    pub(crate) fn show(
        &mut self,
        task: usize,
        shown: &ShownTask,
        record: &Record,
        words: Option<String>,
    ) {
        if let Some(live) = &mut self.live {
            live.record(task, record, shown);
            return;
        }
        let name = &shown.meta.name;
        let is_end = matches!(record.event, Event::RunEnded { .. });
        let held = (words.is_some() || is_end).then(|| self.held_errors.remove(&task)).flatten();
        if let Some(error) = held.filter(|error| !is_error_of_run(error, &record.event)) {
            self.printer.progress(name, &error);
        }
        let Some(words) = words else { return };
        match &record.event {
            Event::RunEnded { .. } => {}
            Event::Stderr { text } if printed_error(text).is_some() => {
                self.print_held_back(task, name);
                self.held_errors.insert(task, words);
            }
            Event::AssistantMessage { .. } => {
                if let Some(earlier) = self.held_back.insert(task, words) {
                    self.printer.progress(name, &earlier);
                }
            }
            // The latest text stays the answer, whatever has to be cleaned up behind it.
            Event::Stopping { .. } => self.printer.progress(name, &words),
            _ => {
                // What the provider said is in the words about trying again, too.
                if let (
                    Some(earlier),
                    Event::RetryScheduled { error, .. }
                    | Event::ModelFallback { reason: error, .. },
                ) = (self.held_back.get(&task), &record.event)
                    && earlier.ends_with(error.as_str())
                {
                    self.held_back.remove(&task);
                }
                self.print_held_back(task, name);
                self.printer.progress(name, &words);
                if let Event::QuestionAsked { number, question } = &record.event {
                    self.printer.note(&how_to_answer(&shown.meta, *number, question));
                }
            }
        }
    }

    /// Prints the latest text of an agent, where it is not printed as the answer.
    pub(crate) fn print_held_back(&mut self, task: usize, name: &str) {
        if let Some(words) = self.held_back.remove(&task) {
            self.printer.progress(name, &words);
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        match &mut self.live {
            Some(live) => live.mention(Mention::Note(text.to_owned())),
            None => self.printer.note(text),
        }
    }

    pub(crate) fn warn(&mut self, text: String) {
        match &mut self.live {
            Some(live) => live.mention(Mention::Warning(text)),
            None => self.printer.warning(&text),
        }
    }

    pub(crate) fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.live.as_ref().map(Live::wakers).unwrap_or_default()
    }

    /// How long until [`Screen::turn`] must be called.
    pub(crate) fn patience(&self, tasks: &[&ShownTask]) -> Option<Duration> {
        self.live.as_ref()?.patience(tasks)
    }

    /// Notifies the user of questions that have come, draws a frame if one is due, and returns what the user has asked
    /// for.
    pub(crate) fn turn(&mut self, tasks: &[&ShownTask]) -> Result<Vec<Command>, CommandError> {
        self.notify_of_questions(tasks);
        self.live.as_mut().map_or_else(|| Ok(Vec::new()), |live| live.turn(tasks))
    }

    /// What the access answers at once is not open any more.
    fn notify_of_questions(&mut self, tasks: &[&ShownTask]) {
        for task in tasks {
            let open = task.state.facts.open_questions.iter().map(|open| open.number);
            let Some(last) = open.max() else { continue };
            let notified = self.notified.entry(task.meta.run_id.clone()).or_default();
            if *notified < last {
                *notified = last;
                self.notify.tell_question(&task.meta.name);
            }
        }
    }

    /// Leaves a table of the tasks that have ended, where there were windows.
    pub(crate) fn close(&mut self, tasks: &[&ShownTask]) -> Result<(), CommandError> {
        self.live.take().map_or(Ok(()), |live| live.close(tasks))
    }
}

/// What an agent's line says behind `error:`.
fn printed_error(line: &str) -> Option<&str> {
    let (word, error) = line.trim().split_once(':')?;
    word.eq_ignore_ascii_case("error").then(|| error.trim())
}

/// Whether the run ends with the error that its agent printed.
fn is_error_of_run(words: &str, event: &Event) -> bool {
    let line = words.strip_prefix("[stderr]: ").unwrap_or(words);
    let Event::RunEnded { error: Some(of_run), .. } = event else { return false };
    printed_error(line).is_some_and(|error| of_run.starts_with(error))
}
