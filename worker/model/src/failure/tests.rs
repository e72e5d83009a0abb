//! Tests of error responses.

use super::*;

fn shown(status: u16, body: &str) -> String {
    presentable(of_response(status, None, body), "local-secret-key").to_string()
}

#[test]
fn a_refusal_keeps_the_words_of_every_shape_of_body() {
    let cases = [
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"no model"}}"#,
            "no model",
        ),
        (r#"{"error":"model 'x' not found"}"#, "model 'x' not found"),
        (
            r#"{"object":"error","message":"too long","code":400}"#,
            "too long",
        ),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (r#"{"detail":[{"loc":["body"]}]}"#, r#"[{"loc":["body"]}]"#),
        (
            r#"[{"error":{"code":400,"message":"bad argument"}}]"#,
            "bad argument",
        ),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"too many images"}}}"#,
            "Provider returned error: too many images",
        ),
        ("plain\n words", "plain words"),
        (
            "<html><head><title>404</title></head><body><h1>Not here</h1></body></html>",
            "404 Not here",
        ),
        ("", "no reason given"),
    ];
    for (body, words) in cases {
        let expected = format!("the provider refused the request with status 400: {words}");
        assert_eq!(shown(400, body), expected);
    }
}

#[test]
fn a_refusal_is_capped_and_shows_no_key() {
    let long = shown(400, &"ü".repeat(5000));
    assert_eq!(
        long.chars().filter(|char| *char == 'ü').count(),
        MAX_MESSAGE_CHARS - 1
    );
    for quoted in [
        "key: local-secret-key.",
        "key 'local-se****-key'",
        "Incorrect API key provided: sk-proj-abc***xyz.",
        r#"{"error":{"message":"header \"x-api-key=local-secret-key\""}}"#,
    ] {
        let message = shown(401, quoted);
        assert!(message.contains("[redacted]"), "{message}");
        assert!(
            !message.contains("-key.") && !message.contains("local-se") && !message.contains("sk-")
        );
    }
}

#[test]
fn a_status_decides_whether_asking_again_may_help() {
    let quota = r#"{"error":{"message":"check your billing","type":"insufficient_quota"}}"#;
    for (status, body, retryable) in [
        (429, "", true),
        (429, quota, false),
        (408, "", true),
        (409, "", true),
        (500, "", true),
        (529, "", true),
        (302, "", false),
        (400, "", false),
        (413, "", false),
    ] {
        assert_eq!(
            of_response(status, None, body).is_retryable(),
            retryable,
            "{status} {body}"
        );
    }
}

#[test]
fn an_error_in_mid_stream_is_what_it_would_have_been_before() {
    for (error, status) in [
        (r#"{"type":"overloaded_error","message":""}"#, 529),
        (r#"{"type":"rate_limit_error","message":""}"#, 429),
        (r#"{"type":"api_error","message":""}"#, 500),
        (r#"{"type":"invalid_request_error","message":""}"#, 400),
        (r#"{"type":"authentication_error","message":""}"#, 401),
        (r#"{"code":"rate_limit_exceeded","message":""}"#, 429),
        (r#"{"code":502,"message":"","metadata":{}}"#, 502),
        (r#"{"code":"429","message":""}"#, 429),
        (r#"{"code":null,"type":"server_error","message":""}"#, 500),
        (r#"{"code":"context_length_exceeded","type":null}"#, 400),
        (r#""something else""#, 500),
    ] {
        assert_eq!(
            status_of(&serde_json::from_str(error).unwrap()),
            status,
            "{error}"
        );
    }
}
