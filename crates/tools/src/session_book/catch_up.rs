//! What became of runs whose end is not in the log.

use model::{Outcome, Record, RunId, RunResult, Status};
use store::{RunDir, Store, StoreError};

use super::entry::INTERRUPTED;
use super::{BookRun, SessionBook};

impl SessionBook {
    /// Reads from the run directories what those runs said whose end is not in the log, and how they ended.
    /// Returns them, so that the log gets their entries now.
    pub fn catch_up(&mut self, store: &Store) -> Vec<RunId> {
        let cut_off = self.runs().filter(|run| run.is_cut_off).map(|run| run.run_id().clone());
        let cut_off: Vec<RunId> = cut_off.collect();
        for id in &cut_off {
            // A run without a directory stays interrupted.
            let recorded = read(store, id);
            if let Some(run) = self.run_mut(id) {
                run.is_cut_off = false;
                if let Ok((records, result)) = recorded {
                    run.catch_up(&records, result);
                }
            }
        }
        cut_off
    }
}

impl BookRun {
    fn catch_up(&mut self, records: &[Record], result: Option<RunResult>) {
        let mut run = BookRun::new(self.started.clone());
        for record in records {
            run.apply(record);
        }
        match result {
            // It ended by itself while no caller was there.
            Some(result) if result.outcome != Outcome::Interrupted => run.end(&result),
            _ => {
                run.status = Status::Error;
                run.facts.error = Some(INTERRUPTED.to_owned());
            }
        }
        *self = run;
    }
}

fn read(store: &Store, id: &RunId) -> Result<(Vec<Record>, Option<RunResult>), StoreError> {
    let dir = RunDir::open(&store.path().join(id.as_str()))?;
    let result = runner::recover(&dir)?.result();
    Ok((dir.events()?.collect(), result))
}
