//! The output of Claude Code.

use ::protocol::Protocol;

pub(super) fn check(data: &[u8]) {
    super::protocol::check_protocol(Protocol::Claude, data);
    super::protocol::check_conversation(Protocol::Claude, data);
}
