//! Messages of JSON-RPC that are too long to be read.

use serde_json::Value;

/// The id of a message of which only the beginning and the end are known. The first fields and the last
/// one of a line always belong to the message itself.
pub fn id_of_cut_message(head: &[u8], tail: &[u8]) -> Option<Value> {
    let read = |text: &str| serde_json::from_str(text.trim()).ok();
    let head = String::from_utf8_lossy(head);
    let first: Vec<&str> = head.trim_start().trim_start_matches('{').splitn(3, ',').collect();
    let in_front = first.iter().take(2).find_map(|field| {
        let (name, value) = field.split_once(':')?;
        (name.trim() == "\"id\"").then(|| read(value)).flatten()
    });
    in_front.or_else(|| {
        let tail = String::from_utf8_lossy(tail);
        let (_, last) = tail.trim_end().strip_suffix('}')?.rsplit_once(',')?;
        let (name, value) = last.split_once(':')?;
        (name.trim() == "\"id\"").then(|| read(value)).flatten()
    })
}
