//! How a request sets the level of thinking.

use serde_json::{Map, Value, json};

use super::compat::{ThinkingFormat, Traits};
use crate::config::Model;
use crate::provider::{ThinkingLevel, limits};

pub(super) fn add(
    body: &mut Map<String, Value>,
    model: &Model,
    traits: &Traits,
    level: ThinkingLevel,
    limit: u64,
) {
    if !model.reasoning {
        return;
    }
    let level = model.clamp_thinking(level);
    let thinks = level != ThinkingLevel::Off;
    let word = model.thinking_levels.get(level.word());
    // A level without a word of the provider has our word, but there is no usual word for off.
    let effort = word.cloned().flatten().or_else(|| thinks.then(|| level.word().to_owned()));
    let can_be_off = model.thinking_levels.get("off") != Some(&None);
    let budget = Some(limits::budget_within(limits::thinking_budget(level), limit))
        .filter(|budget| *budget > 0);
    let effort_if_thinking = effort.clone().filter(|_| thinks && traits.reasoning_effort);

    match traits.thinking_format {
        ThinkingFormat::OpenAi => {
            set(body, "reasoning_effort", effort.filter(|_| traits.reasoning_effort));
        }
        ThinkingFormat::OpenRouter => {
            if thinks || can_be_off {
                let effort = effort.unwrap_or_else(|| "none".to_owned());
                set(body, "reasoning", Some(json!({"effort": effort})));
            }
        }
        ThinkingFormat::DeepSeek => {
            if thinks || can_be_off {
                let kind = if thinks { "enabled" } else { "disabled" };
                set(body, "thinking", Some(json!({"type": kind})));
            }
            set(body, "reasoning_effort", effort_if_thinking);
        }
        ThinkingFormat::Zai => {
            let thinking = if thinks {
                json!({"type": "enabled", "clear_thinking": false})
            } else {
                json!({"type": "disabled"})
            };
            set(body, "thinking", Some(thinking));
            set(body, "reasoning_effort", effort_if_thinking);
        }
        ThinkingFormat::Together => {
            set(body, "reasoning", Some(json!({"enabled": thinks})));
            set(body, "reasoning_effort", effort_if_thinking);
        }
        ThinkingFormat::AntLing => {
            // It understands only its own words.
            let own = word.cloned().flatten().filter(|_| thinks);
            set(body, "reasoning", own.map(|effort| json!({"effort": effort})));
        }
        ThinkingFormat::Qwen => {
            set(body, "enable_thinking", Some(thinks));
            set(body, "reasoning_effort", effort_if_thinking);
        }
        ThinkingFormat::QwenChatTemplate => {
            let values = json!({"enable_thinking": thinks, "preserve_thinking": true});
            set(body, "chat_template_kwargs", Some(values));
        }
        ThinkingFormat::ChatTemplate => {
            let values = model.compat.chat_template_kwargs.as_ref();
            let values =
                values.and_then(|values| filled(values, thinks, effort.as_deref(), budget));
            set(body, "chat_template_kwargs", values);
        }
        ThinkingFormat::Baseten => {
            let values = model.compat.chat_template_args.as_ref();
            let values =
                values.and_then(|values| filled(values, thinks, effort.as_deref(), budget));
            set(body, "chat_template_args", values);
            set(body, "reasoning_effort", effort.filter(|_| traits.reasoning_effort));
        }
        ThinkingFormat::String => {
            if thinks || can_be_off {
                set(body, "thinking", Some(effort.unwrap_or_else(|| "none".to_owned())));
            }
        }
    }
    if let (Some(field), Some(budget)) = (&traits.budget_field, budget) {
        set(body, field, Some(budget));
    }
}

fn set(body: &mut Map<String, Value>, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(field.to_owned(), value.into());
    }
}

/// The values for a chat template, with its variables filled in.
fn filled(
    values: &Map<String, Value>,
    thinks: bool,
    effort: Option<&str>,
    budget: Option<u64>,
) -> Option<Map<String, Value>> {
    let value_of = |value: &Value| {
        let Some(variable) = value.as_object() else { return Some(value.clone()) };
        let is_omitted = variable.get("omitWhenOff") == Some(&Value::Bool(true));
        match variable.get("$var").and_then(Value::as_str) {
            _ if !thinks && is_omitted => None,
            Some("thinking.enabled") => Some(json!(thinks)),
            Some("thinking.budget") => budget.map(Value::from),
            _ => effort.map(Value::from),
        }
    };
    let filled: Map<String, Value> =
        values.iter().filter_map(|(name, value)| Some((name.clone(), value_of(value)?))).collect();
    (!filled.is_empty()).then_some(filled)
}
