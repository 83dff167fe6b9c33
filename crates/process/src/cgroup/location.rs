//! Where the cgroup of this process is, according to `/proc`. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The directories that are, or were until another mount covered them, the cgroup of a process, the
/// latest mount first.
///
/// `mountinfo` and `membership` are the process's `/proc/self/mountinfo` and `/proc/self/cgroup`.
/// The membership is told relative to the root of the cgroup namespace, and a mount can show only a
/// part of that.
pub(super) fn directories(mountinfo: &[u8], membership: &[u8]) -> Vec<PathBuf> {
    let Some(cgroup) = unified_path(membership) else { return Vec::new() };
    mounts(mountinfo)
        .filter_map(|mount| {
            let beneath = cgroup.strip_prefix(&mount.root).ok()?;
            // Outside of the namespace, paths begin with `/..`.
            let leads_up = beneath.components().any(|part| part == Component::ParentDir);
            (!leads_up).then(|| mount.mount_point.join(beneath))
        })
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect()
}

/// The directories in which the memory of this process is counted, each with the mount point of its hierarchy, and whether
/// that is of version 2.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn memory_directories(
    mountinfo: &[u8],
    membership: &[u8],
) -> Vec<(PathBuf, PathBuf, bool)> {
    let within = |mount: Mount, cgroup: &Path, is_unified: bool| {
        // A container can see only its own part of the hierarchy, under a path that it cannot see.
        let beneath = cgroup.strip_prefix(&mount.root).unwrap_or(Path::new(""));
        Some((mount.mount_point.join(beneath), mount.mount_point, is_unified))
    };
    let one = version_1_path(membership).and_then(|cgroup| {
        let mount = mounts_of(mountinfo, |kind, options| {
            kind == b"cgroup" && options.split(|byte| *byte == b',').any(|word| word == b"memory")
        });
        within(mount.last()?, &cgroup, false)
    });
    let two = unified_path(membership)
        .and_then(|cgroup| within(mounts(mountinfo).last()?, &cgroup, true));
    one.into_iter().chain(two).collect()
}

/// The path in the version 1 hierarchy of the controller of memory.
#[cfg(any(target_os = "linux", test))]
fn version_1_path(membership: &[u8]) -> Option<PathBuf> {
    membership.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.splitn(3, |byte| *byte == b':');
        let mut controllers = fields.nth(1)?.split(|byte| *byte == b',');
        controllers.any(|word| word == b"memory").then_some(())?;
        Some(PathBuf::from(OsString::from_vec(fields.next()?.to_vec())))
    })
}

/// Whether any version 2 hierarchy is mounted.
pub(super) fn is_mounted(mountinfo: &[u8]) -> bool {
    mounts(mountinfo).next().is_some()
}

/// A mount of the version 2 hierarchy.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// What of the hierarchy is seen at the mount point.
    root: PathBuf,
    mount_point: PathBuf,
}

fn mounts(mountinfo: &[u8]) -> impl Iterator<Item = Mount> {
    mounts_of(mountinfo, |kind, _| kind == b"cgroup2")
}

/// The mounts of a kind of file system, with these options.
fn mounts_of(
    mountinfo: &[u8],
    is_wanted: impl Fn(&[u8], &[u8]) -> bool,
) -> impl Iterator<Item = Mount> {
    mountinfo.split(|byte| *byte == b'\n').filter_map(move |line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let root = path(fields.nth(3)?);
        let mount_point = path(fields.next()?);
        // Optional fields follow, as many as there are, up to a hyphen.
        fields.find(|field| *field == b"-")?;
        let kind = fields.next()?;
        let options = fields.nth(1).unwrap_or_default();
        is_wanted(kind, options).then_some(Mount { root, mount_point })
    })
}

/// The path in the version 2 hierarchy, which has the number 0 and names no controllers.
fn unified_path(membership: &[u8]) -> Option<PathBuf> {
    let mut lines = membership.split(|byte| *byte == b'\n');
    let cgroup = lines.find_map(|line| line.strip_prefix(b"0::"))?;
    let cgroup = PathBuf::from(OsString::from_vec(cgroup.to_vec()));
    cgroup.is_absolute().then_some(cgroup)
}

