//! Tests of retries, with a scripted model.

use std::collections::VecDeque;
use std::sync::Mutex;

use shared::message::{AssistantMessage, Block, StopReason, Tokens};
use tokio::time::Instant;

use super::*;

type Items = Vec<Result<ModelEvent, ModelError>>;

/// A model that replies from a script, and records the times of its calls.
struct Scripted {
    replies: Mutex<VecDeque<Items>>,
    asked_at: Mutex<Vec<Instant>>,
}

impl LanguageModel for Scripted {
    fn constrains_output(&self, _: &serde_json::Value) -> bool {
        false
    }

    fn stream<'a>(&'a self, _: ModelRequest<'a>) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        self.asked_at.lock().unwrap().push(Instant::now());
        stream::iter(self.replies.lock().unwrap().pop_front().unwrap()).boxed()
    }
}

impl Scripted {
    fn new(replies: Vec<Items>) -> Self {
        Self {
            replies: Mutex::new(replies.into()),
            asked_at: Mutex::default(),
        }
    }

    async fn ask(&self) -> Items {
        super::stream(&[self], nothing(), &|_| Box::pin(std::future::ready(true)))
            .collect()
            .await
    }

    fn waits(&self) -> Vec<Duration> {
        self.asked_at
            .lock()
            .unwrap()
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect()
    }
}

fn nothing() -> ModelRequest<'static> {
    ModelRequest {
        system: "",
        tools: &[],
        messages: &[],
        max_tokens: 1,
        output_schema: None,
    }
}

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.into()))
}

fn thought(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Reasoning(text.into()))
}

fn completed(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Completed(AssistantMessage {
        content: vec![Block::Text { text: text.into() }],
        stop_reason: StopReason::EndTurn,
        usage: Tokens::default(),
        model: "script/x".into(),
    }))
}

fn broken() -> Result<ModelEvent, ModelError> {
    Err(ModelError::BrokenStream)
}

fn limited(seconds: u64) -> Result<ModelEvent, ModelError> {
    Err(ModelError::RateLimited {
        retry_after: Some(Duration::from_secs(seconds)),
    })
}

