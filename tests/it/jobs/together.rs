//! Jobs that are submitted at the same time and written together.

use std::collections::HashSet;

use api::JobWriter;
use futures_util::future::join_all;
use shared::db;
use tests::new_job::new_job;

use crate::support::Service;

/// The index of the job whose skill does not exist.
const WRONG: usize = 17;

#[tokio::test]
async fn they_take_few_statements_and_what_is_wrong_with_one_keeps_no_other_out() {
    let service = Service::without_worker().await;
    let mut tenants = Vec::new();
    for name in ["ants", "bees"] {
        let tenant = db::tenant::get_or_insert(&service.pool, name).await;
        tenants.push(tenant.unwrap().id);
    }
    let (writer, writing) = JobWriter::new(&service.pool);
    let writing = tokio::spawn(writing);
    let jobs = || (0..40).map(|number| new_job(tenants[number % 2]));

    let accepted = join_all(jobs().map(|job| writer.insert(job))).await;
    let moments = accepted.into_iter().map(|job| job.unwrap().created_at);
    let statements = moments.collect::<HashSet<_>>().len();
    assert!(statements < 10, "{statements} statements");

    let mut jobs: Vec<_> = jobs().collect();
    jobs[WRONG].skill_version = Some(1);
    let sent: Vec<_> = jobs.iter().map(|job| (job.id, job.tenant)).collect();
    let answers = join_all(jobs.into_iter().map(|job| writer.insert(job))).await;
    for (number, (answer, (id, tenant))) in answers.into_iter().zip(sent).enumerate() {
        let stored = db::job::get(&service.pool, tenant, id).await.unwrap();
        match answer {
            Ok(job) => assert_eq!(stored.unwrap().created_at, job.created_at),
            Err(error) => {
                assert_eq!(number, WRONG, "{error}");
                assert!(db::skill::is_version_in_use(&error), "{error}");
                assert!(stored.is_none());
            }
        }
    }
    drop(writer);
    writing.await.unwrap();
}
