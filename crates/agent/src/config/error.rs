//! Why no model can be asked, and what the user can do.

use std::path::PathBuf;

use super::local_servers::LocalServer;
use super::survey::UnsupportedKey;
use super::value::Unresolved;
use crate::provider::Api;

/// No message contains a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("{}{}: {reason}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    BrokenFile { path: PathBuf, line: Option<usize>, reason: String },
    #[error("{name} {reason}")]
    WrongVariable { name: String, reason: String },
    #[error(
        "No provider \"{name}\".{}",
        match suggestions.as_slice() {
            [] => format!(
                " Add it to {}: {}", models_file.display(), LocalServer::models_file_entry(name)
            ),
            names => format!("{} Others can be added to {}", did_you_mean(names), models_file.display()),
        }
    )]
    UnknownProvider { name: String, suggestions: Vec<String>, models_file: PathBuf },
    #[error(
        "The provider \"{provider}\" has no address of its own: set {}, or put its \"baseUrl\" into {}",
        variables.join(" or "), models_file.display()
    )]
    NoAddress { provider: String, variables: Vec<String>, models_file: PathBuf },
    #[error(
        "The built-in agent cannot ask the provider \"{provider}\": {reason}. It speaks {}; use \
         --agent pi for this provider{}",
        spoken(), variable.as_ref().map(|name| format!(", which takes {name}")).unwrap_or_default()
    )]
    UnsupportedProvider { provider: String, reason: String, variable: Option<String> },
    #[error(
        "The built-in agent cannot ask \"{model}\", which speaks {api}: it speaks {}; use --agent \
         pi for this model",
        spoken()
    )]
    UnsupportedApi { model: String, api: String },
    #[error("Unknown model \"{name}\".{}{hint}", did_you_mean(suggestions))]
    UnknownModel { name: String, suggestions: Vec<String>, hint: String },
    #[error(
        "The model \"{name}\" is offered by {}, and {}. Say which one you mean, for instance \
         with --model {}",
        matches.join(", "),
        if *any_has_key { "there are keys for more than one of them" }
        else { "there is no key for any of them" },
        matches.first().map(String::as_str).unwrap_or_default()
    )]
    AmbiguousModel { name: String, matches: Vec<String>, any_has_key: bool },
    #[error(
        "No model can be asked, because there is no API key for any provider{}. Set a variable \
         such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or put a key into {}, or a server of your \
         own into {}. To try it without a key, play a script: --model script/FILE",
        of_others(unsupported), auth_file.display(), models_file.display()
    )]
    NoModel { unsupported: Vec<UnsupportedKey>, auth_file: PathBuf, models_file: PathBuf },
    #[error(
        "No provider with an API key has a model \"{name}\"{}. Providers without a key have {}. \
         `pi-subagents models` lists what can be asked", of_others(unsupported), matches.join(", ")
    )]
    NoKeyForModel { name: String, unsupported: Vec<UnsupportedKey>, matches: Vec<String> },
    #[error("The provider \"script\" needs a file of turns: --model script/PATH")]
    NoScript,
    #[error(
        "The script {} cannot be played: {reason}. `--model script/PATH` needs a file of turns, a JSON \
         array such as [{{\"text\": \"Hello\"}}]; the path is relative to the directory of the task",
        path.display()
    )]
    NotPlayable { path: PathBuf, reason: String },
    #[error(
        "No API key for provider \"{provider}\": {}put one into {} as \
         {{\"{provider}\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}{note}",
        set_variable(variables), auth_file.display()
    )]
    NoKey { provider: String, variables: Vec<String>, auth_file: PathBuf, note: String },
    #[error(
        "The sign-in to provider \"{provider}\" has expired, and only pi can renew it: start pi \
         and ask it something, or use its /login, or put an API key into {}",
        auth_file.display()
    )]
    SignInExpired { provider: String, auth_file: PathBuf },
    #[error(
        "The sign-in to provider \"{provider}\" in {} can be used by pi only: use --agent pi, or \
         put an API key in its place", auth_file.display()
    )]
    SignInUnsupported { provider: String, auth_file: PathBuf },
    #[error(
        "The {what} of provider \"{provider}\" cannot be sent, because it has something else than \
         ASCII characters in it, a line feed perhaps"
    )]
    Unsendable { provider: String, what: String },
    #[error("{}: {field} cannot be used: {reason}", path.display())]
    Unresolved { path: PathBuf, field: String, reason: Unresolved },
}

fn spoken() -> String {
    let names = Api::CONFIGURABLE.map(Api::name);
    let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
    format!("{} and {last}", others.join(", "))
}

/// The keys that are there and do not help.
fn of_others(unsupported: &[UnsupportedKey]) -> String {
    unsupported.iter().map(|key| format!(" ({key})")).collect()
}

fn did_you_mean(suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        String::new()
    } else {
        let quoted: Vec<String> = suggestions.iter().map(|name| format!("\"{name}\"")).collect();
        format!(" Did you mean {}?", quoted.join(" or "))
    }
}

fn set_variable(variables: &[String]) -> String {
    match variables.last() {
        Some(variable) => format!("set {variable}, or "),
        None => String::new(),
    }
}
