//! The models that continue a conversation when the one before has failed for good.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use crate::agent::Agent;
use crate::config::{
    self, AgentSettings, Choice, Compaction, Model, ModelQuery, ProfileKey, Sources,
};
use crate::event::Event;
use crate::provider::{self, Options, Provider, ThinkingLevel};

/// The models that were not needed yet, and what they are asked with.
pub(crate) struct Fallbacks {
    pub(crate) choices: VecDeque<Choice>,
    pub(crate) options: Options,
    pub(crate) settings: AgentSettings,
}

/// The next model, ready to be asked.
pub(crate) struct NextModel {
    model: Model,
    provider: Arc<dyn Provider>,
    thinking: ThinkingLevel,
    compaction: Compaction,
}

/// Chooses the fallback models by their names. One that cannot be used is left out with a warning:
/// the task may never need it.
pub(crate) fn choose(
    names: &[String],
    first: &Model,
    thinking: Option<ThinkingLevel>,
    sources: &Sources<'_>,
    warn: &mut dyn FnMut(&str),
) -> VecDeque<Choice> {
    // A key whose provider is not named belongs to that of the first model, and must not reach another one.
    let profile_key = sources.profile_key.map(|key| ProfileKey {
        provider: key.provider.clone().or_else(|| Some(first.provider.clone())),
        key: key.key.clone(),
    });
    let sources = Sources { profile_key: profile_key.as_ref(), ..*sources };
    let mut choices: VecDeque<Choice> = VecDeque::new();
    for name in names {
        let query = ModelQuery { provider: None, model: Some(name), thinking };
        match config::choose_model(&query, &sources) {
            Ok(choice) => {
                choice.warnings.iter().for_each(|warning| warn(warning));
                let name = choice.model.full_name();
                let is_same = |model: &Model| model.full_name() == name;
                let is_repeated =
                    is_same(first) || choices.iter().any(|earlier| is_same(&earlier.model));
                if !is_repeated {
                    choices.push_back(choice);
                }
            }
            Err(error) => warn(&format!("the fallback model {name:?} is left out: {error}")),
        }
    }
    choices
}

impl<W: Write> Agent<W> {
    /// The next model that can be asked. It is only connected now, because most runs need none.
    pub(crate) fn next_model(&mut self) -> Option<NextModel> {
        let setup = &mut self.setup;
        while let Some(choice) = setup.fallbacks.choices.pop_front() {
            let Choice { model, key, thinking, .. } = choice;
            let options = &setup.fallbacks.options;
            let connected =
                provider::connect(model.clone(), key, options, &setup.cwd, &setup.cancel);
            if let Ok(provider) = connected {
                let compaction = setup.fallbacks.settings.compaction_for(&model);
                return Some(NextModel { model, provider, thinking, compaction });
            }
        }
        None
    }

    /// Continues the conversation with the next model.
    pub(crate) fn fall_back(&mut self, next: NextModel, reason: &str) {
        self.end_retries(reason);
        let NextModel { model, provider, thinking, compaction } = next;
        let (from, to) = (self.setup.model.full_name(), model.full_name());
        self.stream.emit(&Event::ModelFallback { from: &from, to: &to, reason });
        self.setup.model = model;
        self.setup.provider = provider;
        self.setup.thinking = thinking;
        self.setup.compaction = compaction;
        self.has_recovered = false;
        // Its context can be smaller than that of the model before.
        self.compact_if_long();
    }
}
