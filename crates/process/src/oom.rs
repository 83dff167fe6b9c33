//! Which process the kernel kills first when memory runs out.

/// How much more likely a process is to be killed that an agent has started than one of the user, of 1000.
#[cfg(target_os = "linux")]
const OFFERED: i32 = 300;

/// Makes the kernel kill this process, and what it starts from here on, rather than others. Where that is not possible,
/// nothing happens.
#[cfg(target_os = "linux")]
pub(crate) fn offer(pid: rustix::process::Pid) {
    use rustix::fs::{Mode, OFlags, open};

    let path = format!("/proc/{pid}/oom_score_adj");
    let Ok(now) = crate::proc_file::read_text(&path) else { return };
    let Ok(now) = now.trim().parse::<i32>() else { return };
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(file) = open(path, flags, Mode::empty()) {
        let more = now.saturating_add(OFFERED).min(1000).to_string();
        let _ = rustix::io::write(file, more.as_bytes());
    }
}

/// Other systems have no such choice.
#[cfg(not(target_os = "linux"))]
pub(crate) fn offer(_pid: rustix::process::Pid) {}
