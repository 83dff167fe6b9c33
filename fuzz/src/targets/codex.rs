//! The output of Codex.

use ::protocol::Protocol;

pub(super) fn check(data: &[u8]) {
    super::protocol::check_protocol(Protocol::Codex, data);
}
