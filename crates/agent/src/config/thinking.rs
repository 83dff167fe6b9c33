//! The levels of thinking, and which of them a model has.

use super::Model;
use crate::provider::Thinking;

impl Thinking {
    /// All levels, from none to the most.
    pub const ALL: [Thinking; 7] = [
        Thinking::Off,
        Thinking::Minimal,
        Thinking::Low,
        Thinking::Medium,
        Thinking::High,
        Thinking::Xhigh,
        Thinking::Max,
    ];

    /// The level with this name.
    pub fn parse(name: &str) -> Option<Thinking> {
        Thinking::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its name in pi's arguments, settings and files.
    pub fn name(self) -> &'static str {
        match self {
            Thinking::Off => "off",
            Thinking::Minimal => "minimal",
            Thinking::Low => "low",
            Thinking::Medium => "medium",
            Thinking::High => "high",
            Thinking::Xhigh => "xhigh",
            Thinking::Max => "max",
        }
    }
}

impl Model {
    /// Whether the model has this level. The two highest ones must be declared, all others are
    /// there unless they are declared to be missing.
    pub fn has_thinking(&self, level: Thinking) -> bool {
        if !self.reasoning {
            return level == Thinking::Off;
        }
        match self.thinking_levels.get(level.name()) {
            Some(word) => word.is_some(),
            None => level < Thinking::Xhigh,
        }
    }

    /// The level itself if the model has it, else the next higher one that it has, else the next
    /// lower one.
    pub fn clamp_thinking(&self, level: Thinking) -> Thinking {
        let higher = Thinking::ALL.into_iter().filter(|other| *other >= level);
        let lower = Thinking::ALL.into_iter().rev().filter(|other| *other < level);
        higher.chain(lower).find(|level| self.has_thinking(*level)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::model;
    use super::*;

    #[test]
    fn names_and_levels_are_the_same_thing() {
        for level in Thinking::ALL {
            assert_eq!(Thinking::parse(level.name()), Some(level));
        }
        for wrong in ["", "High", "none", "off "] {
            assert_eq!(Thinking::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_level_that_a_model_lacks_becomes_the_next_that_it_has() {
        use Thinking::{High, Low, Max, Medium, Minimal, Off, Xhigh};
        type Levels = &'static [(&'static str, Option<&'static str>)];
        let table: &[(bool, Levels, Thinking, Thinking)] = &[
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
