//! `vectorstore`: an index, searched by its owner outside the sandbox.

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reqwest::Method;
use serde_json::{Value, json};

use super::made::{Made, can_run};
use crate::egress::{ANY, machine};
use crate::support::{Service, bash};

const BROKEN: &str = "the coffee machines were broken by limescale";

#[tokio::test]
async fn the_nearest_neighbour_of_a_question_is_the_passage_that_answers_it() {
    let service = Service::start().await;
    if !can_run(&service, "vectorstore", &["python3"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/vectorstore.md");
    let made = Made::of_bakery(&service, "vectorstore", prompt).await;
    assert_eq!(made.outputs(), [("bakery-index.zip", "application/zip")]);
    made.ask("python3", &["-m", "zipfile", "-e", "bakery-index.zip", "."]);
    // None of these questions uses the wording of its passage.
    let asked = [
        (
            "when was the shop closing for a new oven floor",
            "notes.txt line 4:",
        ),
        (
            "is there a filter for the water of the coffee machine",
            "notes.txt line 7:",
        ),
        (
            "did customers leave because bread costs more cents",
            "notes.txt line 8:",
        ),
        ("2025-12 bread pastries cakes", "bakery.csv line 25:"),
        (BROKEN, "notes.txt line 7:"),
    ];
    let questions = asked.map(|(question, _)| question);
    let said = made.ask("python3", &[&["search.py"], &questions[..]].concat());
    for (question, answer) in asked {
        let best = said.split(&format!("? {question}\n")).nth(1).unwrap();
        let best = best.lines().next().unwrap();
        assert!(best.contains(answer), "{question}: {said}");
    }
    // Find the same passage without the index, by counting the letter sequences in common.
    let by_hand = made.ask_python(&format!(
        "import json\nfrom collections import Counter\n\
         parts = lambda text: Counter(text.lower()[i:i+4] for i in range(len(text)))\n\
         question = parts('{BROKEN}')\n\
         best = max(map(json.loads, open('passages.jsonl')), key=lambda p: sum((parts(p['text']) & question).values()))\n\
         print(best['file'], best['place'])",
    ));
    assert_eq!(by_hand.trim(), "notes.txt line 7");
}

/// Starts an embedding model that recognizes vehicles and requires a key. Returns its URL, which jobs can reach.
fn model_of_vehicles() -> String {
    async fn embed(request: HttpRequest, body: web::Json<Value>) -> HttpResponse {
        let key = request.headers().get("authorization");
        if key.is_none_or(|key| key != "Bearer key-of-vehicles") || body["model"] != "vehicles-1" {
            return HttpResponse::Unauthorized().body("no");
        }
        let vector = |text: &Value| match text.as_str().unwrap() {
            text if text.contains("automobile") || text == "car" => json!([2.0, 0.0]),
            _ => json!([0.0, 3.0]),
        };
        let texts = body["input"].as_array().unwrap().iter().enumerate();
        // The results are out of order, and their indices give the order.
        let data = texts
            .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
            .rev();
        HttpResponse::Ok().json(json!({"data": Vec::from_iter(data)}))
    }
    let server = HttpServer::new(|| App::new().route("/v1/embeddings", web::post().to(embed)))
        .workers(1)
        .bind(("0.0.0.0", 0))
        .unwrap();
    let port = server.addrs()[0].port();
    tokio::spawn(server.run());
    format!("http://{}:{port}/v1", machine())
}

/// Prints the passage that is nearest to the question `car`, by the vectors of the model if there is one, and else by
/// words.
const NEAREST: &str = r#"python3 - <<'END'
import json
texts = ["It is a car park, and a car stands in it.", "An automobile with four doors.", "Bananas."]
with open("passages.jsonl", "w") as passages:
    for text in texts: print(json.dumps({"text": text}), file=passages)
with open("query.jsonl", "w") as query: print(json.dumps("car"), file=query)
END
set -e
if [[ -v EMBEDDINGS_URL ]]; then
    embed passages.jsonl vectors.npy && embed query.jsonl query.npy
    python3 -c 'import numpy; v = numpy.load("vectors.npy"); s = v @ numpy.load("query.npy")[0]; print("embedding", s.argmax(), s.tolist())'
else
    embed passages.jsonl vectors.npy 2>&1 && exit 1
    python3 -c 'import json
from sklearn.feature_extraction.text import TfidfVectorizer
texts = [json.loads(line)["text"] for line in open("passages.jsonl")]
v = TfidfVectorizer(); m = v.fit_transform(texts)
print("words", (m @ v.transform(["car"]).T).toarray().ravel().argmax())'
fi"#;

#[tokio::test]
async fn with_an_embedding_model_the_nearest_is_the_one_that_means_the_same() {
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    let skill = "vectorstore";
    if !can_run(&service, skill, &[]).await {
        return;
    }
    let prompt = bash(NEAREST);
    let parameters = json!({"embedding_model": "vehicles-1"});
    let by_words = Made::of(&service, skill, &prompt, &[], parameters.clone()).await;
    assert!(
        by_words.text().contains("EMBEDDINGS_URL is not set"),
        "{}",
        by_words.text()
    );
    assert!(by_words.text().ends_with("words 0"), "{}", by_words.text());

    let url = model_of_vehicles();
    for (name, value) in [
        ("EMBEDDINGS_URL", url.as_str()),
        ("EMBEDDINGS_KEY", "key-of-vehicles"),
    ] {
        let put = service.request(Method::PUT, &format!("/v1/secrets/{name}"));
        let put = put.json(&json!({ "value": value })).send().await.unwrap();
        assert_eq!(put.status(), 204);
    }
    let by_meaning = Made::of(&service, skill, &prompt, &[], parameters).await;
    assert!(
        by_meaning.text().ends_with("embedding 1 [0.0, 1.0, 0.0]"),
        "{}",
        by_meaning.text()
    );

    let refused = json!({"skill": skill, "model": "script/bash", "prompt": prompt, "parameters": {"embedding_model": "other"}});
    let job = service.run(&refused).await;
    let text = job["text"].as_str().unwrap();
    assert!(text.contains("embed: 401 Unauthorized: no"), "{text}");
}
