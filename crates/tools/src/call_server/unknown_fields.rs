//! Fields of a call that no tool has. Models make some up. Most of them mean nothing and are left out
//! with a warning, but one that is nearly a known field, or that should restrict an agent, must not be
//! ignored: its task fails.

use std::collections::BTreeMap;

use plan::{Refusal, similar_names};
use serde_json::{Map, Value};

/// What would restrict an agent, in the words of other programs as well as in ours. A field counts
/// whatever its case and its separators.
const RESTRICTING: [&str; 20] = [
    "access",
    "allowedpaths",
    "allowedtools",
    "budget",
    "deniedtools",
    "disallowedtools",
    "excludetools",
    "isolation",
    "maxcost",
    "maxtokens",
    "maxturns",
    "nocontextfiles",
    "noextensions",
    "noskills",
    "notools",
    "permissionmode",
    "permissions",
    "readonly",
    "sandbox",
    "tools",
];

/// What was found of fields that no tool has.
#[derive(Debug, Default, PartialEq)]
pub(super) struct UnknownFields {
    /// About fields that were left out.
    pub(super) warnings: Vec<String>,
    /// The tasks that must not start, by their index.
    pub(super) refusals: BTreeMap<usize, Refusal>,
}

/// Takes the unknown fields out of the arguments of a call, given the schema of its tool. What must not
/// be ignored stays where it concerns the whole call, which is then refused.
pub(super) fn take_unknown_fields(arguments: &mut Value, schema: &Value) -> UnknownFields {
    let mut found = UnknownFields::default();
    let Value::Object(fields) = arguments else {
        return found;
    };
    if let Some(Value::Array(tasks)) = fields.get_mut("tasks") {
        let schema = &schema["properties"]["tasks"]["items"];
        for (index, task) in tasks.iter_mut().enumerate() {
            let Value::Object(task) = task else { continue };
            found.take_of_task(index, &format!("tasks[{index}]"), task, schema);
            let Some(Value::Array(files)) = task.get_mut("files") else { continue };
            // A file is a path, or an object.
            let schema = &schema["properties"]["files"]["items"]["anyOf"][1];
            for (number, file) in files.iter_mut().enumerate() {
                let Value::Object(file) = file else { continue };
                let place = format!("tasks[{index}].files[{number}]");
                found.take_of_task(index, &place, file, schema);
            }
        }
    }
    for field in unknown(fields, schema) {
        if judge(&field, schema).is_none() {
            fields.shift_remove(&field);
            found.warnings.push(ignored(&field));
        }
    }
    found
}

impl UnknownFields {
    /// Takes the unknown fields out of an object that belongs to a task.
    fn take_of_task(
        &mut self,
        task: usize,
        place: &str,
        fields: &mut Map<String, Value>,
        schema: &Value,
    ) {
        for field in unknown(fields, schema) {
            fields.shift_remove(&field);
            match judge(&field, schema) {
                Some(refusal) => {
                    self.refusals.entry(task).or_insert(refusal);
                }
                None => self.warnings.push(ignored(&format!("{place}.{field}"))),
            }
        }
    }
}

fn unknown(fields: &Map<String, Value>, schema: &Value) -> Vec<String> {
    let known = &schema["properties"];
    // What is null was left out by saying so.
    let sent = fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
    sent.filter(|name| known.get(name.as_str()).is_none()).cloned().collect()
}

/// Why a field must not be ignored, if it must not.
fn judge(field: &str, schema: &Value) -> Option<Refusal> {
    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let known = known.map(String::as_str);
    if let Some(similar) = similar_names(field, known).into_iter().next() {
        return Some(Refusal::MistypedField { field: field.to_owned(), similar });
    }
    let letters: String = field.chars().filter(char::is_ascii_alphabetic).collect();
    let is_restricting = RESTRICTING.contains(&letters.to_lowercase().as_str());
    is_restricting.then(|| Refusal::RestrictingField { field: field.to_owned() })
}

fn ignored(field: &str) -> String {
    let field = session::shorten(field, 60);
    format!("{field} is unknown and was ignored")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        let fields = |names: &[&str]| -> Value {
            names.iter().map(|name| ((*name).to_owned(), json!({}))).collect::<Map<_, _>>().into()
        };
        let mut task = json!({"properties": fields(&["name", "prompt", "timeout"])});
        let file = json!({"properties": fields(&["path", "start"])});
        task["properties"]["files"] = json!({"items": {"anyOf": [{"type": "string"}, file]}});
        let mut properties = fields(&["profile"]);
        properties["tasks"] = json!({"items": task});
        json!({"properties": properties})
    }

    #[test]
    fn what_means_nothing_is_left_out_with_a_warning() {
        let mut call = json!({
            "tasks": [{
                "name": "a", "prompt": "p", "priority": "high", "notes": null,
                "files": ["x", {"path": "y", "encoding": "utf-8"}],
            }],
            "reason": "because",
        });
        let found = take_unknown_fields(&mut call, &schema());
        let warnings = [
            "tasks[0].priority is unknown and was ignored",
            "tasks[0].files[1].encoding is unknown and was ignored",
            "reason is unknown and was ignored",
        ];
        assert_eq!(found.warnings, warnings);
        assert!(found.refusals.is_empty());
        assert_eq!(call["tasks"][0].as_object().unwrap().len(), 4);
        assert_eq!(call["tasks"][0]["files"], json!(["x", {"path": "y"}]));
        assert!(call.get("reason").is_none());
    }

    #[test]
    fn what_must_not_be_ignored_fails_its_task_or_stays_to_be_refused() {
        let mut call = json!({"tasks": [
            {"name": "a", "prompt": "p", "timout": 5},
            {"name": "b", "prompt": "p"},
            {"name": "c", "prompt": "p", "read_only": true},
            {"name": "d", "prompt": "p", "files": [{"path": "y", "strat": 3}]},
        ], "profil": "x", "allowedTools": ["read"]});
        let found = take_unknown_fields(&mut call, &schema());
        assert!(found.warnings.is_empty());
        let refusals: Vec<(usize, String)> =
            found.refusals.iter().map(|(task, refusal)| (*task, refusal.to_string())).collect();
        assert_eq!(
            refusals,
            [
                (0, "The field \"timout\" is unknown. Did you mean timeout?".to_owned()),
                (
                    2,
                    "The field \"read_only\" is unknown, and would restrict the agent. The task was \
                     not started without it."
                        .to_owned()
                ),
                (3, "The field \"strat\" is unknown. Did you mean start?".to_owned()),
            ]
        );
        assert!(call.get("profil").is_some() && call.get("allowedTools").is_some());
    }
}
