//! The key of a profile, which the supervisor passes in the environment.

use std::ffi::{CStr, CString};

use model::variables;

use super::Secret;

/// The key of the profile with which the agent was started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ProfileKey {
    /// `None` for the provider of the chosen model.
    pub provider: Option<String>,
    pub key: Secret,
}

/// Removes the key from the environment, so that no tool inherits it.
///
/// Call it once, at the very beginning, while this process has one thread.
pub fn take_profile_key() -> Option<ProfileKey> {
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let key = value(variables::PI_API_KEY);
    let provider = value(variables::KEY_PROVIDER);
    for name in [variables::PI_API_KEY, variables::KEY_PROVIDER] {
        if let Ok(name) = CString::new(name) {
            erase(&name);
        }
    }
    key.map(|key| ProfileKey { provider, key: Secret::new(key) })
}

/// Removes a variable and overwrites its value, which a child could otherwise still read in
/// `/proc/PID/environ`.
fn erase(name: &CStr) {
    // SAFETY: the only caller runs before there is a second thread, so that no other thread reads
    // or changes the environment. What `getenv` returns is a string that ends with a zero, in
    // the memory of the environment, which belongs to this process and is writable; its length
    // does not change before it is removed.
    #[expect(unsafe_code, reason = "only a process with one thread can change its environment")]
    unsafe {
        let value = libc::getenv(name.as_ptr());
        if !value.is_null() {
            std::ptr::write_bytes(value, 0, libc::strlen(value));
        }
        libc::unsetenv(name.as_ptr());
    }
}
