//! `script/bash`: a model without network access, which runs the commands in the prompt.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde::Deserialize;
use serde_json::{Value, json};
use shared::asset::OutputKind;
use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};
use shared::tool::ToolName;

use super::{LanguageModel, ModelError, ModelEvent, ModelMessage, ModelRequest, Part, ToolResult};

/// Runs the prompt's fenced blocks in order. A `bash` block is a command. A block marked `call` with the name of a
/// tool contains the arguments of that tool as JSON. The prompt's lines `output: chart.png` come next. The script
/// then answers with the result of the last block. A step that fails is the last.
pub(super) struct Script;

impl LanguageModel for Script {
    fn follows_a_script(&self) -> bool {
        true
    }

    /// The answer is the output of the last command.
    fn constrains_output(&self, _: &Value) -> bool {
        true
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        let reply = match next_step(request.messages) {
            ScriptStep::Call {
                tool,
                input,
                number,
            } => {
                let call = ToolCall {
                    call_id: format!("call_{number}"),
                    tool,
                    input,
                    malformed: None,
                };
                message(Block::ToolCall(call), StopReason::ToolUse)
            }
            ScriptStep::Answer(text) => message(Block::Text { text }, StopReason::EndTurn),
        };
        let text = Some(reply.text())
            .filter(|text| !text.is_empty())
            .map(ModelEvent::Text);
        stream::iter(
            text.into_iter()
                .chain([ModelEvent::Completed(reply)])
                .map(Ok),
        )
        .boxed()
    }
}

enum ScriptStep {
    Call {
        tool: String,
        input: Value,
        number: usize,
    },
    Answer(String),
}

fn message(block: Block, stop_reason: StopReason) -> AssistantMessage {
    let usage = Tokens::default();
    AssistantMessage {
        content: vec![block],
        stop_reason,
        usage,
        model: "script/bash".to_owned(),
    }
}

fn next_step(messages: &[ModelMessage]) -> ScriptStep {
    let steps = steps(prompt(messages));
    let results: Vec<_> = messages.iter().filter_map(results).flatten().collect();
    let failed = results.last().filter(|result| result.is_error);
    match (failed, steps.get(results.len())) {
        (Some(result), _) => {
            let (number, count) = (results.len(), steps.len());
            ScriptStep::Answer(format!(
                "Step {number} of {count} failed.\n{}",
                printed(&result.text)
            ))
        }
        (None, Some((tool, input))) => ScriptStep::Call {
            tool: tool.clone(),
            input: input.clone(),
            number: results.len() + 1,
        },
        (None, None) => ScriptStep::Answer(answer(&steps, &results)),
    }
}

fn prompt(messages: &[ModelMessage]) -> &str {
    let Some(ModelMessage::User(parts)) = messages.first() else {
        return "";
    };
    parts
        .iter()
        .find_map(|part| {
            if let Part::Text(text) = part {
                Some(text.as_str())
            } else {
                None
            }
        })
        .unwrap_or("")
}

fn results(message: &ModelMessage) -> Option<impl Iterator<Item = &ToolResult>> {
    let ModelMessage::User(parts) = message else {
        return None;
    };
    Some(parts.iter().filter_map(|part| {
        if let Part::ToolResult(result) = part {
            Some(result)
        } else {
            None
        }
    }))
}

fn answer(steps: &[(String, Value)], results: &[&ToolResult]) -> String {
    let mut blocks = steps
        .iter()
        .zip(results)
        .filter(|((tool, _), _)| tool != ToolName::SetOutput.as_str());
    match blocks.next_back() {
        Some((_, result)) => printed(&result.text),
        None => "script/bash runs the fenced `bash` blocks of the prompt, and this one has none."
            .to_owned(),
    }
}

/// Returns the output of a command from the result of `shell.exec`. Other results are returned unchanged.
fn printed(result: &str) -> String {
    let reply = match serde_json::from_str::<Value>(result) {
        Ok(reply) if reply.get("stdout").is_some() => reply,
        _ => return result.to_owned(),
    };
    let stream = |name: &str| {
        reply[name]
            .as_str()
            .unwrap_or_default()
            .trim_end()
            .to_owned()
    };
    let lines = [stream("stdout"), stream("stderr"), stream("note")];
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        "(no output)".to_owned()
    } else {
        lines.join("\n")
    }
}

/// Returns the calls that a prompt requests: its blocks in order, then its outputs.
fn steps(prompt: &str) -> Vec<(String, Value)> {
    let (mut blocks, mut outputs) = (Vec::new(), Vec::new());
    let mut lines = prompt.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = opening_fence(line) {
            let block: Vec<_> = lines
                .by_ref()
                .take_while(|line| line.trim() != fence)
                .collect();
            blocks.extend(step(line.trim_start_matches('`'), block.join("\n")));
        } else if let Some(path) = output_line(line) {
            let tool = ToolName::SetOutput.as_str().to_owned();
            outputs.push((tool, json!({"path": path})));
        }
    }
    blocks.into_iter().chain(outputs).collect()
}

