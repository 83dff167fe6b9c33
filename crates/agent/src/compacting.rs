//! Compacts the conversation of a running agent.

use std::io::Write;

use crate::agent::{Agent, Received};
use crate::clock;
use crate::compaction::{first_kept, summary_request, with_task, within};
use crate::event::{CompactionReason, CompactionResult, Event};
use crate::message::{CompactionSummary, Message, StopReason, Usage};
use crate::provider::{Remedy, Request};
use crate::retry::delay;
use crate::tokens;

impl<W: Write> Agent<W> {
    /// Compacts the conversation if the next answer might not fit into the context window.
    pub(crate) fn compact_if_long(&mut self) {
        let window = self.setup.model.context_window;
        let policy = within(self.setup.compaction, window);
        let tokens = self.tokens_in_use();
        if policy.enabled && tokens > window.saturating_sub(policy.reserve_tokens) {
            self.compact(CompactionReason::Threshold);
        }
    }

    /// Compacts the conversation, and returns whether that has succeeded.
    pub(crate) fn compact(&mut self, reason: CompactionReason) -> bool {
        self.stream.emit(&Event::CompactionStart { reason });
        let window = self.setup.model.context_window;
        let policy = within(self.setup.compaction, window);
        let tokens_before = self.tokens_in_use();
        let entries = self.history.entries();
        // If the estimate is far too low, everything would seem recent enough to be kept.
        let estimated = entries.iter().map(|entry| tokens::of_message(&entry.message)).sum::<u64>();
        let kept = first_kept(entries, policy.keep_recent_tokens.min(estimated / 2));
        let previous = entries.iter().find_map(|entry| match &*entry.message {
            Message::CompactionSummary(summary) => Some(summary.summary.as_str()),
            _ => None,
        });
        let previous = self.last_summary.as_deref().or(previous);
        let request = summary_request(&entries[..kept], previous, policy, window);
        let (words, usage) = match self.summarise(&request, reason) {
            Ok(summary) => summary,
            Err(error) => {
                self.stream.emit(&Event::CompactionEnd {
                    reason,
                    result: None,
                    aborted: self.is_stopping,
                    will_retry: false,
                    error_message: (!self.is_stopping).then_some(&*error),
                });
                return false;
            }
        };
        let summary = with_task(&self.task, &words);
        self.last_summary = Some(words);
        let timestamp = clock::now();
        self.history.compact(
            CompactionSummary { summary: summary.clone(), tokens_before, timestamp },
            kept,
        );
        self.run_start = 1;
        let entries = self.history.entries();
        let estimated_tokens_after =
            entries.iter().map(|entry| tokens::of_message(&entry.message)).sum::<u64>();
        self.stream.emit(&Event::CompactionEnd {
            reason,
            result: Some(CompactionResult {
                summary: &summary,
                first_kept_entry_id: entries.get(1).map_or("", |entry| &entry.id),
                tokens_before,
                estimated_tokens_after,
                usage: &usage,
            }),
            aborted: false,
            will_retry: reason == CompactionReason::Overflow,
            error_message: None,
        });
        true
    }

    fn tokens_in_use(&self) -> u64 {
        let entries = self.history.entries().iter();
        let messages: Vec<&Message> = entries.map(|entry| &*entry.message).collect();
        tokens::in_use(&self.setup.system_prompt.text(), &[], &messages)
    }

    /// Lets the model write the summary, with retries as for any answer.
    fn summarise(
        &mut self,
        request: &Request,
        reason: CompactionReason,
    ) -> Result<(String, Usage), String> {
        let mut attempt = 0;
        let summary = loop {
            let Received { message, error, .. } = self.receive(request.clone(), false);
            let Some(error) = error else {
                break match message.stop_reason {
                    StopReason::Aborted => Err("Compaction was aborted".to_owned()),
                    StopReason::Length => Err("the summary is too long to be complete".to_owned()),
                    _ if message.text().trim().is_empty() => Err("the summary is empty".to_owned()),
                    _ => Ok((message.text(), message.usage)),
                };
            };
            let delay = match error.remedy {
                Remedy::Retry { after } => {
                    delay(&self.setup.retry, attempt + 1, after, Self::chance())
                }
                Remedy::Compact | Remedy::None => None,
            };
            let Some(delay) = delay else { break Err(error.message) };
            attempt += 1;
            self.stream.emit(&Event::SummarizationRetryScheduled {
                attempt,
                max_attempts: self.setup.retry.max_retries,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                error_message: &error.message,
            });
            if !self.pause(delay) {
                break Err("Compaction was aborted".to_owned());
            }
            self.stream
                .emit(&Event::SummarizationRetryAttemptStart { source: "compaction", reason });
        };
        if attempt > 0 {
            self.stream.emit(&Event::SummarizationRetryFinished);
        }
        summary
    }
}
