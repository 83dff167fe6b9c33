//! A worker: takes tasks when it has a free slot, and carries them out like tasks of its own machine.

mod attempt;
mod machine;
mod plan;
mod runner_thread;
mod running;
mod snapshots;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use ::plan::Surroundings;
use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::message::AckKind;
use async_nats::jetstream::{Message, kv};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use model::Access;
use runner::{StopForce, now_ms};
use store::{RunDir, Store};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep, timeout};

use self::attempt::Outcome;
use self::machine::Machine;
use self::runner_thread::RunnerThread;
use self::snapshots::Snapshots;
use crate::tasks::server_time;
use crate::{
    Fleet, FleetError, Format, Heartbeat, OfferedAgent, Pool, ServerAddress, TASKS, TaskAddress,
    TaskMessage, Tasks, WORKERS, task_consumer,
};

/// How often a worker says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one request for tasks waits at the server.
const PULL: Duration = Duration::from_secs(1);
/// How many requests for tasks are under way at a time: what is free meanwhile need not wait for the one before.
const PULLS: usize = 2;
/// How often it is looked whether a machine that bears no more agents bears some again.
const ROOM: Duration = Duration::from_millis(500);
/// How long a slot is kept whose task cannot run here.
const SICK: Duration = Duration::from_millis(500);
/// When a task that is not understood or not possible here is offered again.
const REFUSED: Duration = Duration::from_secs(2);

/// What a worker offers, and what it allows.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct WorkerOptions {
    pub server: ServerAddress,
    pub pool: Pool,
    pub slots: usize,
    /// Its own, where it keeps snapshots, worktrees and the records of what runs.
    pub directory: PathBuf,
    /// The agents that it offers; all if absent.
    pub agents: Option<Vec<String>>,
    /// What its lists say about them.
    pub offered: Vec<OfferedAgent>,
    /// The most that agents may change.
    pub access: Access,
    /// Whether commands of tasks are run, which prepare or check the work.
    pub allows_commands: bool,
    pub surroundings: Surroundings,
    /// How long its tasks may go on when it was told to end.
    pub grace: Duration,
    /// How long the server waits for a worker before it gives a task to another one.
    pub lease: Duration,
}

/// What a worker is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerSignal {
    /// Take no more tasks, and end.
    Drain,
    /// End now.
    Quit,
}

/// How far the end of a worker has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    #[default]
    No,
    /// It takes no more tasks.
    Draining,
    /// What runs is given back.
    HandingBack,
}

/// What the parts of a worker share.
struct Worker {
    options: WorkerOptions,
    id: String,
    fleet: Fleet,
    tasks: Tasks,
    workers: kv::Store,
    runner: RunnerThread,
    snapshots: Snapshots,
    running: Cell<usize>,
    next_number: Cell<u64>,
    refusal: RefCell<Option<String>>,
    /// Whether a task runs here whose attempts before were all lost with their workers. There is one at a time.
    has_last_attempt: Cell<bool>,
    /// The tasks of the attempts that are under way.
    attempted: RefCell<HashSet<TaskAddress>>,
    /// The time of the server, once it is known.
    server_clock: Cell<Option<ServerClock>>,
    started_at: u64,
    ending: watch::Receiver<Ending>,
}

/// What the clock of the server shows, by its time at a moment of this process. The clocks of machines differ.
#[derive(Clone, Copy, Debug)]
struct ServerClock {
    /// In milliseconds since 1970.
    time: u64,
    at: Instant,
}

impl ServerClock {
    fn now(self) -> u64 {
        self.time + attempt::millis(self.at.elapsed())
    }
}

/// Takes tasks until it is told to end. `say` tells the user what happens.
pub async fn work(
    options: WorkerOptions,
    signals: UnboundedReceiver<WorkerSignal>,
    say: impl Fn(String),
) -> Result<(), FleetError> {
    LocalSet::new().run_until(serve(options, signals, say)).await
}