/// Returns the call in a fenced block, according to the text beside its fence.
fn step(info: &str, block: String) -> Option<(String, Value)> {
    let mut words = info.split_whitespace();
    match (words.next()?, words.next()) {
        ("bash", None) => {
            let tool = ToolName::ShellExec.as_str().to_owned();
            Some((tool, json!({"command": block})))
        }
        // The tool rejects invalid JSON with a clear error.
        ("call", Some(tool)) => {
            let input = serde_json::from_str(&block).unwrap_or(Value::String(block));
            Some((tool.to_owned(), input))
        }
        _ => None,
    }
}

fn opening_fence(line: &str) -> Option<&str> {
    let ticks = line.len() - line.trim_start_matches('`').len();
    (ticks >= 3).then(|| &line[..ticks])
}

/// Returns the path in a line `output: chart.png`. The line may name the kind, as in `output image: chart.png`.
fn output_line(line: &str) -> Option<&str> {
    let (kind, path) = line.trim().strip_prefix("output")?.split_once(':')?;
    let kind = kind.trim();
    let is_output = kind.is_empty() || OutputKind::deserialize(Value::from(kind)).is_ok();
    let path = path.trim();
    (is_output && !path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "Draw.\n\n```bash\necho a\necho b\n```\n```python\nnot this\noutput image: no.png\n```\n\
                          output image: a b.png\noutput noise: x\n````bash\necho '```'\n````\noutput: r.html\n";

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User(vec![Part::Text(text.to_owned())])
    }

    fn result(text: &str, is_error: bool) -> ModelMessage {
        ModelMessage::User(vec![Part::ToolResult(ToolResult {
            call_id: "c".into(),
            text: text.to_owned(),
            is_error,
            images: Vec::new(),
        })])
    }

    fn call_of(messages: &[ModelMessage]) -> (String, Value) {
        match next_step(messages) {
            ScriptStep::Call { tool, input, .. } => (tool, input),
            ScriptStep::Answer(text) => panic!("answered {text}"),
        }
    }

    fn answer_of(messages: &[ModelMessage]) -> String {
        match next_step(messages) {
            ScriptStep::Answer(text) => text,
            ScriptStep::Call { tool, .. } => panic!("called {tool}"),
        }
    }

    #[test]
    fn commands_come_one_by_one_then_outputs_then_what_the_last_command_printed() {
        let mut messages = vec![user(PROMPT)];
        let expected = [
            ("shell.exec", json!({"command": "echo a\necho b"})),
            ("shell.exec", json!({"command": "echo '```'"})),
            ("set_output", json!({"path": "a b.png"})),
            ("set_output", json!({"path": "r.html"})),
        ];
        let replies = [
            r#"{"stdout":"1\n"}"#,
            r#"{"stdout":"2\n","stderr":"w"}"#,
            "a b.png is an output",
            "so is r.html",
        ];
        for ((tool, input), reply) in expected.into_iter().zip(replies) {
            assert_eq!(call_of(&messages), (tool.to_owned(), input));
            messages.push(result(reply, false));
        }
        assert_eq!(answer_of(&messages), "2\nw");
    }

    #[test]
    fn a_block_can_be_a_call_of_any_tool() {
        let prompt = "```call http_request\n{\"method\": \"GET\"}\n```\n```call\n{}\n```\n``` call file.read\nno json\n```\n\
                      output image: a.png\n";
        let mut messages = vec![user(prompt)];
        let input = json!({"method": "GET"});
        assert_eq!(call_of(&messages), ("http_request".to_owned(), input));
        messages.push(result(r#"{"status":200}"#, false));
        let input = json!("no json");
        assert_eq!(call_of(&messages), ("file.read".to_owned(), input));
        messages.push(result(r#"{"status":201}"#, false));
        assert_eq!(call_of(&messages).0, "set_output");
        messages.push(result("a.png is an output now", false));
        assert_eq!(answer_of(&messages), r#"{"status":201}"#);
    }

    #[test]
    fn a_failure_is_the_last_step_and_a_prompt_without_commands_is_told_so() {
        let failed = [
            user(PROMPT),
            result(r#"{"stdout":"","stderr":"no\n","exit_code":1}"#, true),
        ];
        assert_eq!(answer_of(&failed), "Step 1 of 4 failed.\nno");
        assert!(answer_of(&[user("Hello")]).contains("has none"));
    }
}
