//! The progress of an agent's own list of things to do.

use serde_json::Value;

/// The to-dos of an agent, as far as its tool calls show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Todos {
    /// All of them.
    pub total: u64,
    /// Those that were completed or abandoned; at most `total`.
    pub done: u64,
}

impl Todos {
    /// Whether some are left to do.
    pub fn are_open(self) -> bool {
        self.done < self.total
    }

    /// Takes the next tool call.
    pub(crate) fn observe(&mut self, tool: &str, args: &Value) {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let count =
            |name: &str| args.get(name).and_then(Value::as_array).map_or(0, Vec::len) as u64;
        match (tool, text("action"), text("mode")) {
            ("write_todos", _, Some("append")) | ("edit_todos", Some("add"), _) => {
                self.total = self.total.saturating_add(count("todos"));
            }
            ("write_todos", _, _) => {
                let todos =
                    args.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let is_done =
                    |todo: &&Value| todo.get("status").is_some_and(|word| word == "completed");
                let done = todos.iter().filter(is_done).count() as u64;
                *self = Todos { total: todos.len() as u64, done };
            }
            ("edit_todos", Some("complete" | "abandon"), _) => {
                // A to-do can be completed twice.
                self.done = self.done.saturating_add(count("indices")).min(self.total);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_change_the_numbers() {
        let mut todos = Todos::default();
        for (tool, args, expected) in [
            ("edit_todos", json!({"action": "complete", "indices": [0]}), (0, 0)),
            ("write_todos", json!({"todos": [{}, {}, {}]}), (0, 3)),
            ("edit_todos", json!({"action": "complete", "indices": [0, 1]}), (2, 3)),
            ("edit_todos", json!({"action": "complete"}), (2, 3)),
            ("edit_todos", json!({"action": "rename", "indices": [2]}), (2, 3)),
            ("write_todos", json!({"mode": "append", "todos": [{}]}), (2, 4)),
            ("edit_todos", json!({"action": "add", "todos": [{}]}), (2, 5)),
            ("edit_todos", json!({"action": "abandon", "indices": [2]}), (3, 5)),
            ("edit_todos", json!({"action": "complete", "indices": [0, 1, 2, 3]}), (5, 5)),
            ("read", json!({"todos": [{}], "indices": [1]}), (5, 5)),
            ("write_todos", json!({"mode": "replace", "todos": [{}]}), (0, 1)),
            (
                "write_todos",
                json!({"todos": [{"status": "completed"}, {"status": "pending"}]}),
                (1, 2),
            ),
            ("write_todos", json!(null), (0, 0)),
        ] {
            todos.observe(tool, &args);
            assert_eq!((todos.done, todos.total), expected, "{tool} {args}");
        }
    }
}