async fn serve(
    options: WorkerOptions,
    mut signals: UnboundedReceiver<WorkerSignal>,
    say: impl Fn(String),
) -> Result<(), FleetError> {
    let id = worker_id();
    let fleet = Fleet::connect(&options.server, &format!("pi-subagents worker {id}")).await?;
    wait_for_streams(&fleet, &mut signals, &say).await?;
    let failed = |error: std::io::Error| FleetError::Failed {
        what: "run tasks here".to_owned(),
        reason: error.to_string(),
    };
    let directory = options.directory.clone();
    aside(move || forget_earlier(&directory)).await.flatten().map_err(failed)?;
    let (tasks, workers) = (Tasks::open(&fleet).await?, fleet.bucket(WORKERS).await?);
    let runner = RunnerThread::start(&options.directory, options.slots).map_err(failed)?;
    let machine = Rc::new(Machine::open(&fleet, &options).await?);
    let sharing = tokio::task::spawn_local(machine.clone().share());
    let queue = fleet.stream(TASKS).await?;
    let config = task_consumer(&options.pool, options.lease);
    let consumer: Consumer<pull::Config> = fleet
        .patiently("share the queue", async || queue.create_consumer(config.clone()).await)
        .await?;
    let (ending_sender, ending) = watch::channel(Ending::No);
    let snapshots = Snapshots::new(options.directory.join("snapshots"));
    let worker = Rc::new(Worker {
        snapshots,
        options,
        id,
        fleet,
        tasks,
        workers,
        runner,
        running: Cell::new(0),
        next_number: Cell::new(0),
        refusal: RefCell::default(),
        has_last_attempt: Cell::default(),
        attempted: RefCell::default(),
        server_clock: Cell::default(),
        started_at: now_ms(),
        ending,
    });
    say(format!(
        "Worker {} of the pool \"{}\" takes {} tasks at a time from {}",
        worker.id, worker.options.pool, worker.options.slots, worker.options.server
    ));
    let mut attempts: JoinSet<()> = JoinSet::new();
    let mut pulls = FuturesUnordered::new();
    let mut asked = 0;
    let mut beat_at = Instant::now();
    let mut hand_back_at = None;
    loop {
        while attempts.try_join_next().is_some() {}
        worker.running.set(attempts.len());
        let state = *worker.ending.borrow();
        if state != Ending::No && attempts.is_empty() && pulls.is_empty() {
            break;
        }
        let taken = attempts.len() + asked;
        let free = worker.options.slots.saturating_sub(taken);
        let may_ask = state == Ending::No && free > 0 && pulls.len() < PULLS;
        // What this machine cannot bear waits at the server, where another worker can take it.
        let room = if may_ask { machine.room(taken) } else { Ok(0) };
        let free = free.min(room.clone().unwrap_or_default());
        if let Err(words) = room {
            worker.refuse(words);
        }
        if free > 0 {
            asked += free;
            pulls.push(pull(&consumer, free));
        }
        let until = hand_back_at.unwrap_or_else(|| Instant::now() + HEARTBEAT);
        tokio::select! {
            biased;
            signal = signals.recv() => {
                let next = match (signal, state) {
                    (Some(WorkerSignal::Drain), Ending::No) => Ending::Draining,
                    _ => Ending::HandingBack,
                };
                if next == Ending::Draining {
                    say(format!("It takes no more tasks; {} still run", attempts.len()));
                    hand_back_at = Some(Instant::now() + worker.options.grace);
                }
                let _ = ending_sender.send(next);
                beat_at = Instant::now();
            }
            () = tokio::time::sleep_until(beat_at) => {
                worker.beat().await;
                beat_at = Instant::now() + HEARTBEAT;
            }
            () = tokio::time::sleep_until(until), if hand_back_at.is_some() => {
                say(format!("It gives {} tasks back", attempts.len()));
                hand_back_at = None;
                let _ = ending_sender.send(Ending::HandingBack);
            }
            _ = attempts.join_next(), if !attempts.is_empty() => {}
            () = sleep(ROOM), if may_ask && free == 0 => {}
            // It is never dropped: what is on its way to it would be lost for the time of a lease.
            Some((free, messages)) = pulls.next(), if !pulls.is_empty() => {
                asked -= free;
                for message in messages {
                    if *worker.ending.borrow() == Ending::No {
                        let worker = worker.clone();
                        attempts.spawn_local(async move { worker.take(message).await });
                    } else {
                        let _ = message.ack_with(AckKind::Nak(None)).await;
                    }
                }
            }
        }
    }
    sharing.abort();
    let _ = timeout(HEARTBEAT, worker.workers.delete(worker.key())).await;
    let _ = worker.fleet.client().flush().await;
    Ok(())
}

/// Makes the streams, or waits until a caller has made them: a worker with a key of its own may not.
async fn wait_for_streams(
    fleet: &Fleet,
    signals: &mut UnboundedReceiver<WorkerSignal>,
    say: &impl Fn(String),
) -> Result<(), FleetError> {
    let mut is_told = false;
    loop {
        let error = match fleet.set_up().await {
            Err(error @ FleetError::Forbidden { .. }) => error,
            done => return done,
        };
        if !std::mem::replace(&mut is_told, true) {
            say("It waits for the first caller, which makes the queue".to_owned());
        }
        tokio::select! {
            _ = signals.recv() => return Err(error),
            () = sleep(REFUSED) => {}
        }
    }
}

/// Asks for as many tasks as there are free slots. Returns what is there at once, else waits for the first.
async fn pull(consumer: &Consumer<pull::Config>, free: usize) -> (usize, Vec<Message>) {
    let mut messages = Vec::new();
    let at_once = consumer.fetch().max_messages(free).messages().await;
    if let Ok(mut batch) = at_once {
        while let Some(Ok(message)) = batch.next().await {
            messages.push(message);
        }
    }
    if !messages.is_empty() {
        return (free, messages);
    }
    match consumer.batch().max_messages(1).expires(PULL).messages().await {
        Ok(mut batch) => {
            if let Some(Ok(message)) = batch.next().await {
                messages.push(message);
            }
        }
        // The server is gone, or has no leader.
        Err(_) => sleep(Duration::from_millis(500)).await,
    }
    (free, messages)
}

