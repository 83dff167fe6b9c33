//! What is done when, through which door, and which fault is injected: everything that is decided before the
//! start, as a pure function of the seed and the length.

use std::ops::Range;
use std::time::Duration;

use crate::random::Random;
use crate::task::Task;

/// All actions and all faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) faults: Vec<Planned<Fault>>,
    pub(crate) speeches: Vec<Planned<Speech>>,
    pub(crate) replies: Vec<Planned<Reply>>,
    /// The tasks of each batch of the fleet.
    pub(crate) batches: Vec<Planned<Vec<Task>>>,
}

/// An action or a fault, and its time from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned<T> {
    pub(crate) at: Duration,
    pub(crate) what: T,
}

/// A user of one door, who does one action after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) door: Door,
    /// The project of a server. Each command of the shell has its own.
    pub(crate) project: Project,
    pub(crate) actions: Vec<Planned<Action>>,
}

/// The ways to submit tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Shell,
    Bridge,
    Mcp,
}

impl Door {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Door::Shell => "shell",
            Door::Bridge => "bridge",
            Door::Mcp => "mcp",
        }
    }
}

/// The projects. Each has faults of its own, so that the audit knows which faults explain what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Project {
    /// Nothing happens to its files.
    Steady,
    /// Its disk is small, and full now and then.
    Small,
    /// Its directories are deleted now and then.
    Doomed,
    /// Its foreground runs have panes of a tmux, which is killed now and then.
    Paned,
    /// Its tasks go to the fleet, whose workers and nodes are killed now and then.
    Sent,
}

impl Project {
    pub(crate) const ALL: [Project; 5] =
        [Project::Steady, Project::Small, Project::Doomed, Project::Paned, Project::Sent];
    /// Those whose files nobody deletes.
    pub(crate) const KEPT: [Project; 4] =
        [Project::Steady, Project::Small, Project::Paned, Project::Sent];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Project::Steady => "steady",
            Project::Small => "small",
            Project::Doomed => "doomed",
            Project::Paned => "paned",
            Project::Sent => "sent",
        }
    }
}

/// One action of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) project: Project,
    pub(crate) kind: ActionKind,
    pub(crate) pace: Pace,
    /// When it is cancelled, from its start.
    pub(crate) cancelled_after: Option<Duration>,
    /// Whether it goes on with the session of an earlier task, where it can.
    pub(crate) resumes: bool,
}

/// The kinds of actions. Every door has each of them, in its own form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActionKind {
    /// `run`, `subagent`.
    One(Task),
    /// `delegate`, `delegate_to_subagents`.
    Many(Vec<Task>),
    /// `bg start`, `background_agent`.
    Background(Task, Afterwards),
    /// Lists runs, which recovers abandoned ones and notifies the ends of background runs.
    List,
}

/// What the shell does with a background run after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Leave,
    Wait,
    Follow,
    Stop,
    StopNow,
}

/// How fast the output of a program is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Eager,
    /// Small pieces with pauses between them.
    Slow,
    /// Nothing is read for so long.
    Absent(Duration),
}

/// A fault that is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGKILL. The number chooses among the processes of that role.
    Kill(Role, u64),
    /// SIGKILL to a door and to all of its supervisors at once.
    KillBoth(u64),
    /// SIGSTOP, and SIGCONT after so long.
    Pause(Role, u64, Duration),
    /// The disk of [`Project::Small`] is full for so long.
    FillDisk(Duration),
    /// A run directory of [`Project::Doomed`] is removed.
    DeleteRun(u64),
    /// All of them are removed.
    DeleteRuns,
    /// The whole project is removed, and made again after so long.
    DeleteProject(Duration),
    /// SIGKILL to the server of tmux, and a new one after so long.
    KillTmux(Duration),
    /// SIGKILL to one of the nodes of the fleet's server, which is started again after so long.
    KillNode(u64, Duration),
    /// SIGSTOP to one of them, and SIGCONT after so long.
    FreezeNode(u64, Duration),
    /// The wall clock of all processes is wrong by so many seconds from now on.
    SetClock(i64),
}

/// A message to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speech {
    /// Chooses among the agents.
    pub(crate) choice: u64,
    /// The flag of `tell` that says when it is read, if it has one.
    pub(crate) timing: Option<&'static str>,
    /// Whether the program that speaks waits until it is read.
    pub(crate) waits: bool,
}

/// An answer to what an agent asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Chooses among the agents.
    pub(crate) choice: u64,
    /// The number of the question. Without one, it is the only one that waits.
    pub(crate) number: Option<u64>,
    /// `yes`, `no` or `always`.
    pub(crate) word: &'static str,
}

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Shell,
    Bridge,
    Mcp,
    Supervisor,
    Agent,
    /// A process that an agent has started.
    Descendant,
    /// A git that makes a worktree, keeps what is in it, or looks at a project.
    Git,
    /// A program in a pane, which shows a run.
    Viewer,
    /// The server of tmux, what it begins with, and programs that ask it for something.
    Tmux,
    /// A worker of the fleet.
    Worker,
    /// The child of a supervisor whose agent is on a worker.
    Relay,
}

