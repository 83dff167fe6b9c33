//! The model, and how much it thinks, chosen from what the agent offers when a session begins.

use serde_json::{Value, json};

use super::make::Make;
use crate::Assignment;

/// What is to be done about a wish.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    /// There is nothing to do.
    Settled,
    /// The agent is to be told. `value` is its word for what was asked for.
    Request { method: &'static str, params: Value, value: String },
    /// The wish cannot be fulfilled, and the work can go on without it.
    Warning(String),
    /// The wish cannot be fulfilled, and the user would get something else than was asked for.
    Refusal(String),
}

/// More are not listed in a message.
const LISTED: usize = 8;

/// The model that the agent works with unless another one is chosen.
pub(super) fn current_model(offer: &Value) -> Option<String> {
    Offer::models(offer)?.current
}

/// Chooses the model.
pub(super) fn model(offer: &Value, session: &str, assignment: &Assignment, make: Make) -> Choice {
    let Some(wanted) = &assignment.model else { return Choice::Settled };
    let title = make.title();
    let Some(offer) = Offer::models(offer) else {
        return if make.is_started_with_model() {
            Choice::Settled
        } else {
            Choice::Warning(format!(
                "{title} offers no choice of models, so that it does not use \"{wanted}\""
            ))
        };
    };
    match offer.find_model(assignment.provider.as_deref(), wanted) {
        Some(value) if offer.current.as_deref() == Some(value) => Choice::Settled,
        Some(value) => offer.request(session, value),
        None if make.is_started_with_model() => Choice::Settled,
        None => {
            let listed: Vec<&str> =
                offer.values.iter().take(LISTED).map(|(value, _)| value.as_str()).collect();
            let more = if offer.values.len() > LISTED { ", …" } else { "" };
            Choice::Refusal(format!(
                "{title} has no model \"{wanted}\". It offers: {}{more}",
                listed.join(", ")
            ))
        }
    }
}

/// Chooses how much the model thinks.
pub(super) fn thinking(
    offer: &Value,
    session: &str,
    assignment: &Assignment,
    make: Make,
) -> Choice {
    let Some(wanted) = &assignment.thinking_level else { return Choice::Settled };
    let words: &[&str] = match wanted.as_str() {
        "off" => &["off", "none", "minimal"],
        "minimal" => &["minimal", "low"],
        "xhigh" => &["xhigh", "max", "high"],
        "max" => &["max", "xhigh", "high"],
        same => &[same],
    };
    let found = Offer::option(offer, "thought_level").and_then(|offer| {
        Some((words.iter().find_map(|word| offer.find(word))?.to_owned(), offer))
    });
    match found {
        Some((value, offer)) if offer.current.as_deref() == Some(&value) => Choice::Settled,
        Some((value, offer)) => offer.request(session, &value),
        None => Choice::Warning(format!(
            "{} cannot be told how much to think, so that thinkingLevel \"{wanted}\" has no effect",
            make.title()
        )),
    }
}

/// Values from which one can be chosen.
struct Offer {
    /// Each with the name that people read.
    values: Vec<(String, String)>,
    current: Option<String>,
    /// The option of the session; the older way to choose a model has none.
    option: Option<String>,
}

impl Offer {
    /// The models, in the newer way or in the older one.
    fn models(offer: &Value) -> Option<Offer> {
        Offer::option(offer, "model").or_else(|| {
            let models = &offer["models"];
            let values = entries(&models["availableModels"], "modelId");
            let current = models["currentModelId"].as_str().map(str::to_owned);
            (!values.is_empty()).then_some(Offer { values, current, option: None })
        })
    }

    /// The option of this category.
    fn option(offer: &Value, category: &str) -> Option<Offer> {
        let options = offer["configOptions"].as_array()?;
        let option = options.iter().find(|option| option["category"] == category);
        let option = option.or_else(|| options.iter().find(|option| option["id"] == category))?;
        let values = entries(&option["options"], "value");
        let current = option["currentValue"].as_str().map(str::to_owned);
        let id = option["id"].as_str()?.to_owned();
        (!values.is_empty()).then_some(Offer { values, current, option: Some(id) })
    }

    /// The model, with its provider in front where the agent has several, and without it where it has one.
    fn find_model(&self, provider: Option<&str>, model: &str) -> Option<&str> {
        let whole = provider.map(|provider| format!("{provider}/{model}"));
        let whole = whole.as_deref().unwrap_or(model);
        self.find(whole).or_else(|| {
            let (_, bare) = whole.split_once('/')?;
            self.values.iter().map(|(value, _)| value.as_str()).find(|value| *value == bare)
        })
    }