impl Worker {
    fn key(&self) -> String {
        format!("{}.{}", self.options.pool.token(), self.id)
    }

    async fn beat(&self) {
        let options = &self.options;
        let heartbeat = Heartbeat {
            format: Format,
            worker: self.id.clone(),
            host: host(),
            pool: options.pool.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            slots: options.slots,
            running: self.running.get(),
            agents: options.offered.clone(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: memory(),
            is_draining: *self.ending.borrow() != Ending::No,
            refusal: self.refusal.borrow().clone(),
            started_at: self.started_at,
            at: now_ms(),
        };
        let Ok(value) = serde_json::to_vec(&heartbeat) else { return };
        let told = async {
            self.workers.put(self.key(), value.into()).await.ok()?;
            let at = Instant::now();
            let entry = self.workers.entry(self.key()).await.ok()??;
            Some(ServerClock { time: server_time(&entry)?, at })
        };
        if let Ok(Some(clock)) = timeout(Duration::from_secs(2), told).await {
            self.server_clock.set(Some(clock));
        }
    }

    /// Carries out a task that was delivered, or leaves it to others.
    async fn take(&self, message: Message) {
        let task: TaskMessage = match serde_json::from_slice(&message.payload) {
            Ok(task) => task,
            Err(error) => {
                self.refuse(format!("a task is not understood: {error}"));
                let _ = message.ack_with(AckKind::Nak(Some(REFUSED))).await;
                return;
            }
        };
        let address = task.address.clone();
        if address.task_subject() != message.subject.as_str() {
            self.refuse("a task is not what its subject says".to_owned());
            let _ = message.ack_with(AckKind::Term).await;
            return;
        }
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        let outcome = self.attempt(&task, &message, number).await;
        let settled = match outcome {
            Ok(Outcome::Done) => AckKind::Ack,
            Ok(Outcome::Later(delay)) => AckKind::Nak(Some(delay)),
            Ok(Outcome::HandedBack) => AckKind::Nak(None),
            Ok(Outcome::NotHere(reason)) => {
                if task.is_attended {
                    self.tell_refusal(&task, &reason).await;
                }
                self.refuse(reason);
                // What is wrong with this worker must not make it the fastest one.
                sleep(SICK).await;
                AckKind::Nak(Some(REFUSED))
            }
            Err(error) => {
                self.refuse(error.to_string());
                AckKind::Nak(Some(REFUSED))
            }
        };
        let _ = self
            .fleet
            .patiently("settle a task", async || {
                // Should it be lost, the task is delivered again, and has its result.
                let sent = message.ack_with(settled).await;
                sent.map_err(|error| error.to_string())
            })
            .await;
    }

    fn refuse(&self, reason: String) {
        *self.refusal.borrow_mut() = Some(reason);
    }

    /// Waits until what runs must be given back.
    async fn handing_back(&self) {
        let mut ending = self.ending.clone();
        if ending.wait_for(|ending| *ending >= Ending::HandingBack).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until what runs should have been given back for this time.
    async fn handing_back_for(&self, time: Duration) {
        self.handing_back().await;
        sleep(time).await;
    }

    fn stop(&self, number: u64) {
        self.runner.stop_task(number, StopForce::Gracefully);
    }
}

/// Ends and removes what earlier lives of the worker have left. Its snapshots stay.
fn forget_earlier(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for run in Store::in_project(directory).runs().unwrap_or_default() {
        // If its supervisor was killed, too, only the record leads to its agent.
        let _ = runner::stop_run(&run, StopForce::Gracefully);
        forget_run(&run);
    }
    for name in ["empty", ".pi"] {
        match std::fs::remove_dir_all(directory.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes what is kept here of a run: the caller keeps everything.
fn forget_run(dir: &RunDir) {
    if let Ok(meta) = dir.meta()
        && let Ok(Some(layout)) = runner::worktree_layout(&meta)
    {
        // What cannot be removed is found by `doctor`.
        let _ = workspace::forget(&layout, &meta.cwd);
    }
    dir.discard();
}

/// Does work that waits for the disk or for other programs beside this thread, which tells the server that the worker lives.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<T> {
    let (sender, done) = tokio::sync::oneshot::channel();
    let work = move || drop(sender.send(work()));
    process::start_thread(work).map_err(|none| none.error)?;
    done.await.map_err(std::io::Error::other)
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name of the machine, and what tells its workers apart.
fn worker_id() -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
    let host: String = host().chars().filter(is_plain).take(40).collect();
    let id = ::plan::new_id().to_string().replace('-', "");
    format!("{host}-{}", &id[id.len().saturating_sub(8)..])
}

fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
