//! Decides how to change a configuration file, from its text and that of its backup.

use serde_json::Value;

use super::table::{Client, Form, NAME};
use crate::config::ConfigError;

/// How to make the client start this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installation {
    /// An entry exists, and names this program so.
    Unchanged { program: String },
    /// Add an entry.
    Add { text: String },
    /// Change the program that the entry names, or add what it lacks.
    Update { text: String, program: String },
    /// Refuse: an entry of our name starts another program.
    Foreign { line: usize },
}

/// How to make the client start this program no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// There is no entry.
    Nothing,
    /// Only the entry was added since the backup: restore that.
    Restore { text: String },
    /// The file has nothing but our entry: remove it.
    DropFile,
    /// The file has changed since the backup: remove only the entry.
    TakeOut { text: String },
    /// Refuse: an entry of our name starts another program.
    Foreign { line: usize },
}

/// Decides what `setup` does. If `keeps_name`, an entry that names the program without a path stays.
pub(super) fn installation(
    client: &'static Client,
    text: Option<&str>,
    program: &str,
    keeps_name: bool,
) -> Result<Installation, ConfigError> {
    let text = text.unwrap_or_default();
    let form = client.form(text);
    let (format, path) = (client.format, form.entry_path());
    let Some(entry) = format.entry(text, path)? else {
        let text = format.insert(text, path, &form.entry(program))?;
        return Ok(Installation::Add { text });
    };
    let Some(there) = form.own_program(&entry) else {
        return Ok(Installation::Foreign { line: format.line_of_entry(text, path) });
    };
    let is_right = there == program || (keeps_name && there == NAME);
    let program = if is_right { there } else { program }.to_owned();
    let mut after = text.to_owned();
    if !is_right {
        after = format.set(text, path, form.program_field(), &program)?;
    }
    // An entry of an earlier version: without the names, no key reaches this program. One that cannot be changed is the
    // user's own, and stays.
    if let Some((before, name)) = form.missing_variables(&entry)
        && let Ok(with_names) = format.add(&after, path, before, name, &form.entry("")[name])
    {
        after = with_names;
    }
    if after == text {
        return Ok(Installation::Unchanged { program });
    }
    Ok(Installation::Update { text: after, program })
}

/// Decides what `setup --remove` does. A file that `is_linked` was not created by us.
pub(super) fn removal(
    client: &'static Client,
    text: &str,
    backup: Option<&str>,
    is_linked: bool,
) -> Result<Removal, ConfigError> {
    let form = client.form(text);
    let (format, path) = (client.format, form.entry_path());
    let Some(entry) = format.entry(text, path)? else { return Ok(Removal::Nothing) };
    if form.own_program(&entry).is_none() {
        return Ok(Removal::Foreign { line: format.line_of_entry(text, path) });
    }
    let original = backup.filter(|backup| format.entry(backup, path) == Ok(None));
    if let Some(original) = original {
        if becomes(client, form, original, &entry, text) {
            return Ok(Removal::Restore { text: original.to_owned() });
        }
    } else if !is_linked && becomes(client, form, "", &entry, text) {
        return Ok(Removal::DropFile);
    }
    // Sections that existed before our entry stay, even if they are empty now.
    let kept = original.and_then(|original| format.sections(original, path).ok());
    let text = format.remove(text, path, kept.unwrap_or(path.section.len()))?;
    Ok(Removal::TakeOut { text })
}

/// Whether the text is `original` with this entry, and nothing else was changed.
fn becomes(client: &Client, form: &Form, original: &str, entry: &Value, text: &str) -> bool {
    client
        .format
        .insert(original, form.entry_path(), entry)
        .is_ok_and(|with_entry| with_entry == text)
}
