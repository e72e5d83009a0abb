//! Limits of models, learned from the requests that providers refuse.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ModelError;
use crate::media::AcceptedMedia;

/// The maximum number of models that are remembered. Clients choose the names.
const MAX_MODELS: usize = 1000;
/// Phrases with which providers refer to the cap of a reply.
const CAP_WORDS: [&str; 4] = [
    "max_tokens",
    "max_completion_tokens",
    "output tokens",
    "completion tokens",
];
/// The statuses of refusals that are about the request. Others, such as 402, can be about the account.
const REQUEST_STATUSES: [u16; 2] = [400, 422];
/// Phrases before the size of the context window.
const WINDOW_WORDS: [&str; 3] = ["context length is ", "tokens > ", "context size ("];
/// The phrase before the prompt, the cap and the context window, as in `exceed context limit: 178959 + 64000 > 200000`.
const SUM_WORDS: &str = "exceed context limit: ";
/// Phrases after the size of the prompt.
const PROMPT_WORDS: [&str; 3] = [" input tokens", " in the messages", " in the prompt"];

/// Limits of models, learned from refusals. All jobs of a worker share them.
#[derive(Clone, Default)]
pub struct LearnedLimits(Arc<Mutex<HashMap<String, ModelLimits>>>);

#[derive(Clone, Copy, Default)]
struct ModelLimits {
    max_tokens: Option<u32>,
    context_window: Option<u32>,
    takes: Option<AcceptedMedia>,
}

impl LearnedLimits {
    /// Returns the context window of a model in tokens, if a refusal has named it.
    pub fn context_window(&self, model: &str) -> Option<u32> {
        self.lock().get(model)?.context_window
    }

    /// Returns the cap to request: `wanted`, or the learned cap of the model if that is lower.
    pub(crate) fn cap(&self, model: &str, wanted: u32) -> u32 {
        let learned = self.lock().get(model).and_then(|it| it.max_tokens);
        learned.map_or(wanted, |cap| cap.min(wanted))
    }

    /// Returns the kinds of files that the model accepts, if it has refused some of them permanently.
    pub(crate) fn takes(&self, model: &str) -> Option<AcceptedMedia> {
        self.lock().get(model)?.takes
    }

    /// Learns the kinds of files that the model accepts, if the refusal is about a kind of
    /// files and not about one file.
    pub(crate) fn learn_takes(&self, model: &str, error: &ModelError, takes: AcceptedMedia) {
        if AcceptedMedia::is_refused_for_good(error) {
            self.remember(model, |limits| limits.takes = Some(takes));
        }
    }

    /// Learns from a refusal. If it is about the cap, returns the lower cap with which the request can be repeated.
    pub(crate) fn learn(&self, model: &str, error: &ModelError, asked: u32) -> Option<u32> {
        let message = match error {
            ModelError::Refused { status, message } if REQUEST_STATUSES.contains(status) => message,
            ModelError::ContextExceeded { message, .. } => message,
            _ => return None,
        };
        let message = message.to_lowercase();
        if let Some(window) = window_in(&message) {
            self.remember(model, |limits| limits.context_window = Some(window));
            // This cap is the rest of the window after this prompt. Other prompts leave more.
            let left = window.checked_sub(prompt_in(&message)?)?;
            return (1..asked).contains(&left).then_some(left);
        }
        let cap = cap_in(&message, asked)?;
        self.remember(model, |limits| limits.max_tokens = Some(cap));
        Some(cap)
    }