/// A path as `mountinfo` writes it: white space and backslashes as three octal digits.
fn path(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first == b'\\'
            && let [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..] = behind
        {
            bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = behind;
        } else {
            bytes.push(*first);
        }
    }
    Path::new(&OsString::from_vec(bytes)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURE: &str = "\
23 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
35 24 0:29 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    const HYBRID: &str = "\
30 24 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[track_caller]
    fn assert_directories(mountinfo: &str, membership: &str, expected: &[&str]) {
        let found = directories(mountinfo.as_bytes(), membership.as_bytes());
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_directory_is_beneath_the_mount() {
        assert_directories(
            PURE,
            "0::/user.slice/a.scope\n",
            &["/sys/fs/cgroup/user.slice/a.scope"],
        );
        assert_directories(PURE, "0::/\n", &["/sys/fs/cgroup"]);
        let membership = "9:name=systemd:/x\n4:memory:/y\n0::/z\n";
        assert_directories(HYBRID, membership, &["/sys/fs/cgroup/unified/z"]);
    }

    #[test]
    fn without_a_mount_or_a_membership_there_is_none() {
        assert_directories("", "0::/a\n", &[]);
        assert_directories(PURE, "", &[]);
        assert_directories(PURE, "4:memory:/a\n", &[]);
        assert_directories(PURE, "0::relative\n", &[]);
        let version_1 = "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        assert_directories(version_1, "4:memory:/a\n", &[]);
        assert!(!is_mounted(version_1.as_bytes()));
        assert!(is_mounted(HYBRID.as_bytes()));
    }

    #[test]
    fn a_mount_can_show_a_part_of_the_hierarchy() {
        let part = "41 31 0:38 /kubepods/pod1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_directories(part, "0::/kubepods/pod1/work", &["/sys/fs/cgroup/work"]);
        assert_directories(part, "0::/kubepods/pod1", &["/sys/fs/cgroup"]);
        assert_directories(part, "0::/kubepods/pod10", &[]);
        assert_directories(part, "0::/", &[]);
    }

    #[test]
    fn what_is_outside_of_the_namespace_cannot_be_reached() {
        assert_directories(PURE, "0::/../other", &[]);
        let above = "41 31 0:38 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_directories(above, "0::/work", &[]);
    }

    #[test]
    fn a_later_mount_comes_first() {
        let twice = format!("{HYBRID}63 43 0:38 / /mnt\\040\\134 rw,relatime - cgroup2 none rw\n");
        assert_directories(&twice, "0::/z", &["/mnt \\/z", "/sys/fs/cgroup/unified/z"]);
    }

    #[test]
    fn damaged_lines_are_passed_over() {
        let damaged = format!("\n1 2 3\n5 5 5 / /a rw cgroup2 cgroup2 rw\n6 6 6 / /b rw -\n{PURE}");
        assert_directories(&damaged, "junk\n0::/z", &["/sys/fs/cgroup/z"]);
        assert_eq!(path(b"\\04\\999\\"), Path::new("\\04\\999\\"));
    }

    #[test]
    fn memory_is_counted_where_the_controller_is() {
        let mounts = "\
32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = memory_directories(mounts.as_bytes(), b"4:memory:/a/b\n1:cpu:/c\n0::/d\n");
        let one = Path::new("/sys/fs/cgroup/memory");
        let two = Path::new("/sys/fs/cgroup/unified");
        let expected =
            [(one.join("a/b"), one.to_owned(), false), (two.join("d"), two.to_owned(), true)];
        assert_eq!(found, expected);
        let contained = "32 30 0:28 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        for (path, beneath) in [("/docker/1/x", "x"), ("/elsewhere", "")] {
            let found =
                memory_directories(contained.as_bytes(), format!("4:memory:{path}").as_bytes());
            assert_eq!(found, [(one.join(beneath), one.to_owned(), false)]);
        }
    }
}
