//! Makes the catalogue of the built-in agent anew from that of pi: models, limits, levels of thinking and prices.
//!
//! What pi does not tell as data stays as it is in the file: the providers, their order, their variables and their
//! default models. A provider that is marked as partial has far more models than anybody would read, so that it keeps
//! those that it has. A provider whose protocol there is another one than here keeps its own `compat`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use xtask::{packages, repository_root};

const CATALOGUE: &str = "crates/agent/src/config/providers.json";
/// Its `Compat` has the fields that matter.
const MODEL: &str = "crates/agent/src/config/model.rs";
const PI: &str = "e2e/node_modules/@earendil-works/pi-ai";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let root = repository_root();
    let package = match arguments {
        [] => {
            packages::install().map_err(|(command, error)| format!("`{command}` {error}"))?;
            root.join(PI)
        }
        [directory] => PathBuf::from(directory),
        _ => return Err("usage: cargo xtask catalogue [DIRECTORY OF @earendil-works/pi-ai]".into()),
    };
    let path = root.join(CATALOGUE);
    let old = read_json(&path)?;
    let known = compat_fields(&read(&root.join(MODEL))?);
    let new = renewed(&old, &package, &known)?;
    fs::write(&path, layout(&new)).map_err(|error| format!("{}: {error}", path.display()))?;
    let count = |file: &Value| -> usize {
        let providers = file["providers"].as_object().into_iter().flatten();
        providers.filter_map(|(_, provider)| Some(provider["models"].as_array()?.len())).sum()
    };
    println!(
        "{CATALOGUE}: {} models, before {}; of pi {}, {}",
        count(&new),
        count(&old),
        new["pi"].as_str().unwrap_or_default(),
        new["date"].as_str().unwrap_or_default()
    );
    Ok(())
}

fn renewed(old: &Value, package: &Path, known: &[String]) -> Result<Value, String> {
    let data = package.join("dist/providers/data");
    let manifest = read_json(&data.join(".manifest.json"))?;
    let date = manifest["generatedAt"].as_str().unwrap_or_default();
    let mut new = Map::new();
    new.insert("date".into(), json!(date.get(..10).unwrap_or(date)));
    new.insert("pi".into(), read_json(&package.join("package.json"))?["version"].clone());
    let mut providers = Map::new();
    for (name, provider) in old["providers"].as_object().into_iter().flatten() {
        let mut provider = provider.as_object().cloned().unwrap_or_default();
        if !provider.contains_key("modelsOf") {
            let pis = read_json(&data.join(format!("{name}.json")))?;
            let (compat, models) = models(&provider, &pis, known);
            if models.is_empty() {
                return Err(format!("pi has no model of {name} any more"));
            }
            let default = provider.get("default").cloned().unwrap_or_default();
            if !models.iter().any(|model| model["id"] == default) {
                return Err(format!(
                    "pi has no {default} of {name} any more: name another default"
                ));
            }
            provider.remove("compat");
            provider.remove("models");
            if !compat.is_empty() {
                provider.insert("compat".into(), Value::Object(compat));
            }
            provider.insert("models".into(), Value::Array(models));
        }
        providers.insert(name.clone(), Value::Object(provider));
    }
    new.insert("providers".into(), Value::Object(providers));
    new.insert("unsupported".into(), old["unsupported"].clone());
    Ok(Value::Object(new))
}