/// Runs that finished 30 days ago are pruned, which is right; so the clock must not go from one end to the other by as much.
const FARTHEST_CLOCK: u64 = 14 * 24 * 60 * 60;

/// A shell of the steady project goes to others now and then; the other doors stay where they are.
const LANES: [(Door, Project); 8] = [
    (Door::Shell, Project::Steady),
    (Door::Shell, Project::Steady),
    (Door::Shell, Project::Steady),
    (Door::Shell, Project::Sent),
    (Door::Bridge, Project::Steady),
    (Door::Bridge, Project::Small),
    (Door::Mcp, Project::Steady),
    (Door::Mcp, Project::Doomed),
];

impl Plan {
    /// The plan of a seed.
    pub(crate) fn new(seed: u64, length: Duration) -> Plan {
        let mut random = Random::new(seed);
        let lanes = LANES.iter().enumerate();
        let lanes = lanes.map(|(number, lane)| plan_lane(number, *lane, length, random.split()));
        let lanes = lanes.collect();
        let faults = plan_faults(length, random.split());
        let speeches = plan_speeches(length, random.split());
        let replies = plan_replies(length, random.split());
        Plan { lanes, faults, speeches, replies, batches: plan_batches(length, random.split()) }
    }
}

fn plan_lane(
    number: usize,
    (door, project): (Door, Project),
    length: Duration,
    mut random: Random,
) -> Lane {
    let times = times(length, 500..1_500, random.split());
    let actions = times.into_iter().enumerate().map(|(index, at)| {
        let mut count = 0;
        let mut draw = |random: &mut Random| {
            count += 1;
            Task::draw(format!("{number}-{index}-{count}"), random)
        };
        let kind = match random.within(0..100) {
            0..30 => ActionKind::One(draw(&mut random)),
            30..60 => {
                let tasks = random.within(1..5);
                ActionKind::Many((0..tasks).map(|_| draw(&mut random)).collect())
            }
            60..85 => {
                let afterwards = [
                    (4, Afterwards::Leave),
                    (2, Afterwards::Wait),
                    (1, Afterwards::Follow),
                    (1, Afterwards::Stop),
                    (1, Afterwards::StopNow),
                ];
                let afterwards = random.weighted(&afterwards).unwrap_or(Afterwards::Leave);
                ActionKind::Background(draw(&mut random), afterwards)
            }
            _ => ActionKind::List,
        };
        let action = Action {
            project: match (door, project) {
                (Door::Shell, Project::Steady) => draw_project(&mut random),
                _ => project,
            },
            kind,
            pace: match random.within(0..100) {
                0..70 => Pace::Eager,
                70..85 => Pace::Slow,
                _ => Pace::Absent(milliseconds(300..3_000, &mut random)),
            },
            cancelled_after: random.chance(12).then(|| milliseconds(0..1_500, &mut random)),
            resumes: random.chance(30),
        };
        Planned { at, what: action }
    });
    Lane { door, project, actions: actions.collect() }
}

fn draw_project(random: &mut Random) -> Project {
    let projects = [
        (6, Project::Steady),
        (2, Project::Small),
        (2, Project::Doomed),
        (4, Project::Paned),
        (1, Project::Sent),
    ];
    random.weighted(&projects).unwrap_or(Project::Steady)
}

fn plan_faults(length: Duration, mut random: Random) -> Vec<Planned<Fault>> {
    let times = times(length, 200..900, random.split());
    let faults = times.into_iter().map(|at| {
        let choice = random.next();
        let fault = match random.within(0..100) {
            0..38 => Fault::Kill(draw_role(&mut random), choice),
            38..42 => Fault::KillBoth(choice),
            42..66 => {
                Fault::Pause(draw_role(&mut random), choice, milliseconds(100..3_000, &mut random))
            }
            66..72 => Fault::FillDisk(milliseconds(300..3_000, &mut random)),
            72..80 => Fault::DeleteRun(choice),
            80..83 => Fault::DeleteRuns,
            83..85 => Fault::DeleteProject(milliseconds(100..1_000, &mut random)),
            85..88 => Fault::KillTmux(milliseconds(100..1_500, &mut random)),
            88..91 => Fault::KillNode(choice, milliseconds(300..3_000, &mut random)),
            91..93 => Fault::FreezeNode(choice, milliseconds(300..3_000, &mut random)),
            _ => {
                let seconds = i64::try_from(random.within(0..2 * FARTHEST_CLOCK)).unwrap_or(0);
                Fault::SetClock(seconds - FARTHEST_CLOCK.cast_signed())
            }
        };
        Planned { at, what: fault }
    });
    faults.collect()
}

