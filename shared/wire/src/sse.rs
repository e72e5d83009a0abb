//! A decoder for Server-Sent Events (WHATWG HTML, section 9.2.6) with a size limit.

/// The maximum size of an event in bytes. A peer that sends a larger event does not speak this protocol.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// A dispatched event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field. An empty name stands for `message`.
    pub name: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
    /// The last `id` of the stream.
    pub id: String,
}

/// An event of the stream exceeds the size limit.
#[derive(Debug, thiserror::Error)]
#[error("an event is larger than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLarge;

/// Decodes a stream of bytes into events. The chunks can be cut anywhere.
#[derive(Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    after_carriage_return: bool,
    first_line_seen: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseDecoder {
    /// Decodes one chunk and returns the events that it completes.
    pub fn decode(&mut self, chunk: &[u8]) -> Result<Vec<SseEvent>, EventTooLarge> {
        let mut events = Vec::new();
        let mut rest = chunk;
        if self.after_carriage_return && !rest.is_empty() {
            self.after_carriage_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            self.line.extend_from_slice(&rest[..end]);
            let carriage_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if carriage_return {
                self.after_carriage_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            events.extend(self.end_line());
            self.check_size()?;
        }
        self.line.extend_from_slice(rest);
        self.check_size()?;
        Ok(events)
    }

    fn check_size(&self) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.event.data.len();
        if held > MAX_EVENT_BYTES {
            Err(EventTooLarge)
        } else {
            Ok(())
        }
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&bytes);
        if !self.first_line_seen {
            self.first_line_seen = true;
            line = line
                .strip_prefix('\u{feff}')
                .map(|text| text.to_owned().into())
                .unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" if !value.contains('\0') => value.clone_into(&mut self.event.id),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let next = SseEvent {
            id: self.event.id.clone(),
            ..SseEvent::default()
        };
        let event = std::mem::replace(&mut self.event, next);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_in_chunks_of(size: usize, text: &str) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let chunks = text.as_bytes().chunks(size);
        chunks
            .flat_map(|chunk| decoder.decode(chunk).unwrap())
            .collect()
    }

    #[test]
    fn the_same_events_come_out_however_the_stream_is_cut() {
        let text = "\u{feff}id: 7\nevent: größe\ndata: {\"a\":1}\r\ndata: zwei\r\r: ping\n\ndata:three\n\nevent: none\n\n";
        let expected = vec![
            SseEvent {
                name: "größe".into(),
                data: "{\"a\":1}\nzwei".into(),
                id: "7".into(),
            },
            SseEvent {
                name: String::new(),
                data: "three".into(),
                id: "7".into(),
            },
        ];
        for size in 1..=text.len() {
            assert_eq!(
                decode_in_chunks_of(size, text),
                expected,
                "chunks of {size}"
            );
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut decoder = SseDecoder::default();
        let chunk = vec![b'x'; MAX_EVENT_BYTES / 4];
        let fed = (0..5).try_for_each(|_| decoder.decode(&chunk).map(drop));
        assert!(fed.is_err());
    }
}
