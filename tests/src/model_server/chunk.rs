//! Splitting of replies into awkward chunks.

use bytes::Bytes;

/// The sizes of the writes in bytes. They split events and multi-byte characters. The last size keeps long replies
/// cheap.
const WRITE_BYTES: [usize; 7] = [1, 2, 3, 7, 13, 64, 997];

/// The sizes of the deltas in characters.
const DELTA_CHARS: [usize; 6] = [3, 1, 7, 2, 12, 5];

/// The text length in bytes beyond which deltas get larger instead of more numerous.
const LONG_TEXT_BYTES: usize = 2_000;

/// Cuts a body into writes. The seed selects the start in the cycle of sizes.
pub(super) fn writes(mut body: Bytes, seed: usize) -> impl Iterator<Item = Bytes> {
    let mut sizes = WRITE_BYTES
        .into_iter()
        .cycle()
        .skip(seed % WRITE_BYTES.len());
    std::iter::from_fn(move || {
        let size = sizes.next()?.min(body.len());
        (size > 0).then(|| body.split_to(size))
    })
}

/// Cuts a text into its characters.
pub(super) fn chars(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|_| true)
}

/// Returns the event twice, each with one escaped half of its first surrogate pair, or once if it has no such pair.
pub(super) fn split_pair(event: String) -> Vec<String> {
    let Some(char) = event.chars().find(|char| char.len_utf16() == 2) else {
        return vec![event];
    };
    let mut halves = [0; 2];
    char.encode_utf16(&mut halves);
    let with = |half| event.replace(char, &format!("\\u{half:04x}"));
    halves.map(with).into()
}

/// Cuts a text into non-empty deltas.
pub(super) fn deltas(text: &str) -> impl Iterator<Item = &str> {
    let scale = 1 + text.len() / LONG_TEXT_BYTES;
    let mut sizes = DELTA_CHARS.into_iter().cycle();
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = sizes.next()? * scale;
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (delta, after) = rest.split_at(end);
        rest = after;
        (!delta.is_empty()).then_some(delta)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_deltas_lose_nothing() {
        let text = "Grüße, 世界! ".repeat(1_000);
        for seed in 0..WRITE_BYTES.len() {
            let writes: Vec<Bytes> = writes(Bytes::from(text.clone()), seed).collect();
            assert_eq!(writes.concat(), text.as_bytes());
        }
        assert_eq!(deltas(&text).collect::<String>(), text);
        assert_eq!(deltas("").count(), 0);
        assert_eq!(chars(&text).collect::<String>(), text);
    }

    #[test]
    fn a_pair_is_split_into_two_events() {
        let split = split_pair("data: {\"text\": \"🎉\"}".to_owned());
        let halves = [r#"data: {"text": "\ud83c"}"#, r#"data: {"text": "\udf89"}"#];
        assert_eq!(split, halves);
        assert_eq!(split_pair("ü".to_owned()), ["ü"]);
    }
}
