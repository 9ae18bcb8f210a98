//! What brokers can do: services that speak Kafka's protocol do not all do everything.

use std::collections::BTreeMap;

/// Something that not every broker does, and what needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// To say which cluster they are. Without it a configuration that names another cluster is not noticed.
    ClusterId,
    /// To say which topic is behind a name. Without it a topic that was made again is suspected at most.
    TopicIds,
    /// To name what limits a topic's retention. Without it that has to be said by hand.
    Settings,
    /// To find records by time. Without it no deadline is proved.
    LookUpsByTime,
}

impl Ability {
    /// Every ability, in the order in which they are told.
    pub const ALL: [Self; 4] = [Self::ClusterId, Self::TopicIds, Self::Settings, Self::LookUpsByTime];

    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ClusterId => "cluster_id",
            Self::TopicIds => "topic_ids",
            Self::Settings => "topic_settings",
            Self::LookUpsByTime => "look_ups_by_time",
        }
    }
}

/// What brokers have shown so far. What is missing was not to be seen yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities(BTreeMap<Ability, bool>);

impl Abilities {
    /// One answer showed the ability, or the lack of it. One good answer counts for more than any number of others: a
    /// topic may lack what its brokers can do.
    pub fn saw(&mut self, ability: Ability, shown: bool) {
        let known = self.0.entry(ability).or_insert(shown);
        *known |= shown;
    }

    /// Whether the brokers have it; absent while that is not known.
    #[must_use]
    pub fn get(&self, ability: Ability) -> Option<bool> {
        self.0.get(&ability).copied()
    }

    /// What is known, in order.
    pub fn known(&self) -> impl Iterator<Item = (Ability, bool)> {
        self.0.iter().map(|(ability, shown)| (*ability, *shown))
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_good_answer_shows_an_ability_for_good() {
        let check = |answers: &[bool], expected: Option<bool>| {
            let mut abilities = Abilities::default();
            answers.iter().for_each(|shown| abilities.saw(Ability::TopicIds, *shown));
            assert_eq!(abilities.get(Ability::TopicIds), expected, "{answers:?}");
        };
        check(&[], None);
        check(&[false], Some(false));
        check(&[false, true], Some(true));
        check(&[true, false], Some(true));
    }
}
