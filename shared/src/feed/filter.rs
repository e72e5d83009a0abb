//! Filters for the milestones of the feed.

use serde_json::Value;

use super::FeedEvent;
use crate::id::ConversationId;

/// The milestones that a reader receives. An empty filter passes all milestones.
#[derive(Clone, Debug, Default)]
pub struct FeedFilter {
    /// The event types. If empty, all types pass.
    pub types: Vec<String>,
    /// The skills. If `skills` and `agents` are empty, all jobs pass; otherwise the job's skill or agent must be
    /// listed.
    pub skills: Vec<String>,
    /// The agents. See `skills`.
    pub agents: Vec<String>,
    /// The conversation of the job.
    pub conversation: Option<ConversationId>,
    /// Values in the metadata of the job. A value that is a number or boolean in JSON also matches that number or
    /// boolean.
    pub metadata: Vec<(String, String)>,
}

impl FeedFilter {
    /// Whether the milestone passes the filter.
    pub fn lets_through(&self, event: &FeedEvent) -> bool {
        let has_type = self.types.is_empty() || self.types.contains(&event.kind);
        let has_conversation =
            self.conversation.is_none() || self.conversation == event.conversation_id;
        has_type && has_conversation && self.names(event) && self.has_metadata(event)
    }

    fn names(&self, event: &FeedEvent) -> bool {
        let all = self.skills.is_empty() && self.agents.is_empty();
        let is_in = |list: &[String], name: &Option<String>| {
            name.as_ref().is_some_and(|name| list.contains(name))
        };
        all || is_in(&self.skills, &event.skill) || is_in(&self.agents, &event.agent)
    }

    fn has_metadata(&self, event: &FeedEvent) -> bool {
        self.metadata.iter().all(|(key, text)| {
            let Some(value) = event.metadata.get(key) else {
                return false;
            };
            match value {
                Value::String(value) => value == text,
                Value::Number(_) | Value::Bool(_) => {
                    serde_json::from_str::<Value>(text).is_ok_and(|asked| asked == *value)
                }
                _ => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event() -> FeedEvent {
        serde_json::from_value(json!({
            "job_id": "job_019aa0c45e8d70008000000000000000",
            "seq": 7,
            "type": "job.completed",
            "at": "2026-01-01T00:00:00Z",
            "status": "completed",
            "skill": "pdf",
            "agent": null,
            "conversation_id": null,
            "metadata": {"order": 4711, "name": "null", "deep": {"a": 1}},
        }))
        .unwrap()
    }

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|&value| value.to_owned()).collect()
    }

    #[test]
    fn an_empty_filter_lets_all_through() {
        assert!(FeedFilter::default().lets_through(&event()));
    }

    #[test]
    fn each_part_of_a_filter_has_to_fit() {
        let types = |types| FeedFilter {
            types: texts(types),
            ..FeedFilter::default()
        };
        assert!(types(&["job.failed", "job.completed"]).lets_through(&event()));
        assert!(!types(&["job.failed"]).lets_through(&event()));
        let named = |skills, agents| FeedFilter {
            skills: texts(skills),
            agents: texts(agents),
            ..FeedFilter::default()
        };
        assert!(named(&["pdf"], &["clerk"]).lets_through(&event()));
        assert!(!named(&[], &["clerk"]).lets_through(&event()));
        let conversation = FeedFilter {
            conversation: Some(ConversationId::new()),
            ..FeedFilter::default()
        };
        assert!(!conversation.lets_through(&event()));
    }

    #[test]
    fn metadata_is_compared_as_text_or_as_a_number() {
        for (key, text, fits) in [
            ("order", "4711", true),
            ("order", "471", false),
            ("name", "null", true),
            ("deep", "{\"a\":1}", false),
            ("absent", "1", false),
        ] {
            let filter = FeedFilter {
                metadata: vec![(key.to_owned(), text.to_owned())],
                ..FeedFilter::default()
            };
            assert_eq!(filter.lets_through(&event()), fits, "{key}={text}");
        }
    }
}
