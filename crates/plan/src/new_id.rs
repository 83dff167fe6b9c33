//! Ids that sort by the time at which they were made.

use std::time::SystemTime;

use uuid::{NoContext, Timestamp, Uuid};

/// A new id, which sorts behind those that were made before. With a clock before 1970, which such an
/// id cannot tell, the order is that of chance.
pub fn new_id() -> Uuid {
    new_id_at(SystemTime::now())
}

fn new_id_at(now: SystemTime) -> Uuid {
    if now.duration_since(SystemTime::UNIX_EPOCH).is_ok() {
        return Uuid::now_v7();
    }
    Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_makes_ids_all_the_same() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        let ids = [new_id_at(before), new_id_at(before)];
        assert!(ids[0] != ids[1] && ids[0].to_string().starts_with("00000000-0000-7"), "{ids:?}");
        assert!(new_id() > ids[0] && new_id() < new_id());
    }
}