    fn remember(&self, model: &str, set: impl FnOnce(&mut ModelLimits)) {
        let mut models = self.lock();
        if models.len() < MAX_MODELS || models.contains_key(model) {
            set(models.entry(model.to_owned()).or_default());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ModelLimits>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the size of the context window that a message in lower case names.
pub(crate) fn window_in(message: &str) -> Option<u32> {
    if let Some((_, sum)) = message.split_once(SUM_WORDS) {
        return numbers(sum).nth(2);
    }
    let after = WINDOW_WORDS
        .iter()
        .find_map(|words| Some(message.split_once(words)?.1))?;
    numbers(after).next()
}

/// Returns the size of the prompt that a message names.
fn prompt_in(message: &str) -> Option<u32> {
    if let Some((_, sum)) = message.split_once(SUM_WORDS) {
        return numbers(sum).next();
    }
    let before = PROMPT_WORDS
        .iter()
        .find_map(|words| Some(message.split_once(words)?.0))?;
    numbers(before).last()
}

/// Returns the highest cap that a message names below the requested one.
fn cap_in(message: &str, asked: u32) -> Option<u32> {
    let is_about_cap = CAP_WORDS.iter().any(|words| message.contains(words));
    let lower = numbers(message).filter(|number| (1..asked).contains(number));
    lower.max().filter(|_| is_about_cap)
}

/// Returns the numbers in a text, with or without commas between the thousands. Digits of names (`claude-3-5`) also
/// count as numbers, but they are smaller than any limit.
fn numbers(text: &str) -> impl Iterator<Item = u32> {
    let is_part = |char: char| char.is_ascii_digit() || char == ',';
    let words = text.split(move |char| !is_part(char));
    words.filter_map(|word| word.replace(',', "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> ModelError {
        ModelError::Refused {
            status: 400,
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_refused_cap_is_lowered_and_remembered() {
        for (message, cap) in [
            (
                "max_tokens: 16000 > 8192, which is the maximum allowed number of output tokens for \
                 claude-3-5-haiku-20241022",
                8192,
            ),
            (
                "max_tokens is too large: 16000. This model supports at most 4096 completion tokens, whereas you \
                 provided 16000.",
                4096,
            ),
            ("`max_tokens` must be less than or equal to `8,192`", 8192),
        ] {
            let learned = LearnedLimits::default();
            assert_eq!(learned.learn("p/m", &refused(message), 16_000), Some(cap));
            assert_eq!(learned.cap("p/m", 16_000), cap);
            assert_eq!(learned.cap("p/m", 100), 100);
            assert_eq!(learned.cap("p/other", 16_000), 16_000);
        }
    }

    #[test]
    fn a_cap_beyond_the_window_is_what_the_prompt_leaves() {
        let learned = LearnedLimits::default();
        let vllm = "'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is \
                    8192 tokens and your request has 1192 input tokens (16000 > 8192 - 1192).";
        assert_eq!(learned.learn("p/m", &refused(vllm), 16_000), Some(7000));
        assert_eq!(learned.cap("p/m", 16_000), 16_000);
        assert_eq!(learned.context_window("p/m"), Some(8192));
        let openai = "This model's maximum context length is 4097 tokens. However, you requested 16050 tokens (50 in the \
                      messages, 16000 in the completion).";
        assert_eq!(learned.learn("p/n", &refused(openai), 16_000), Some(4047));
    }

    #[test]
    fn of_a_sum_that_exceeds_the_window_only_the_window_is_remembered() {
        let message = |sum: &str| {
            let end = "decrease input length or `max_tokens` and try again";
            refused(&format!(
                "input length and `max_tokens` exceed context limit: {sum}, {end}"
            ))
        };
        for (sum, asked, left) in [
            ("178959 + 64000 > 200000", 64_000, Some(21_041)),
            ("90402 + 116650 > 200000", 116_650, Some(109_598)),
            ("200001 + 16000 > 200000", 16_000, None),
        ] {
            let learned = LearnedLimits::default();
            assert_eq!(learned.learn("p/m", &message(sum), asked), left, "{sum}");
            assert_eq!(learned.cap("p/m", asked), asked, "{sum}");
            assert_eq!(learned.context_window("p/m"), Some(200_000), "{sum}");
        }
    }

    #[test]
    fn a_refusal_for_lack_of_credit_changes_nothing() {
        let learned = LearnedLimits::default();
        let refusal = ModelError::Refused {
            status: 402,
            message: "This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but \
                      can only afford 3919."
                .to_owned(),
        };
        assert_eq!(learned.learn("p/m", &refusal, 16_000), None);
        assert_eq!(learned.cap("p/m", 16_000), 16_000);
    }

    #[test]
    fn other_refusals_change_nothing() {
        let learned = LearnedLimits::default();
        for message in [
            "max_tokens: 16000 is not allowed",
            "model `m-4096` does not exist",
            "prompt is too long: 205000 tokens > 200000 maximum",
        ] {
            assert_eq!(learned.learn("p/m", &refused(message), 16_000), None);
            assert_eq!(learned.cap("p/m", 16_000), 16_000);
        }
        assert_eq!(learned.context_window("p/m"), Some(200_000));
    }
}
