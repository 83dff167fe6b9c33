//! The output of agents that speak the Agent Client Protocol.

use ::protocol::Protocol;

pub(super) fn check(data: &[u8]) {
    super::protocol::check_protocol(Protocol::Acp, data);
    super::protocol::check_conversation(Protocol::Acp, data);
}
