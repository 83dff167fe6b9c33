//! When a provider gives something again: its words, and the headers of its answers.

use std::time::{Duration, SystemTime};

use agent::provider::read_retry_after;
use governor::quota_ends;

use crate::scratch::parts;

/// The parts are the words of an error, `retry-after-ms` and `retry-after`.
pub(super) fn check(data: &[u8]) {
    let mut parts = parts(data).map(String::from_utf8_lossy);
    let [error, milliseconds, seconds] = [(); 3].map(|()| parts.next().unwrap_or_default());
    check_words(&error);
    check_headers(&milliseconds, &seconds);
}

fn check_words(error: &str) {
    // A time that is not known is none, and never a panic.
    let ends = quota_ends(error);
    let Some(told) = session::quota(error) else { return };
    if told == error {
        return;
    }
    // The stamp of Claude Code, written so that people can read it.
    let Some((words, time)) = told.rsplit_once(". Come again at ") else {
        unreachable!("{told:?} names no time")
    };
    assert!(error.starts_with(words), "{words:?} are no words of {error:?}");
    assert!(words.to_lowercase().ends_with("limit reached"), "{words:?} of {error:?}");
    assert!(!time.is_empty());
    // The words can name another time themselves.
    let names_one = words.to_lowercase().contains("come again at ");
    if let Some(again) = quota_ends(&told).filter(|_| !names_one) {
        assert_eq!(Some(again), ends, "{told:?} means another time than {error:?}");
    }
}

fn check_headers(milliseconds: &str, seconds: &str) {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_772_669);
    let both = read_retry_after(Some(milliseconds), Some(seconds), now);
    let one = read_retry_after(Some(milliseconds), None, now);
    let other = read_retry_after(None, Some(seconds), now);
    assert_eq!(both, one.or(other));
    assert_eq!(read_retry_after(None, None, now), None);
    // A later look at a date waits for less, and never for a negative time.
    let later = read_retry_after(None, Some(seconds), now + Duration::from_secs(5));
    assert_eq!(later.is_some(), other.is_some());
    assert!(later <= other, "{later:?} after {other:?}");
}
