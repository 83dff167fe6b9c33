//! Two streams in the form of pi's JSON mode, compared.

use std::collections::BTreeSet;

use serde_json::Value;

/// What pi's records have and those of the built-in agent do not, with the reason.
const LACKING: &[(&str, &str)] = &[
    ("toolsAdded[].constrainedSampling", "it only matters to those of pi's providers that know it"),
    ("usage.cacheWrite1h", "always 0: nothing is put into the cache for an hour"),
];

/// Keys below which everything belongs to a tool, a model or a prompt.
const FREE: &[&str] = &["args", "arguments", "sections", "parameters"];

/// The records of a stream that can be compared with those of another one: without deltas, the
/// number of which is chance, and without what extensions add.
pub fn comparable(records: Vec<Value>) -> Vec<Value> {
    let is_chance = |record: &Value| {
        ["message_update", "tool_execution_update", "entry_appended"]
            .iter()
            .any(|kind| record["type"] == *kind)
    };
    in_one_order(records.into_iter().filter(|record| !is_chance(record)).map(at_start))
}

/// Calls that run side by side end in any order; puts it into that of their ids.
pub fn in_one_order(records: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut records: Vec<Value> = records.into_iter().collect();
    let is_end =
        |record: &Value| record["type"] == "tool_result" || record["type"] == "tool_execution_end";
    let id =
        |record: &Value| record["id"].as_str().or(record["toolCallId"].as_str()).map(str::to_owned);
    for group in records.chunk_by_mut(|one, other| is_end(one) && is_end(other)) {
        group.sort_by_key(id);
    }
    records
}

/// A record without what pi may have received already when it says that an answer starts, or not.
fn at_start(mut record: Value) -> Value {
    let is_start = record["type"] == "message_start" && record["message"]["role"] == "assistant";
    if let Some(message) = record["message"].as_object_mut().filter(|_| is_start) {
        message.retain(|key, _| !["content", "responseId", "usage"].contains(&key.as_str()));
    }
    record
}

/// Checks that both have records of the same kinds in the same order, with the same keys, with
/// values of the same types, except for what is lacking for a reason.
#[track_caller]
pub fn assert_same_shapes(pis: &[Value], ours: &[Value]) {
    let kinds = |records: &[Value]| {
        let kind = |record: &Value| format!("{} {}", record["type"], record["message"]["role"]);
        records.iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(pis), kinds(ours));
    let differences: BTreeSet<String> =
        pis.iter().zip(ours).flat_map(|(pis, ours)| differences(pis, ours)).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

/// How the shapes of two records differ, except for what is lacking for a reason.
pub fn differences(pis: &Value, ours: &Value) -> BTreeSet<String> {
    let mut differences = BTreeSet::new();
    compare(pis["type"].as_str().unwrap_or_default(), pis, ours, &mut differences);
    differences.retain(|difference| {
        let is_this = |(place, _): &(&str, &str)| difference.ends_with(place);
        !(difference.starts_with("lacks ") && LACKING.iter().any(is_this))
    });
    differences
}

fn compare(place: &str, pis: &Value, ours: &Value, differences: &mut BTreeSet<String>) {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match (pis, ours) {
        (Value::Object(pis), Value::Object(ours)) => {
            for (key, value) in pis {
                let place = format!("{place}.{key}");
                match ours.get(key) {
                    Some(_) if FREE.contains(&key.as_str()) => {}
                    Some(our_value) => compare(&place, value, our_value, differences),
                    None => drop(differences.insert(format!("lacks {place}"))),
                }
            }
            let added = ours.keys().filter(|key| !pis.contains_key(*key));
            differences.extend(added.map(|key| format!("adds {place}.{key}")));
        }
        (Value::Array(pis), Value::Array(ours)) => {
            if pis.len() != ours.len() {
                differences.insert(format!("{place}: {} items, not {}", ours.len(), pis.len()));
            }
            for (pis, ours) in pis.iter().zip(ours) {
                compare(&format!("{place}[]"), pis, ours, differences);
            }
        }
        _ if kind(pis) != kind(ours) => {
            differences.insert(format!("{place}: {}, not {}", kind(ours), kind(pis)));
        }
        _ => {}
    }
}
