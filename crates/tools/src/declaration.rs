//! The parameters of tools. A tool declares each of its parameters once, in a function that is
//! called twice: for the schema that a model is told, and to read what a model has sent.

use plan::{did_you_mean, similar_names};
use serde_json::{Map, Value, json};

use crate::Choices;

/// An argument is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ArgumentError {
    /// Such as `tasks[2].files[0].head`.
    pub field: String,
    /// What is wrong there.
    pub problem: String,
}

/// What was read, or what is wrong with it.
pub(crate) type Checked<T> = Result<T, ArgumentError>;

/// How many tasks the tools take in one call.
pub const MOST_TASKS: usize = 16;

/// How many models or presets are listed at most. Of more, a model is better told when it names a wrong
/// one.
pub const MOST_LISTED: usize = 24;

/// What the arguments of a call are called in messages.
pub(crate) const ARGUMENTS: &str = "arguments";

/// The schema of the parameters that `declare` declares. It forbids no other fields: a client would
/// refuse the whole call, and models make fields up.
pub(crate) fn schema<T>(
    choices: &Choices,
    declare: impl FnOnce(&mut Parameters<'_>) -> Checked<T>,
) -> Value {
    Parameters::declared(choices, declare).into_schema()
}

/// Reads an object that has the parameters that `declare` declares and no others. `path` says in
/// messages where the object stands.
pub(crate) fn read<T>(
    value: &Value,
    path: &str,
    declare: impl Fn(&mut Parameters<'_>) -> Checked<T>,
) -> Checked<T> {
    let Value::Object(sent) = value else {
        return Err(wrong(path, "must be an object"));
    };
    let nothing = Choices::default();
    let mut parameters = Parameters::declared(&nothing, &declare);
    (parameters.sent, parameters.path) = (Some(sent), path);
    let known = &parameters.properties;
    if let Some(unknown) = sent.keys().find(|name| !known.contains_key(*name)) {
        let problem = if known.is_empty() {
            "is unknown; there are no arguments".to_owned()
        } else {
            let known: Vec<&str> = known.keys().map(String::as_str).collect();
            let meant = did_you_mean(&similar_names(unknown, known.iter().copied()));
            let end = if meant.is_empty() { "" } else { "." };
            format!("is unknown; there are {}{end}{meant}", known.join(", "))
        };
        return Err(parameters.wrong(unknown, &problem));
    }
    declare(&mut parameters)
}

pub(crate) fn wrong(field: &str, problem: &str) -> ArgumentError {
    ArgumentError { field: field.to_owned(), problem: problem.to_owned() }
}

/// The parameters that have been declared so far, and what was sent for them.
pub(crate) struct Parameters<'a> {
    /// Absent while the schema is made. Everything that is read is empty then.
    sent: Option<&'a Map<String, Value>>,
    /// Where it stands, such as `tasks[2]`.
    pub(crate) path: &'a str,
    choices: &'a Choices,
    is_brief: bool,
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl Parameters<'_> {
    /// A text that is not blank.
    pub(crate) fn text(&mut self, name: &'static str, about: &str) -> Checked<String> {
        self.declare(name, json!({"type": "string"}), about);
        self.required.push(name);
        match self.sent.map(|sent| sent.get(name)) {
            None => Ok(String::new()),
            Some(Some(Value::String(text))) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Some(Value::String(_))) => Err(self.wrong(name, "must not be empty")),
            Some(Some(_)) => Err(self.wrong(name, "must be a text")),
            Some(None) => Err(self.wrong(name, "is missing")),
        }
    }

    pub(crate) fn optional_text(
        &mut self,
        name: &'static str,
        about: &str,
    ) -> Checked<Option<String>> {
        self.declare(name, json!({"type": "string"}), about);
        match self.given(name) {
            // What was left empty was not meant.
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.wrong(name, "must be a text")),
            None => Ok(None),
        }
    }

    /// The model of a task: one of the list while that is short.
    pub(crate) fn model(&mut self, name: &'static str) -> Checked<Option<String>> {
        let schema = self.one_of(self.choices.models.iter().map(String::as_str));
        let model = self.optional_text(name, "provider/id");
        if let Some(schema) = schema {
            self.properties.insert(name.to_owned(), schema);
        }
        model
    }

    /// The preset of a task: one of the list while that is short.
    pub(crate) fn preset(&mut self, name: &'static str) -> Checked<String> {
        let schema = self.one_of(self.choices.presets());
        let preset = self.text(name, "Its configuration; a wrong name is answered with all names");
        if let Some(schema) = schema {
            self.properties.insert(name.to_owned(), schema);
        }
        preset
    }

    /// One of a few words, which must be there.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
    ) -> Checked<T> {
        let word = self.optional_word(name, words)?;
        self.required.push(name);
        // While the schema is made, nothing was sent.
        let unsent = || self.sent.is_none().then(|| words.first().map(|(_, meaning)| *meaning));
        word.or_else(|| unsent().flatten()).ok_or_else(|| self.wrong(name, "is missing"))
    }

    pub(crate) fn optional_word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
    ) -> Checked<Option<T>> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.declare(name, json!({"type": "string", "enum": known}), "");
        let Some(sent) = self.given(name) else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| sent.as_str() == Some(word));
        let found = found.map(|(_, meaning)| Some(*meaning));
        found.ok_or_else(|| self.wrong(name, &format!("must be {}", known.join(" or "))))
    }

    /// A JSON Schema that can be used.
    pub(crate) fn json_schema(
        &mut self,
        name: &'static str,
        about: &str,
    ) -> Checked<Option<Value>> {
        self.declare(name, json!({"type": "object"}), about);
        let Some(schema) = self.given(name) else { return Ok(None) };
        answer::check_schema(schema).map_err(|error| self.wrong(name, &error.to_string()))?;
        Ok(Some(schema.clone()))
    }

    pub(crate) fn flag(&mut self, name: &'static str, about: &str) -> Checked<bool> {
        self.declare(name, json!({"type": "boolean"}), about);
        match self.given(name) {
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(name, "must be true or false")),
            None => Ok(false),
        }
    }

    pub(crate) fn seconds(&mut self, name: &'static str, about: &str) -> Checked<Option<f64>> {
        self.declare(name, json!({"type": "number", "minimum": 1}), about);
        let seconds = self.given(name).map(|value| {
            let seconds = value.as_f64().filter(|seconds| *seconds >= 1.0);
            seconds.ok_or_else(|| self.wrong(name, "must be a number of seconds, at least 1"))
        });
        seconds.transpose()
    }

    pub(crate) fn count(&mut self, name: &'static str, least: u64) -> Checked<Option<usize>> {
        self.declare(name, json!({"type": "integer", "minimum": least}), "");
        let count = self.given(name).map(|value| {
            let count = value.as_u64().filter(|count| *count >= least);
            let problem = || format!("must be a whole number, at least {least}");
            let count = count.ok_or_else(|| self.wrong(name, &problem()))?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        });
        count.transpose()
    }

    /// A list whose items are read by `read_item`, which is told where each stands.
    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        about: &str,
        items: &Value,
        read_item: impl Fn(&Value, &str) -> Checked<T>,
    ) -> Checked<Vec<T>> {
        self.declare(name, json!({"type": "array", "items": items}), about);
        match self.given(name) {
            Some(Value::Array(values)) => {
                let values = values.iter().enumerate();
                let path = self.path_of(name);
                values.map(|(index, item)| read_item(item, &format!("{path}[{index}]"))).collect()
            }
            Some(_) => Err(self.wrong(name, &format!("must be a list of {name}"))),
            None => Ok(Vec::new()),
        }
    }

    /// The list of tasks of a call. The command line takes any number of them.
    pub(crate) fn tasks<T>(
        &mut self,
        most: Option<usize>,
        declare: impl Fn(&mut Parameters<'_>) -> Checked<T>,
    ) -> Checked<Vec<T>> {
        const NAME: &str = "tasks";
        let items = schema(self.choices, &declare);
        let tasks = self.list(NAME, "", &items, |task, path| read(task, path, &declare));
        self.properties[NAME]["minItems"] = json!(1);
        self.properties[NAME]["maxItems"] = json!(MOST_TASKS);
        self.required.push(NAME);
        let count = match self.sent.map(|sent| sent.get(NAME)) {
            None => return Ok(Vec::new()),
            Some(None) => return Err(self.wrong(NAME, "is missing")),
            Some(Some(Value::Array(tasks))) => tasks.len(),
            Some(Some(_)) => return Err(self.wrong(NAME, "must be a list of tasks")),
        };
        match most {
            _ if count == 0 => Err(self.wrong(NAME, "must hold at least one task")),
            Some(most) if count > most => {
                let problem = format!("must hold at most {most} tasks, but holds {count}");
                Err(self.wrong(NAME, &problem))
            }
            _ => tasks,
        }
    }

    /// Leaves out of the schema what the parameters mean and what they can be, where that has just been
    /// said: a list of models costs more than the whole rest of a task.
    pub(crate) fn briefly(&mut self) -> &mut Self {
        self.is_brief = true;
        self
    }

    /// Lets the schema require nothing, where what is required depends on what else is there.
    pub(crate) fn require_nothing(&mut self) {
        self.required.clear();
    }

    /// The first parameter besides this one for which something was sent.
    pub(crate) fn given_besides(&self, other: &str) -> Option<&str> {
        let names = self.properties.keys().map(String::as_str);
        names.filter(|name| *name != other).find(|name| self.given(name).is_some())
    }

    fn declared<'a, T>(
        choices: &'a Choices,
        declare: impl FnOnce(&mut Parameters<'a>) -> Checked<T>,
    ) -> Parameters<'a> {
        let mut parameters = Parameters {
            sent: None,
            path: "",
            choices,
            is_brief: false,
            properties: Map::new(),
            required: Vec::new(),
        };
        // Nothing was sent that could be wrong.
        let _ = declare(&mut parameters);
        parameters
    }

    fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        schema
    }

    fn declare(&mut self, name: &'static str, mut schema: Value, about: &str) {
        if !about.is_empty() && !self.is_brief {
            schema["description"] = json!(about);
        }
        self.properties.insert(name.to_owned(), schema);
    }

    /// What was sent, unless it is as good as absent.
    pub(crate) fn given(&self, name: &str) -> Option<&Value> {
        self.sent?.get(name).filter(|value| !value.is_null())
    }

    fn path_of(&self, name: &str) -> String {
        // A name can be empty, too, and would not be seen.
        let name = if name.is_empty() { "\"\"" } else { name };
        match self.path {
            ARGUMENTS => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    fn wrong(&self, name: &str, problem: &str) -> ArgumentError {
        wrong(&self.path_of(name), problem)
    }

    /// The schema of a text that is one of these, unless there are none or too many to be listed, or they
    /// have just been listed.
    fn one_of<'a>(&self, known: impl Iterator<Item = &'a str>) -> Option<Value> {
        let mut names: Vec<&str> = Vec::new();
        for name in known {
            // No value of an enum may be there twice.
            if !names.contains(&name) {
                names.push(name);
            }
            // Of more than these none is listed, however many there are.
            if names.len() > MOST_LISTED {
                return None;
            }
        }
        let is_listed = !names.is_empty() && !self.is_brief;
        is_listed.then(|| json!({"type": "string", "enum": names}))
    }
}
