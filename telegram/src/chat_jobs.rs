//! Jobs of chats, as the service stores them.

use serde_json::json;
use skillet_client::types::id::JobId;
use skillet_client::types::job::Job;
use skillet_client::{Client, Error};

use crate::job_record::{ADAPTER, JobRecord};
use crate::place::ChatPlace;

/// The jobs of one bot.
pub(crate) struct ChatJobs<'a> {
    pub(crate) client: &'a Client,
    pub(crate) bot: i64,
}

impl ChatJobs<'_> {
    /// Returns the job of an update, if there is one.
    pub(crate) async fn of_update(&self, key: &str) -> Result<Option<Job>, Error> {
        self.newest(&[("external_id", key.to_owned())]).await
    }

    /// Returns all jobs with messages that are still to be sent.
    pub(crate) async fn open(&self) -> Result<Vec<Job>, Error> {
        let query = [
            ("metadata.adapter", ADAPTER.to_owned()),
            ("metadata.bot", self.bot.to_string()),
            ("metadata.open", "true".to_owned()),
        ];
        self.client.list("/v1/jobs", &query, None).await
    }

    /// Returns the newest jobs of a place in these states, or in any state if `statuses` is empty.
    pub(crate) async fn latest(
        &self,
        place: ChatPlace,
        statuses: &str,
        count: usize,
    ) -> Result<Vec<Job>, Error> {
        let mut query = self.place_query(place);
        if !statuses.is_empty() {
            query.push(("status", statuses.to_owned()));
        }
        self.client.list("/v1/jobs", &query, Some(count)).await
    }

    /// Returns the job whose status a message of a place shows, or that the message requested.
    pub(crate) async fn of_message(
        &self,
        place: ChatPlace,
        message: i64,
    ) -> Result<Option<Job>, Error> {
        for key in ["metadata.status_message", "metadata.message"] {
            let mut query = self.place_query(place);
            query.push((key, message.to_string()));
            if let Some(job) = self.newest(&query).await? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// Saves the record of a job in the metadata of the job.
    pub(crate) async fn save(&self, job: JobId, record: &JobRecord) -> Result<(), Error> {
        let body = json!({"metadata": record.to_metadata()});
        let path = format!("/v1/jobs/{job}");
        let saved: Result<serde_json::Value, _> = self.client.patch(&path, &body).await;
        saved.map(drop)
    }

    fn place_query(&self, place: ChatPlace) -> Vec<(&'static str, String)> {
        vec![
            ("metadata.bot", self.bot.to_string()),
            ("metadata.place", place.to_string()),
        ]
    }

    async fn newest(&self, query: &[(&str, String)]) -> Result<Option<Job>, Error> {
        let jobs: Vec<Job> = self.client.list("/v1/jobs", query, Some(1)).await?;
        Ok(jobs.into_iter().next())
    }
}
