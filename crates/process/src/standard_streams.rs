//! Standard streams that were closed when this process was started.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when this process was started, as `>&-` does in a shell. What is
/// written to it is lost, although writing succeeds.
pub fn was_stdout_closed() -> bool {
    IS_STDOUT_CLOSED.load(Ordering::Relaxed)
}

static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Before `main` begins, the standard library opens `/dev/null` in place of every closed standard
/// stream. Later it looks the same as the `/dev/null` that other programs hand down on purpose, so this
/// must be found out earlier: the system calls the functions of this section before anything else.
#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[expect(unsafe_code, reason = "nothing safe runs before the standard library")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: this asks for the flags of a descriptor, and needs nothing of the standard library.
    #[expect(unsafe_code, reason = "a safe call could not be given a closed descriptor")]
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    IS_STDOUT_CLOSED.store(flags < 0, Ordering::Relaxed);
}
