//! The newer system calls that make and change mounts. Landlock forbids `mount`, and knows nothing of these: in
//! a user namespace of its own, a process could let the kernel itself change files outside, such as the working
//! directory of an overlay.

#![expect(clippy::cast_possible_truncation, reason = "the kernel's types")]

use std::io;

/// `open_tree`, `move_mount`, `fsopen`, `fsconfig`, `fsmount`, `fspick`, `mount_setattr` and `open_tree_attr`. Calls of
/// this age have the same numbers on every architecture that we run on.
const FORBIDDEN: [u32; 8] = [428, 429, 430, 431, 432, 433, 442, 467];
/// What is added to the numbers of the calls of x32.
const X32: u32 = 0x4000_0000;

/// Forbids them to the calling process and everything that it starts. It must not be able to gain privileges
/// any more. Allocates nothing, so that it can be called between fork and exec.
pub(crate) fn forbid() -> io::Result<()> {
    const COUNT: usize = FORBIDDEN.len();
    let statement =
        |code: u32, value: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: value };
    let allow = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
    let mut filter = [allow; COUNT + 4];
    // The number of the call is the first field of what the filter looks at.
    filter[0] = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0);
    filter[1] = statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, !X32);
    for (index, number) in FORBIDDEN.into_iter().enumerate() {
        let mut jump = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number);
        // Over the other comparisons and over the permission.
        jump.jt = (COUNT - index) as u8;
        filter[index + 2] = jump;
    }
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    filter[COUNT + 3] = statement(libc::BPF_RET | libc::BPF_K, refusal);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the call has returned, and the kernel copies it.
    #[expect(unsafe_code, reason = "there is no safe way to call it")]
    let result =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
