//! What is to be done with a file, decided from what is in it and in its backup.

use serde_json::Value;

use super::table::{Client, Form, NAME};
use crate::config::ConfigError;

/// What is to be done so that the client starts this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installation {
    /// Nothing: it does, by this name.
    Unchanged { program: String },
    /// The file gets an entry.
    Add { text: String },
    /// The entry gets the right program.
    Update { text: String },
    /// Nothing: an entry of our name starts something else.
    Foreign { line: usize },
}

/// What is to be done so that the client starts this program no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// Nothing: it does not.
    Nothing,
    /// The file becomes what it was before there was an entry.
    Restore { text: String },
    /// There is nothing in the file but what we have put there.
    DropFile,
    /// The file loses the entry, and is else what it has become since.
    TakeOut { text: String },
    /// Nothing: an entry of our name starts something else.
    Foreign { line: usize },
}

/// Decides what `setup` does. A name without a path that is there already stays if `keeps_name`.
pub(super) fn installation(
    client: &'static Client,
    text: Option<&str>,
    program: &str,
    keeps_name: bool,
) -> Result<Installation, ConfigError> {
    let text = text.unwrap_or_default();
    let form = client.form(text);
    let (format, spot) = (client.format, form.spot());
    let Some(entry) = format.entry(text, spot)? else {
        let text = format.insert(text, spot, &form.entry(program))?;
        return Ok(Installation::Add { text });
    };
    let Some(there) = form.own_program(&entry) else {
        return Ok(Installation::Foreign { line: format.line_of_entry(text, spot) });
    };
    if there == program || (keeps_name && there == NAME) {
        return Ok(Installation::Unchanged { program: there.to_owned() });
    }
    let text = format.set(text, spot, form.program_field(), program)?;
    Ok(Installation::Update { text })
}

/// Decides what `setup --remove` does. A file that `is_linked` was there before us.
pub(super) fn removal(
    client: &'static Client,
    text: &str,
    backup: Option<&str>,
    is_linked: bool,
) -> Result<Removal, ConfigError> {
    let form = client.form(text);
    let (format, spot) = (client.format, form.spot());
    let Some(entry) = format.entry(text, spot)? else { return Ok(Removal::Nothing) };
    if form.own_program(&entry).is_none() {
        return Ok(Removal::Foreign { line: format.line_of_entry(text, spot) });
    }
    let original = backup.filter(|backup| format.entry(backup, spot) == Ok(None));
    if let Some(original) = original {
        if becomes(client, form, original, &entry, text) {
            return Ok(Removal::Restore { text: original.to_owned() });
        }
    } else if !is_linked && becomes(client, form, "", &entry, text) {
        return Ok(Removal::DropFile);
    }
    // Sections that were there before us stay, also where they are empty now.
    let kept = original.and_then(|original| format.sections(original, spot).ok());
    let text = format.remove(text, spot, kept.unwrap_or(spot.section.len()))?;
    Ok(Removal::TakeOut { text })
}

/// Whether a text is what `original` becomes with this entry: then nothing else was changed.
fn becomes(client: &Client, form: &Form, original: &str, entry: &Value, text: &str) -> bool {
    client.format.insert(original, form.spot(), entry).is_ok_and(|with_entry| with_entry == text)
}
