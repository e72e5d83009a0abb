//! Filters of milestones, as query parameters.

use serde::de::DeserializeOwned;
use shared::event::EventKind;
use shared::feed::FeedFilter;
use shared::id::ConversationId;

use crate::problem::ApiError;
use crate::query;

/// The maximum number of metadata filters in a request.
const MAX_METADATA_FILTERS: usize = 3;
const METADATA_PREFIX: &str = "metadata.";

/// The milestones that a query selects.
pub(super) struct MilestoneQuery {
    /// Types, separated by commas.
    pub(super) types: Option<String>,
    /// The skill of the jobs.
    pub(super) skill: Option<String>,
    /// The agent of the jobs.
    pub(super) agent: Option<String>,
    /// The conversation of the jobs.
    pub(super) conversation_id: Option<ConversationId>,
}

impl MilestoneQuery {
    /// Returns the filter, including the `metadata.KEY` pairs of the query.
    pub(super) fn filter(self, metadata: Vec<(String, String)>) -> Result<FeedFilter, ApiError> {
        Ok(FeedFilter {
            types: parse_types(self.types.as_deref().unwrap_or_default())?,
            skills: self.skill.into_iter().collect(),
            agents: self.agent.into_iter().collect(),
            conversation: self.conversation_id,
            metadata,
        })
    }
}

/// Parses the parameters of a query, and its `metadata.KEY` pairs.
pub(super) fn parse<T: DeserializeOwned>(
    text: &str,
) -> Result<(T, Vec<(String, String)>), ApiError> {
    let (metadata, others): (Vec<_>, Vec<_>) = query::pairs(text)
        .into_iter()
        .partition(|(name, _)| name.starts_with(METADATA_PREFIX));
    if metadata.len() > MAX_METADATA_FILTERS {
        let detail = format!("the query may have at most {MAX_METADATA_FILTERS} `metadata.KEY`");
        return Err(ApiError::Malformed(detail));
    }
    let pairs = metadata.into_iter();
    let pairs = pairs.map(|(name, value)| (name[METADATA_PREFIX.len()..].to_owned(), value));
    Ok((query::parse(&query::join(&others))?, pairs.collect()))
}

fn parse_types(list: &str) -> Result<Vec<String>, ApiError> {
    let names = list.split(',').map(str::trim);
    let types = names.filter(|name| !name.is_empty()).map(|name| {
        let kind = EventKind::parse(name).filter(|kind| kind.is_milestone());
        kind.map(|kind| kind.as_str().to_owned()).ok_or_else(|| {
            let known = EventKind::MILESTONES.map(EventKind::as_str).join(", ");
            ApiError::Malformed(format!(
                "`types`: `{name}` is not a type of these events; valid values: {known}"
            ))
        })
    });
    types.collect()
}
