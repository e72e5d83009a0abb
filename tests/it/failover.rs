//! The promotion of a standby under load.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use shared::db;
use tokio::time::sleep;

use crate::support::log::assert_whole;
use crate::support::{Replication, Service, bash, follow_through};

/// Jobs that are submitted before the primary is killed, and after the promotion.
const JOBS: usize = 15;
/// From the death of the primary to the end of a job that was submitted after it. The promise is 10 s on a machine of
/// one's own.
const RESUMED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn nothing_is_lost_when_a_standby_is_promoted() {
    let mut servers = Replication::start().await;
    let url = servers.create_database("skillet").await;
    let pool = db::connect(&url, "test", 1).await.unwrap();
    db::migrate(&pool).await.unwrap();
    pool.close().await;
    let mut service = Service::with_database(url, &[]).await;
    for _ in 0..2 {
        service.add_worker(&[]).await;
    }
    let slow: String = (0..6)
        .map(|step| bash(&format!("sleep 0.5; echo {step}")) + "\n")
        .collect();
    let slow = json!({"skill": "shell", "model": "script/bash", "prompt": slow});
    let slow = service.create(&slow).await;
    let request = service.request(Method::GET, &format!("/v1/jobs/{slow}/stream"));
    let followed = tokio::spawn(follow_through(request));
    service.until_event(&slow, "tool.completed").await;
    let mut accepted = vec![slow.clone()];
    for number in 0..JOBS {
        accepted.push(
            service
                .create_shell(&format!("sleep 0.1; echo {number}"))
                .await,
        );
    }

    servers.kill_primary();
    let killed_at = Instant::now();
    servers.promote();
    while accepted.len() < 1 + 2 * JOBS {
        let request = service.request(Method::POST, "/v1/jobs");
        let job = json!({"skill": "shell", "model": "script/bash", "prompt": bash("echo after")});
        match request.json(&job).send().await.unwrap() {
            response if response.status() == 202 => {
                let job: serde_json::Value = response.json().await.unwrap();
                let job = job["id"].as_str().unwrap().to_owned();
                if accepted.len() == 1 + JOBS {
                    service.finished(&job).await;
                    let resumed = killed_at.elapsed();
                    eprintln!(
                        "a job ends {:.1} s after the death of the primary",
                        resumed.as_secs_f64()
                    );
                    assert!(resumed < RESUMED, "{resumed:?}\n{}", service.logs());
                }
                accepted.push(job);
            }
            response => {
                assert_eq!(
                    response.status(),
                    503,
                    "{}\n{}",
                    response.text().await.unwrap(),
                    service.logs()
                );
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
    for job in &accepted {
        let ended = service.finished(job).await;
        assert_eq!(
            ended["status"],
            "completed",
            "{ended:#}\n{}",
            service.logs()
        );
        assert_whole(&service.events(job).await);
    }
    let log = service.follow(&slow, 0).await.rest_raw().await;
    assert_eq!(followed.await.unwrap(), log);
}
