//! `vectorstore`: the index is searched by its owner, outside of the sandbox.

use super::made::{Made, can_run, refusal};
use crate::support::Service;

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
    // None of these is worded as the passage is.
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
    // Another way to the same neighbour: letters that both have, counted without the index.
    let by_hand = made.ask_python(&format!(
        "import json\nfrom collections import Counter\n\
         parts = lambda text: Counter(text.lower()[i:i+4] for i in range(len(text)))\n\
         question = parts('{BROKEN}')\n\
         best = max(map(json.loads, open('passages.jsonl')), key=lambda p: sum((parts(p['text']) & question).values()))\n\
         print(best['file'], best['place'])",
    ));
    assert_eq!(by_hand.trim(), "notes.txt line 7");
}

#[tokio::test]
async fn it_takes_no_picture() {
    let service = Service::without_worker().await;
    let detail = refusal(
        &service,
        "vectorstore",
        "a.png",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    )
    .await;
    assert_eq!(
        detail,
        "is image/png; the skill `vectorstore` takes: document"
    );
}