fn refused() -> Result<ModelEvent, ModelError> {
    Err(ModelError::Refused {
        status: 400,
        message: "no".into(),
    })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_shown_twice_whatever_the_next_try_says() {
    let cases = [
        // The same text again, cut elsewhere.
        (
            vec![text("Hel"), text("lo")],
            vec![text("H"), text("ello, w"), text("orld")],
            vec!["Hello", ", world"],
        ),
        // Another text: no output until the end.
        (
            vec![text("Hello")],
            vec![text("Help"), text("Hello, all")],
            vec!["Hello"],
        ),
        // Multi-byte text that differs within a character's bytes.
        (vec![text("grö")], vec![text("gr"), text("ü")], vec!["grö"]),
        // Thoughts differ, the text does not.
        (
            vec![thought("hm"), text("Hi")],
            vec![thought("ah"), text("Hi"), text(" you")],
            vec!["hm", "Hi", " you"],
        ),
        // Less text than before.
        (vec![text("Hello")], vec![text("Hell")], vec!["Hello"]),
        // Nothing was shown before.
        (vec![], vec![text("Hi")], vec!["Hi"]),
    ];
    for (mut first, mut second, expected) in cases {
        first.push(broken());
        second.push(completed("the end"));
        let mut items = Scripted::new(vec![first, second]).ask().await;
        assert_eq!(items.pop().unwrap().unwrap(), completed("the end").unwrap());
        let shown: String = items
            .into_iter()
            .map(|item| match item.unwrap() {
                ModelEvent::Text(text) | ModelEvent::Reasoning(text) => text,
                ModelEvent::Begun | ModelEvent::Completed(_) => panic!("completed twice"),
            })
            .collect();
        assert_eq!(shown, expected.concat());
    }
}

#[tokio::test(start_paused = true)]
async fn a_third_try_goes_on_where_the_second_had_lost_the_thread() {
    let model = Scripted::new(vec![
        vec![text("ab"), broken()],
        vec![text("x"), broken()],
        vec![text("abc"), completed("abc")],
    ]);
    let items = model.ask().await;
    let expected = [text("ab"), text("c"), completed("abc")].map(Result::unwrap);
    assert_eq!(
        items.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        expected
    );
}

#[tokio::test(start_paused = true)]
async fn after_five_tries_the_error_is_the_callers() {
    let model = Scripted::new((0..9).map(|_| vec![limited(0)]).collect());
    let items = model.ask().await;
    assert!(matches!(items[..], [Err(ModelError::RateLimited { .. })]));
    let waits = model.waits();
    assert_eq!(waits.len(), 4);
    for (position, wait) in waits.into_iter().enumerate() {
        let longest = FIRST_WAIT * 2_u32.pow(position.try_into().unwrap());
        // The clock of the test counts in whole milliseconds.
        assert!(
            wait <= longest + Duration::from_millis(2),
            "{wait:?} before try {}",
            position + 2
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_left_alone_as_long_as_it_asks_but_not_for_hours() {
    let model = Scripted::new(vec![
        vec![limited(7)],
        vec![limited(7200)],
        vec![completed("x")],
    ]);
    assert_eq!(model.ask().await.len(), 1);
    let waits = model.waits();
    for (wait, asked, backoff) in [(waits[0], 7, 1), (waits[1], 60, 2)] {
        let range = Duration::from_secs(asked)..Duration::from_secs(asked + backoff + 1);
        assert!(range.contains(&wait), "{wait:?}");
    }
}

#[test]
fn workers_that_were_turned_away_together_come_back_at_different_times() {
    let waits: Vec<Duration> = (0..200).map(|_| wait_after(3, None)).collect();
    let within = |range: std::ops::Range<u64>| {
        let millis = waits.iter().map(|wait| wait.as_millis() as u64);
        millis.filter(|wait| range.contains(wait)).count()
    };
    assert_eq!(within(0..4000), 200);
    assert!(within(0..1000) > 10 && within(3000..4000) > 10, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_read_is_asked_for_again_as_often_as_one_that_is_cut() {
    let unreadable = || {
        Err(ModelError::Protocol(
            "expected value at line 1 column 1".into(),
        ))
    };
    let model = Scripted::new(vec![
        vec![text("a"), unreadable()],
        vec![text("ab"), completed("ab")],
    ]);
    let items = model.ask().await;
    let expected = [text("a"), text("b"), completed("ab")].map(Result::unwrap);
    assert_eq!(
        items.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        expected
    );
    let model = Scripted::new((0..9).map(|_| vec![unreadable()]).collect());
    assert!(matches!(
        model.ask().await[..],
        [Err(ModelError::Protocol(_))]
    ));
    assert_eq!(model.waits().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_is_not_tried_again() {
    let model = Scripted::new(vec![vec![text("a"), refused()]]);
    let items = model.ask().await;
    assert!(matches!(
        items[..],
        [Ok(_), Err(ModelError::Refused { .. })]
    ));
    assert_eq!(model.waits(), []);
}

#[tokio::test(start_paused = true)]
async fn each_try_that_fails_is_told_with_whether_it_may_be_billed() {
    let begun = || Ok(ModelEvent::Begun);
    let overloaded = || {
        Err(ModelError::Unavailable {
            retry_after: None,
            message: "overloaded".into(),
        })
    };
    let model = Scripted::new(vec![
        vec![limited(1)],
        vec![begun(), overloaded()],
        vec![overloaded()],
        vec![broken()],
        vec![begun(), refused()],
    ]);
    let told = std::sync::Mutex::new(Vec::new());
    let report = |failed: Failed<'_>| {
        let line = (failed.tries, failed.may_be_billed(), failed.wait.is_some());
        told.lock().unwrap().push(line);
        Box::pin(std::future::ready(true)) as BoxFuture<'_, bool>
    };
    let items: Items = super::stream(&[&model], nothing(), &report).collect().await;
    assert!(matches!(items[..], [Err(ModelError::Refused { .. })]));
    let expected = [
        (1, false, true),
        (2, true, true),
        (3, false, true),
        (4, true, true),
        (5, true, false),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_may_forbid_another_try() {
    let model = Scripted::new(vec![vec![limited(1)], vec![completed("x")]]);
    let items: Items = super::stream(&[&model], nothing(), &|_| {
        Box::pin(std::future::ready(false))
    })
    .collect()
    .await;
    assert!(matches!(items[..], [Err(ModelError::RateLimited { .. })]));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_just_ends_counts_as_broken() {
    let model = Scripted::new(vec![vec![], vec![completed("x")]]);
    assert_eq!(model.ask().await.len(), 1);
}

fn unavailable() -> Items {
    vec![Err(ModelError::Unavailable {
        retry_after: None,
        message: String::new(),
    })]
}

#[tokio::test(start_paused = true)]
async fn a_model_out_of_reach_is_replaced_at_once_and_asked_first_again() {
    let first = Scripted::new(vec![unavailable(), unavailable()]);
    let second = Scripted::new(vec![unavailable(), vec![text("ok"), completed("ok")]]);
    let seen = Mutex::new(Vec::new());
    let report = |failed: Failed<'_>| -> BoxFuture<'_, bool> {
        let entry = (failed.model, failed.fallback, failed.tries);
        seen.lock().unwrap().push(entry);
        Box::pin(std::future::ready(true))
    };
    let begun_at = Instant::now();
    let items: Items = super::stream(&[&first, &second], nothing(), &report)
        .collect()
        .await;
    assert!(matches!(items.last(), Some(Ok(ModelEvent::Completed(_)))));
    let expected = [(0, Some(1), 1), (1, None, 1), (0, Some(1), 2)];
    assert_eq!(*seen.lock().unwrap(), expected);
    // One random wait, before the second round.
    assert!(begun_at.elapsed() <= FIRST_WAIT + Duration::from_millis(2));
    let asked = (
        first.asked_at.lock().unwrap(),
        second.asked_at.lock().unwrap(),
    );
    assert_eq!(
        asked.0.first(),
        asked.1.first(),
        "there is no wait for the fallback"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_refuses_or_has_begun_is_not_replaced() {
    let refused = ModelError::Refused {
        status: 400,
        message: String::new(),
    };
    let broken = vec![text("Hel"), Err(ModelError::BrokenStream)];
    let whole = vec![text("Hello"), completed("Hello")];
    let never_asked = Scripted::new(Vec::new());
    for (replies, is_completed) in [
        (vec![vec![Err(refused)]], false),
        (vec![broken, whole], true),
    ] {
        let first = Scripted::new(replies);
        let models: [&dyn LanguageModel; 2] = [&first, &never_asked];
        let report: &TryReport<'_> = &|_| Box::pin(std::future::ready(true));
        let items: Items = super::stream(&models, nothing(), report).collect().await;
        let last = items.last().unwrap();
        assert_eq!(matches!(last, Ok(ModelEvent::Completed(_))), is_completed);
    }
}
