//! The levels of thinking of a model.

use super::Model;
use plan::ThinkingLevel;

impl Model {
    /// Whether the model has this level. The two highest levels must be declared; a model lacks the
    /// others only if it is declared so.
    pub(crate) fn has_thinking(&self, level: ThinkingLevel) -> bool {
        if !self.reasoning {
            return level == ThinkingLevel::Off;
        }
        match self.thinking_levels.get(level.word()) {
            Some(word) => word.is_some(),
            None => level < ThinkingLevel::Xhigh,
        }
    }

    /// The level if the model has it, else the next higher one that it has, else the next lower one.
    pub(crate) fn clamp_thinking(&self, level: ThinkingLevel) -> ThinkingLevel {
        let higher = ThinkingLevel::all().filter(|other| *other >= level);
        let lower = ThinkingLevel::all().rev().filter(|other| *other < level);
        higher.chain(lower).find(|level| self.has_thinking(*level)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::model;
    use super::*;

    #[test]
    fn a_level_that_a_model_lacks_becomes_the_next_that_it_has() {
        use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};
        type Levels = &'static [(&'static str, Option<&'static str>)];
        let table: &[(bool, Levels, ThinkingLevel, ThinkingLevel)] = &[
            (false, &[], High, Off),
            (false, &[("off", None)], High, Off),
            (true, &[], High, High),
            (true, &[], Off, Off),
            (true, &[], Max, High),
            (true, &[("max", Some("max"))], Xhigh, Max),
            (true, &[("off", None)], Off, Minimal),
            (true, &[("off", None), ("minimal", None)], Off, Low),
            (true, &[("minimal", None), ("low", None)], Minimal, Medium),
            (true, &[("medium", None), ("high", None)], Medium, Low),
            (true, &[("xhigh", Some("top"))], Max, Xhigh),
        ];
        for (reasoning, levels, asked, expected) in table {
            let mut model = model("p", "m");
            model.reasoning = *reasoning;
            model.thinking_levels = levels
                .iter()
                .map(|(name, word)| ((*name).to_owned(), word.map(str::to_owned)))
                .collect();
            assert_eq!(model.clamp_thinking(*asked), *expected, "{levels:?} {asked:?}");
        }
    }
}
