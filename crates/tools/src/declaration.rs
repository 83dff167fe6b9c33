//! The parameters of tools. A tool declares each of its parameters once, in a function that is
//! called twice: for the schema that a model is told, and to read what a model has sent.

use serde_json::{Map, Value, json};

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

/// How many models are listed at most. Of more, a model is better told when it names a wrong one.
pub const MOST_LISTED_MODELS: usize = 24;

/// What the arguments of a call are called in messages.
pub(crate) const ARGUMENTS: &str = "arguments";

/// The schema of the parameters that `declare` declares: an object that has these properties and no
/// others.
pub(crate) fn schema<T>(
    models: &[String],
    declare: impl FnOnce(&mut Parameters<'_>) -> Checked<T>,
) -> Value {
    Parameters::declared(models, declare).into_schema()
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
    let mut parameters = Parameters::declared(&[], &declare);
    (parameters.sent, parameters.path) = (Some(sent), path);
    let known = &parameters.properties;
    if let Some(unknown) = sent.keys().find(|name| !known.contains_key(*name)) {
        let problem = if known.is_empty() {
            "is unknown; there are no arguments".to_owned()
        } else {
            let known: Vec<&str> = known.keys().map(String::as_str).collect();
            format!("is unknown; there are {}", known.join(", "))
        };
        return Err(parameters.wrong(unknown, &problem));
    }
    declare(&mut parameters)
}

pub(crate) fn wrong(field: &str, problem: &str) -> ArgumentError {
    ArgumentError { field: field.to_owned(), problem: problem.to_owned() }
}

/// The parameters that have been declared so far, and what was sent for them.
#[derive(Default)]
pub(crate) struct Parameters<'a> {
    /// Absent while the schema is made. Everything that is read is empty then.
    sent: Option<&'a Map<String, Value>>,
    /// Where it stands, such as `tasks[2]`.
    pub(crate) path: &'a str,
    models: &'a [String],
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
        let mut names: Vec<&str> = Vec::new();
        for model in self.models {
            // No value of an enum may be there twice.
            if !names.contains(&model.as_str()) {
                names.push(model);
            }
            // Of more than these none is listed, however many there are.
            if names.len() > MOST_LISTED_MODELS {
                break;
            }
        }
        let schema = if names.is_empty() || names.len() > MOST_LISTED_MODELS {
            json!({"type": "string", "description": "provider/id, instead of the preset's"})
        } else {
            json!({"type": "string", "enum": names})
        };
        let model = self.optional_text(name, "");
        self.properties.insert(name.to_owned(), schema);
        model
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
        let items = schema(self.models, &declare);
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

    /// Leaves out of the schema what the parameters mean, where that has just been said.
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
        models: &'a [String],
        declare: impl FnOnce(&mut Parameters<'a>) -> Checked<T>,
    ) -> Parameters<'a> {
        let mut parameters = Parameters { models, ..Parameters::default() };
        // Nothing was sent that could be wrong.
        let _ = declare(&mut parameters);
        parameters
    }

    fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        schema["additionalProperties"] = json!(false);
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
}