/// The models of a provider, and what all have in common.
fn models(
    provider: &Map<String, Value>,
    pis: &Value,
    known: &[String],
) -> (Map<String, Value>, Vec<Value>) {
    let field = |name: &str| provider.get(name).cloned().unwrap_or_default();
    let (api, base_url) = (field("api"), field("baseUrl"));
    let is_other_protocol = api.as_str().is_some_and(|api| pis.get(api).is_none());
    let kept = field("models");
    let is_kept = |id: &Value| kept.as_array().into_iter().flatten().any(|it| it["id"] == *id);
    let is_partial = field("partial") == true;
    let all = pis.as_object().into_iter().flatten();
    let all = all.filter(|(api, _)| is_other_protocol || is_spoken(api));
    let all = all.flat_map(|(_, models)| models.as_object().into_iter().flatten());
    let all: Vec<&Value> =
        all.map(|(_, model)| model).filter(|it| !is_partial || is_kept(&it["id"])).collect();
    let compat_of = |model: &Value| -> Map<String, Value> {
        let compat = model["compat"].as_object().into_iter().flatten();
        let compat = compat.filter(|(name, _)| known.contains(name));
        compat.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let common = if is_other_protocol {
        field("compat").as_object().cloned().unwrap_or_default()
    } else {
        let first = all.first().map(|model| compat_of(model)).unwrap_or_default();
        let is_same = |name: &String, value: &Value| {
            let has =
                |model: &&Value| model["api"] == api && compat_of(model).get(name) == Some(value);
            all.iter().all(has)
        };
        first.into_iter().filter(|(name, value)| is_same(name, value)).collect()
    };
    let model = |model: &&Value| {
        let mut new = Map::new();
        let mut set = |name: &str, value: Value| new.insert(name.to_owned(), value);
        set("id", model["id"].clone());
        if model["name"] != model["id"] {
            set("name", model["name"].clone());
        }
        if !is_other_protocol && model["api"] != api {
            set("api", model["api"].clone());
        }
        let is_at_home = model["baseUrl"] == base_url || model["baseUrl"] == "";
        if !is_other_protocol && !is_at_home {
            set("baseUrl", model["baseUrl"].clone());
        }
        set("contextWindow", model["contextWindow"].clone());
        set("maxTokens", model["maxTokens"].clone());
        if model["reasoning"] == true {
            set("reasoning", json!(true));
        }
        if model["input"].as_array().is_some_and(|kinds| kinds.contains(&json!("image"))) {
            set("input", json!(["text", "image"]));
        }
        let rates = || model["cost"].as_object().into_iter().flatten();
        // pi writes a negative price for one that is not known.
        if rates().all(|(_, rate)| rate.as_f64().is_none_or(|rate| rate >= 0.0)) {
            let cost = rates().filter(|(_, rate)| rate.as_f64() != Some(0.0));
            set("cost", cost.map(|(name, rate)| (name.clone(), rate.clone())).collect());
        }
        if let Some(levels) = model.get("thinkingLevelMap") {
            set("thinkingLevelMap", levels.clone());
        }
        let own: Map<String, Value> = compat_of(model)
            .into_iter()
            .filter(|(name, _)| !is_other_protocol && !common.contains_key(name))
            .collect();
        if !own.is_empty() {
            set("compat", Value::Object(own));
        }
        Value::Object(new)
    };
    (common.clone(), all.iter().map(model).collect())
}

fn is_spoken(api: &str) -> bool {
    ["openai-completions", "openai-responses", "azure-openai-responses", "anthropic-messages"]
        .contains(&api)
        || api == "google-generative-ai"
}

/// The names of the fields of `Compat`, as pi writes them.
fn compat_fields(source: &str) -> Vec<String> {
    let body = source.split_once("pub struct Compat {").map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}").map_or("", |(body, _)| body);
    let names = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next());
    names.map(in_camel_case).collect()
}

fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_uppercase() + rest
    })
}

/// One provider, and one model, on each line, so that changes can be read.
fn layout(file: &Value) -> String {
    let mut text = format!("{{\"date\":{},\"pi\":{},\"providers\":{{", file["date"], file["pi"]);
    let join = |entries: Vec<String>| entries.join(",\n");
    let providers = file["providers"].as_object().into_iter().flatten();
    let providers = providers.map(|(name, provider)| {
        let mut head = provider.as_object().cloned().unwrap_or_default();
        let models = head.remove("models");
        let head = Value::Object(head).to_string();
        let name = json!(name);
        match models.as_ref().and_then(Value::as_array) {
            Some(models) => {
                let head = head.trim_end_matches('}').to_owned()
                    + &"}".repeat(head.len() - head.trim_end_matches('}').len() - 1);
                let models = join(models.iter().map(Value::to_string).collect());
                format!("{name}:{head},\"models\":[\n{models}\n]}}")
            }
            None => format!("{name}:{head}"),
        }
    });
    text.push('\n');
    text.push_str(&join(providers.collect()));
    text.push_str("\n},\n\"unsupported\":{\n");
    let unsupported = file["unsupported"].as_object().into_iter().flatten();
    text.push_str(&join(unsupported.map(|(name, it)| format!("{}:{it}", json!(name))).collect()));
    text.push_str("\n}}\n");
    text
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read_json(path: &Path) -> Result<Value, String> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}
