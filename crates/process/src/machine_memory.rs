//! How much memory there is, and how much of it can still be had: by the machine, and by the cgroups that bound this
//! process.

#[cfg(target_os = "linux")]
use std::collections::HashMap;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

/// What is known of the memory that this process and its children can use. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The machine's, or the limit of the cgroup that leaves least.
    pub total: u64,
    /// What can be had without another process losing any of its own.
    pub available: u64,
}

#[cfg(any(target_os = "linux", test))]
impl Memory {
    fn tighter(self, other: Memory) -> Memory {
        if other.available < self.available { other } else { self }
    }
}

/// How much of the last ten seconds processes have waited for memory, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryPressure {
    /// At least one process waited.
    pub some: f64,
    /// All processes waited, and no work was done.
    pub full: f64,
}

/// Where the memory of this process is counted. What is found once is looked at often.
#[derive(Clone, Debug, Default)]
pub struct MemoryGauge {
    #[cfg(target_os = "linux")]
    groups: Vec<Group>,
}

/// A cgroup with a limit of memory.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    directory: PathBuf,
    version: Version,
}

#[cfg(any(target_os = "linux", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

#[cfg(target_os = "linux")]
impl MemoryGauge {
    /// Finds the cgroups that bound the memory of this process.
    pub fn find() -> MemoryGauge {
        use crate::proc_file::read;

        let mounts = read("/proc/self/mountinfo").unwrap_or_default();
        let membership = read("/proc/self/cgroup").unwrap_or_default();
        let found = crate::cgroup::memory_directories(&mounts, &membership);
        let groups = found.into_iter().flat_map(|(directory, mount_point, is_unified)| {
            let version = if is_unified { Version::Two } else { Version::One };
            // Each group counts for all that are below it.
            let up = directory.ancestors().take_while(|above| above.starts_with(&mount_point));
            up.map(|above| Group { directory: above.to_owned(), version }).collect::<Vec<_>>()
        });
        MemoryGauge { groups: groups.filter(|group| group.limit().is_some()).collect() }
    }

    /// What there is now; `None` if the system does not tell.
    pub fn look(&self) -> Option<Memory> {
        let machine = of_machine(&crate::proc_file::read_text("/proc/meminfo").ok()?)?;
        let groups = self.groups.iter().filter_map(Group::memory);
        // A limit beyond the machine's memory is none.
        let groups = groups.filter(|group| group.total < machine.total);
        Some(groups.fold(machine, Memory::tighter))
    }

    /// How short memory is. Nothing waits where the system does not tell.
    pub fn pressure(&self) -> MemoryPressure {
        let of_group = self.groups.iter().filter(|group| group.version == Version::Two);
        let of_group = of_group.map(|group| group.directory.join("memory.pressure"));
        let files = std::iter::once(PathBuf::from("/proc/pressure/memory")).chain(of_group);
        files.filter_map(|path| pressure(&text(&path)?)).fold(
            MemoryPressure::default(),
            |worst, next| MemoryPressure {
                some: worst.some.max(next.some),
                full: worst.full.max(next.full),
            },
        )
    }
}

/// How much memory everything takes that each of these processes has started, as [`crate::Tree::resources`] counts it. In bytes.
/// Its cgroup tells it, if it is one of a hierarchy that counts memory. Zero where the system does not tell.
pub fn memory_below_each(processes: &[(u32, Option<&Path>)]) -> Vec<u64> {
    #[cfg(target_os = "linux")]
    {
        let counted = processes.iter().map(|(_, cgroup)| {
            text(&cgroup.as_ref()?.join("memory.current"))?.trim().parse::<u64>().ok()
        });
        let counted: Vec<Option<u64>> = counted.collect();
        if let Some(counted) = counted.iter().copied().collect() {
            return counted;
        }
        let root = |pid: u32| i32::try_from(pid).ok().and_then(crate::Pid::from_raw);
        let roots: Vec<_> = processes.iter().filter_map(|(pid, _)| root(*pid)).collect();
        let trees = crate::proc_table::below_each(&roots).unwrap_or_default();
        let sizes = trees
            .into_iter()
            .map(|tree| crate::resources::memory_of(tree.into_iter().map(|member| member.pid)));
        let sizes: HashMap<_, _> = roots.iter().copied().zip(sizes).collect();
        let of_tree = |pid: u32| root(pid).and_then(|root| sizes.get(&root).copied());
        let found = processes.iter().zip(counted);
        found.map(|((pid, _), counted)| counted.or_else(|| of_tree(*pid)).unwrap_or(0)).collect()
    }
    #[cfg(not(target_os = "linux"))]
    {
        vec![0; processes.len()]
    }
}

#[cfg(not(target_os = "linux"))]
impl MemoryGauge {
    /// Other systems do not tell.
    pub fn find() -> MemoryGauge {
        MemoryGauge::default()
    }

    /// Other systems do not tell.
    pub fn look(&self) -> Option<Memory> {
        None
    }

    /// Other systems do not tell.
    pub fn pressure(&self) -> MemoryPressure {
        MemoryPressure::default()
    }
}

#[cfg(target_os = "linux")]
impl Group {
    fn number(&self, name: &str) -> Option<u64> {
        text(&self.directory.join(name))?.trim().parse().ok()
    }

