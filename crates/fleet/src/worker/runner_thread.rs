//! The thread that runs tasks: the same dispatcher and supervisors as for a task of this machine.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use model::{Event, Plan};
use runner::{Change, Dispatcher, Launcher, StopForce, TaskId};
use store::Store;
use tokio::sync::mpsc::UnboundedSender;

enum Order {
    Start { number: u64, plan: Box<Plan>, changes: Changes },
    Stop { number: u64, force: StopForce },
}

/// Where the changes of a task go. What waits there is counted: the server may be away while an agent goes on.
struct Changes {
    sender: UnboundedSender<Change>,
    waiting: Arc<AtomicUsize>,
}

/// The most bytes of the events of a task that wait to be sent. An agent that says more is stopped.
const WAITING_BYTES: usize = 8 * 1024 * 1024;

/// The way to the thread. Runs end when it is dropped.
#[derive(Debug)]
pub(super) struct RunnerThread {
    orders: Sender<Order>,
    waker: UnixStream,
}

impl RunnerThread {
    /// Starts the thread. Runs are recorded below the directory.
    pub(super) fn start(directory: &Path, slots: usize) -> io::Result<RunnerThread> {
        let (orders, received) = channel();
        let (waker, woken) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let store = Store::in_project(directory);
        let program = process::own_executable()?;
        let run = move || {
            Runner { woken, received, by_number: BTreeMap::new(), running: BTreeMap::new() }
                .run(store, &program, slots);
        };
        process::start_thread(run).map_err(|none| none.error)?;
        Ok(RunnerThread { orders, waker })
    }

    /// Runs a task. The last of its changes is its end. Returns the size of those that wait, as [`weight`] counts them: each
    /// is taken off by the receiver.
    pub(super) fn start_task(
        &self,
        number: u64,
        plan: Box<Plan>,
        sender: UnboundedSender<Change>,
    ) -> Arc<AtomicUsize> {
        let waiting = Arc::<AtomicUsize>::default();
        let changes = Changes { sender, waiting: Arc::clone(&waiting) };
        self.order(Order::Start { number, plan, changes });
        waiting
    }

    /// Stops a task.
    pub(super) fn stop_task(&self, number: u64, force: StopForce) {
        self.order(Order::Stop { number, force });
    }

    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
        // A pipe that is full wakes the thread as well.
        let _ = (&self.waker).write(&[1]);
    }
}

struct Runner {
    woken: UnixStream,
    received: Receiver<Order>,
    by_number: BTreeMap<u64, TaskId>,
    running: BTreeMap<TaskId, (u64, Changes)>,
}

impl Runner {
    fn run(mut self, store: Store, program: &Path, slots: usize) {
        let mut dispatcher = Dispatcher::new(store);
        loop {
            for update in dispatcher.wait(&[self.woken.as_fd()], None) {
                let is_end = matches!(update.change, Change::Ended(_));
                if let Some((number, changes)) = self.running.get(&update.task) {
                    let weight = weight(&update.change);
                    let waiting = changes.waiting.fetch_add(weight, Ordering::Relaxed);
                    let _ = changes.sender.send(update.change);
                    if waiting + weight > WAITING_BYTES && !is_end {
                        dispatcher.stop_task(update.task, StopForce::AtOnce);
                    }
                    if is_end {
                        self.by_number.remove(number);
                        self.running.remove(&update.task);
                    }
                }
            }
            let mut bytes = [0; 64];
            while self.woken.read(&mut bytes).is_ok_and(|read| read > 0) {}
            loop {
                match self.received.try_recv() {
                    Ok(Order::Start { number, plan, changes }) => {
                        let launcher = Launcher::new(program.to_owned());
                        let submitted = dispatcher.submit(launcher, slots, [plan]);
                        self.by_number.insert(number, submitted.tasks.start);
                        self.running.insert(submitted.tasks.start, (number, changes));
                    }
                    Ok(Order::Stop { number, force }) => {
                        if let Some(task) = self.by_number.get(&number) {
                            dispatcher.stop_task(*task, force);
                        }
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
        }
    }
}

/// How much memory a change takes, roughly.
pub(super) fn weight(change: &Change) -> usize {
    const SMALL: usize = 256;
    let Change::Record(record) = change else { return SMALL };
    let text = match &record.event {
        Event::UserMessage { text }
        | Event::AssistantMessage { text, .. }
        | Event::ToolResult { text, .. }
        | Event::Stderr { text }
        | Event::UnreadableLine { text, .. } => text.len(),
        Event::ToolCall { args, .. } => args.to_string().len(),
        Event::CheckEnded { output, .. } | Event::PreparationEnded { output, .. } => output.len(),
        _ => 0,
    };
    SMALL + text
}

/// Whether so much waits that the agent was stopped for it.
pub(super) fn is_too_much(waiting: &AtomicUsize) -> bool {
    waiting.load(Ordering::Relaxed) > WAITING_BYTES
}