fn plan_speeches(length: Duration, mut random: Random) -> Vec<Planned<Speech>> {
    let times = times(length, 50..400, random.split());
    let speeches = times.into_iter().map(|at| {
        let timings = [(5, None), (2, Some("--after")), (2, Some("--interrupt"))];
        let timing = random.weighted(&timings).flatten();
        let what = Speech { choice: random.next(), timing, waits: random.chance(50) };
        Planned { at, what }
    });
    speeches.collect()
}

fn plan_replies(length: Duration, mut random: Random) -> Vec<Planned<Reply>> {
    let times = times(length, 200..800, random.split());
    let replies = times.into_iter().map(|at| {
        let choice = random.next();
        let number = random.chance(50).then(|| random.within(1..4));
        let words = [(4, "yes"), (4, "no"), (2, "always")];
        let word = random.weighted(&words).unwrap_or("no");
        Planned { at, what: Reply { choice, number, word } }
    });
    replies.collect()
}

fn plan_batches(length: Duration, mut random: Random) -> Vec<Planned<Vec<Task>>> {
    let times = times(length, 5_000..20_000, random.split());
    let batches = times.into_iter().enumerate().map(|(number, at)| {
        let count = random.within(1..6);
        let tasks = (0..count).map(|index| {
            let task = Task::draw(format!("batch-{number}-{index}"), &mut random);
            // It works in an empty directory, and nothing of it comes back.
            Task { is_isolated: false, ..task }
        });
        Planned { at, what: tasks.collect() }
    });
    batches.collect()
}

fn draw_role(random: &mut Random) -> Role {
    let roles = [
        (25, Role::Shell),
        (7, Role::Bridge),
        (7, Role::Mcp),
        (28, Role::Supervisor),
        (27, Role::Agent),
        (10, Role::Descendant),
        (15, Role::Git),
        (8, Role::Viewer),
        (8, Role::Worker),
        (5, Role::Relay),
    ];
    random.weighted(&roles).unwrap_or(Role::Agent)
}

/// Times up to the length, with so many milliseconds between them.
fn times(length: Duration, between: Range<u64>, mut random: Random) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut at = milliseconds(between.clone(), &mut random);
    while at < length {
        times.push(at);
        at += milliseconds(between.clone(), &mut random);
    }
    times
}

fn milliseconds(range: Range<u64>, random: &mut Random) -> Duration {
    Duration::from_millis(random.within(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_plan() {
        let plan = |seed| Plan::new(seed, Duration::from_secs(60));
        assert_eq!(plan(42), plan(42));
        assert_ne!(plan(42), plan(43));
    }

    #[test]
    fn a_longer_soak_begins_like_a_shorter_one() {
        let [short, long] = [20, 60].map(|seconds| Plan::new(3, Duration::from_secs(seconds)));
        assert!(long.faults.starts_with(&short.faults));
        assert!(long.speeches.starts_with(&short.speeches));
        assert!(long.replies.starts_with(&short.replies));
        assert!(long.batches.starts_with(&short.batches));
        for (short, long) in short.lanes.iter().zip(&long.lanes) {
            assert!(long.actions.starts_with(&short.actions));
        }
    }

    #[test]
    fn two_minutes_have_something_of_everything() {
        let plan = Plan::new(1, Duration::from_secs(120));
        let faults: Vec<String> =
            plan.faults.iter().map(|fault| format!("{:?}", fault.what)).collect();
        for kind in
            ["Kill(Shell", "Kill(Bridge", "Kill(Mcp", "Kill(Supervisor", "Kill(Agent", "Kill(Git"]
                .into_iter()
                .chain(["Kill(Viewer", "Kill(Worker", "Kill(Relay"])
                .chain(["KillTmux", "KillNode", "FreezeNode"])
                .chain([
                    "KillBoth",
                    "Pause",
                    "FillDisk",
                    "DeleteRun(",
                    "DeleteRuns",
                    "DeleteProject",
                ])
                .chain(["SetClock(", "SetClock(-"])
        {
            assert!(faults.iter().any(|fault| fault.starts_with(kind)), "{kind}");
        }
        let pace = |wanted: fn(&Pace) -> bool| {
            plan.lanes.iter().flat_map(|lane| &lane.actions).any(|action| wanted(&action.what.pace))
        };
        assert!(pace(|pace| *pace == Pace::Slow) && pace(|pace| matches!(pace, Pace::Absent(_))));
        for word in ["yes", "no", "always"] {
            assert!(plan.replies.iter().any(|reply| reply.what.word == word), "{word}");
        }
    }
}