    /// The limit, if there is one: version 2 says `max`, and version 1 a number that no machine has.
    fn limit(&self) -> Option<u64> {
        let name = match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        self.number(name).filter(|limit| *limit < 1 << 60)
    }

    fn memory(&self) -> Option<Memory> {
        let used = match self.version {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        };
        let statistics = text(&self.directory.join("memory.stat")).unwrap_or_default();
        Some(in_group(self.limit()?, self.number(used)?, &statistics, self.version))
    }
}

#[cfg(target_os = "linux")]
fn text(path: &Path) -> Option<String> {
    crate::proc_file::read_text(path.to_str()?).ok()
}

/// What `/proc/meminfo` says.
#[cfg(any(target_os = "linux", test))]
fn of_machine(text: &str) -> Option<Memory> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(Memory { total: value("MemTotal")?, available: value("MemAvailable")? })
}

/// What is left in a cgroup. The cache of files gives way; of what was used lately, only half is counted, because the
/// programs that run are in it.
#[cfg(any(target_os = "linux", test))]
fn in_group(limit: u64, used: u64, statistics: &str, version: Version) -> Memory {
    let prefix = match version {
        Version::One => "total_",
        Version::Two => "",
    };
    let value = |name: &str| {
        let find = |line: &str| line.strip_prefix(prefix)?.strip_prefix(name)?.trim().parse().ok();
        statistics.lines().find_map(find).unwrap_or(0_u64)
    };
    let cache = value("inactive_file ") + value("active_file ") / 2;
    let held = used.saturating_sub(cache);
    Memory { total: limit, available: limit.saturating_sub(held) }
}

/// What a file of the kernel's pressure information says.
#[cfg(any(target_os = "linux", test))]
fn pressure(text: &str) -> Option<MemoryPressure> {
    let average = |word: &str| {
        let line = text.lines().find(|line| line.starts_with(word))?;
        let value = line.split(' ').find_map(|field| field.strip_prefix("avg10="))?;
        value.parse::<f64>().ok()
    };
    Some(MemoryPressure { some: average("some")?, full: average("full").unwrap_or(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    #[test]
    fn what_the_machine_has_is_read() {
        let text = "MemTotal:       24684000 kB\nMemFree: 5 kB\nMemAvailable:   21000000 kB\n";
        let memory = of_machine(text).unwrap();
        assert_eq!((memory.total, memory.available), (24_684_000 * 1024, 21_000_000 * 1024));
        assert_eq!(of_machine("MemTotal: 5 kB\n"), None);
        assert_eq!(of_machine("MemTotal: many kB\nMemAvailable: 3 kB\n"), None);
    }

    /// Of a run, what is learned for the next ones leaves its supervisor out, too.
    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "processes that are only looked at")]
    fn the_starter_of_a_tree_is_no_part_of_it() {
        let mut alone = std::process::Command::new("cat");
        let alone = alone.stdin(std::process::Stdio::piped()).spawn();
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", "cat; true"]).stdin(std::process::Stdio::piped()).spawn();
        let (mut alone, mut shell) = (alone.unwrap(), shell.unwrap());
        let processes = [(alone.id(), None), (shell.id(), None), (0, None)];
        let sizes = std::iter::repeat_with(|| memory_below_each(&processes));
        // Until the shell has started its child.
        let sizes = sizes.take(1_000_000).find(|sizes| sizes[1] > 0).unwrap();
        assert_eq!((sizes[0], sizes[2]), (0, 0));
        drop((alone.stdin.take(), shell.stdin.take()));
        alone.wait().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn the_cache_of_a_cgroup_gives_way() {
        let (limit, used) = (1024 * MEGABYTE, 900 * MEGABYTE);
        let cache = (200 * MEGABYTE, 100 * MEGABYTE);
        let two = format!("anon 1\ninactive_file {}\nactive_file {}\n", cache.0, cache.1);
        let one = format!(
            "inactive_file 7\nactive_file 7\ntotal_inactive_file {}\ntotal_active_file {}\n",
            cache.0, cache.1
        );
        for (statistics, version) in [(&two, Version::Two), (&one, Version::One)] {
            let memory = in_group(limit, used, statistics, version);
            assert_eq!(memory, Memory { total: limit, available: (124 + 250) * MEGABYTE });
        }
        assert_eq!(in_group(5, 9, "", Version::Two).available, 0);
    }

    #[test]
    fn the_tightest_bound_counts() {
        let machine = Memory { total: 100, available: 50 };
        let group = Memory { total: 80, available: 60 };
        assert_eq!(machine.tighter(group), machine);
        let tight = Memory { total: 20, available: 4 };
        assert_eq!(machine.tighter(tight), tight);
    }

    #[test]
    fn pressure_is_the_share_of_the_last_ten_seconds() {
        let text = "some avg10=12.50 avg60=3.00 avg300=1.00 total=17\n\
                    full avg10=4.25 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!(pressure(text), Some(MemoryPressure { some: 12.5, full: 4.25 }));
        assert_eq!(pressure(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory() {
        let memory = MemoryGauge::find().look().unwrap();
        assert!(memory.available > 0 && memory.available <= memory.total, "{memory:?}");
    }
}