    /// The value of that name, or the only one that is called so or ends with it.
    fn find(&self, name: &str) -> Option<&str> {
        let ending = format!("/{name}");
        let is_similar = |value: &str, shown: &str| {
            value.eq_ignore_ascii_case(name)
                || shown.eq_ignore_ascii_case(name)
                || value.ends_with(&ending)
        };
        let exact = self.values.iter().find(|(value, _)| value == name);
        let mut similar = self.values.iter().filter(|(value, shown)| is_similar(value, shown));
        match (exact, similar.next(), similar.next()) {
            (Some((value, _)), ..) | (None, Some((value, _)), None) => Some(value),
            _ => None,
        }
    }

    fn request(&self, session: &str, value: &str) -> Choice {
        let (method, params) = match &self.option {
            Some(option) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": option, "value": value}),
            ),
            None => ("session/set_model", json!({"sessionId": session, "modelId": value})),
        };
        Choice::Request { method, params, value: value.to_owned() }
    }
}

/// The values in a list, which can be grouped.
fn entries(list: &Value, key: &str) -> Vec<(String, String)> {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    let entry = |entry: &Value| {
        let value = entry[key].as_str()?.to_owned();
        Some((value, entry["name"].as_str().unwrap_or_default().to_owned()))
    };
    let grouped = list.iter().flat_map(|group| match group["options"].as_array() {
        Some(options) => options.iter().filter_map(entry).collect::<Vec<_>>(),
        None => entry(group).into_iter().collect(),
    });
    grouped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(provider: Option<&str>, model: &str) -> Assignment {
        Assignment {
            provider: provider.map(str::to_owned),
            model: Some(model.to_owned()),
            ..Assignment::default()
        }
    }

    fn options() -> Value {
        let model = |value: &str, name: &str| json!({"value": value, "name": name});
        json!({"configOptions": [
            {"id": "mode", "category": "mode", "currentValue": "build", "options": []},
            {"id": "model", "category": "model", "currentValue": "a/one", "options": [
                model("a/one", "One"), {"group": "g", "name": "G", "options": [
                    model("a/two", "Two"), model("b/three", "Three"), model("c/three", "Three")]}]},
            {"id": "effort", "category": "thought_level", "currentValue": "low", "options": [
                model("low", "Low"), model("high", "High")]},
        ]})
    }

    #[test]
    fn a_model_is_found_by_its_name_with_or_without_its_provider() {
        let chosen = |wish: &Assignment| match model(&options(), "s", wish, Make::Opencode) {
            Choice::Request { method, params, value } => {
                assert_eq!(method, "session/set_config_option");
                assert_eq!(params, json!({"sessionId": "s", "configId": "model", "value": value}));
                value
            }
            other => format!("{other:?}"),
        };
        assert_eq!(chosen(&wish(None, "a/two")), "a/two");
        assert_eq!(chosen(&wish(Some("a"), "two")), "a/two");
        assert_eq!(chosen(&wish(None, "two")), "a/two");
        assert_eq!(chosen(&wish(None, "Two")), "a/two");
        assert_eq!(chosen(&wish(None, "one")), "Settled");
        assert_eq!(chosen(&Assignment::default()), "Settled");
        let refused = chosen(&wish(Some("d"), "three"));
        assert!(
            refused.contains(
                "opencode has no model \\\"three\\\". It offers: a/one, a/two, b/three, c/three"
            ),
            "{refused}"
        );
    }

    #[test]
    fn the_older_way_to_choose_a_model_is_known() {
        let offer = json!({"models": {"currentModelId": "x", "availableModels": [
            {"modelId": "x", "name": "X"}, {"modelId": "y", "name": "Y"}]}});
        let params = json!({"sessionId": "s", "modelId": "y"});
        let expected =
            Choice::Request { method: "session/set_model", params, value: "y".to_owned() };
        assert_eq!(model(&offer, "s", &wish(None, "y"), Make::Other), expected);
        assert_eq!(current_model(&offer).as_deref(), Some("x"));
    }

    #[test]
    fn an_agent_that_offers_no_models_was_told_before_or_is_a_warning() {
        let offer = json!({"sessionId": "s"});
        let chosen = |make| model(&offer, "s", &wish(None, "y"), make);
        assert_eq!(chosen(Make::Gemini), Choice::Settled);
        assert!(matches!(chosen(Make::Other), Choice::Warning(_)));
    }

    #[test]
    fn thinking_is_chosen_where_it_is_offered() {
        let chosen = |level: &str| {
            let thinking_level = Some(level.to_owned());
            let wish = Assignment { thinking_level, ..Assignment::default() };
            match thinking(&options(), "s", &wish, Make::Opencode) {
                Choice::Request { value, .. } => value,
                other => format!("{other:?}"),
            }
        };
        assert_eq!(chosen("high"), "high");
        assert_eq!(chosen("max"), "high");
        assert_eq!(chosen("minimal"), "Settled", "low is the nearest, and is set");
        assert!(chosen("medium").starts_with("Warning"));
    }
}
