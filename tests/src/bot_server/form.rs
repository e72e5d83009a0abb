//! Request bodies of calls: JSON and multipart forms.

use serde_json::{Map, Value};

use super::call::{BotCall, CallFile};

/// Parses a call. A field of a form may refer to a part as `attach://part`.
pub(super) fn read_call(method: &str, content_type: &str, body: &[u8]) -> Option<BotCall> {
    let mut call = BotCall {
        method: method.to_owned(),
        fields: Value::Object(Map::new()),
        files: Vec::new(),
    };
    if body.is_empty() {
        return Some(call);
    }
    let Some((_, boundary)) = content_type.split_once("boundary=") else {
        call.fields = serde_json::from_slice(body).ok()?;
        return Some(call);
    };
    let delimiter = format!("--{}", boundary.trim_matches('"'));
    for part in split(body, delimiter.as_bytes()).into_iter().skip(1) {
        if part.starts_with(b"--") {
            break;
        }
        read_part(part, &mut call)?;
    }
    let fields = call.fields.as_object().cloned().unwrap_or_default();
    for (field, value) in fields {
        if let Some(name) = value.as_str().and_then(|it| it.strip_prefix("attach://")) {
            let file = call.files.iter_mut().find(|file| file.field == name)?;
            file.field = field;
        }
    }
    Some(call)
}

fn read_part(part: &[u8], call: &mut BotCall) -> Option<()> {
    let part = part.strip_prefix(b"\r\n")?.strip_suffix(b"\r\n")?;
    let end = find(part, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&part[..end]).into_owned();
    let content = part[end + 4..].to_vec();
    let field = parameter(&head, "name")?;
    match parameter(&head, "filename") {
        Some(name) => {
            let content_type = header(&head, "content-type");
            call.files.push(CallFile {
                field,
                name,
                content_type: content_type.unwrap_or_default().to_owned(),
                content,
            });
        }
        None => {
            call.fields[field] = String::from_utf8(content).ok()?.into();
        }
    }
    Some(())
}

/// The value of a header of a part.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let headers = head.lines().filter_map(|line| line.split_once(':'));
    let mut found = headers.filter(|(it, _)| it.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim())
}

/// The value of a parameter of `Content-Disposition`.
fn parameter(head: &str, name: &str) -> Option<String> {
    let disposition = header(head, "content-disposition")?;
    let pattern = format!("{name}=");
    let mut places = disposition.match_indices(&pattern);
    let (at, _) = places.find(|(at, _)| disposition[..*at].ends_with([';', ' ']))?;
    let value = &disposition[at + pattern.len()..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split(';').next()?,
    };
    Some(value.to_owned())
}

fn split<'a>(mut body: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = find(body, delimiter) {
        parts.push(&body[..at]);
        body = &body[at + delimiter.len()..];
    }
    parts.push(body);
    parts
}

fn find(body: &[u8], pattern: &[u8]) -> Option<usize> {
    body.windows(pattern.len())
        .position(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_fields_and_files() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n--x\r\nContent-Disposition: \
                    form-data; name=\"document\"\r\n\r\nattach://p\r\n--x\r\nContent-Disposition: form-data; name=\"p\"; \
                    filename=\"a.md\"\r\nContent-Type: text/markdown\r\n\r\n# A\r\n\r\n--x--\r\n";
        let call = read_call(
            "sendDocument",
            "multipart/form-data; boundary=x",
            body.as_bytes(),
        );
        let call = call.expect("it can be read");
        assert_eq!(call.number("chat_id"), Some(7));
        let file = &call.files[0];
        assert_eq!(
            (file.field.as_str(), file.name.as_str()),
            ("document", "a.md")
        );
        assert_eq!(
            (file.content_type.as_str(), file.content.as_slice()),
            ("text/markdown", b"# A\r\n".as_slice())
        );
    }
}
