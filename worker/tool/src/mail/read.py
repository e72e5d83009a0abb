import email
import email.policy
import imaplib
import re
from datetime import date
from html.parser import HTMLParser

# The maximum length of a mail's text in the result. A longer text is saved to a file.
MAX_TEXT_CHARS = 20_000
MAX_BYTES = 50 * 1024 * 1024
FOLDER = "mail"


class Text(HTMLParser):
    """A parser that collects the text of an HTML page."""

    def __init__(self):
        super().__init__()
        self.words = []
        self.hidden = 0

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style", "head")
        if tag in ("br", "p", "div", "tr", "li", "h1", "h2", "h3"):
            self.words.append("\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "head") and self.hidden > 0

    def handle_data(self, data):
        if not self.hidden:
            self.words.append(data)


def connect(server):
    if server.encryption == "tls":
        context = server.context()
        connection = imaplib.IMAP4_SSL(server.host, server.port, ssl_context=context, timeout=PATIENCE_SECONDS)
    else:
        connection = imaplib.IMAP4(server.host, server.port, timeout=PATIENCE_SECONDS)
        if server.encryption == "starttls":
            connection.starttls(ssl_context=server.context())
    connection.login(server.username, server.password)
    return connection


def quoted(text):
    if any(char in text for char in "\r\n\0"):
        raise Trouble("a folder or search text must not contain line breaks")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def checked(reply):
    status, data = reply
    if status != "OK":
        words = data[0].decode(errors="replace") if data and data[0] else status
        raise Trouble(f"the server responded: {words}")
    return data


def matching(connection, asked):
    """Returns the uids of mails that match all criteria. Each is a search, so that each may be non-ASCII."""
    searches = [("UNSEEN",)] if asked.get("unseen") else []
    for key in ("from", "to", "subject", "text"):
        if asked.get(key):
            searches.append((key.upper(), asked[key]))
    for key in ("since", "before"):
        if asked.get(key):
            try:
                day = date.fromisoformat(asked[key])
            except ValueError as error:
                raise Trouble(f"`{key}` must be a day like 2026-01-31") from error
            searches.append((key.upper(), f"{day.day}-{day:%b}-{day.year}"))
    found = None
    for search in searches or [("ALL",)]:
        uids = {int(uid) for uid in search_for(connection, *search).split()}
        found = uids if found is None else found & uids
    return sorted(found, reverse=True)


def search_for(connection, key, value=None):
    if value is None:
        data = checked(connection.uid("SEARCH", key))
    elif value.isascii():
        data = checked(connection.uid("SEARCH", key, quoted(value)))
    else:
        connection.literal = value.encode()
        data = checked(connection.uid("SEARCH", "CHARSET", "UTF-8", key))
    return data[0] or b""


def fetch(connection, uid, what):
    for part in checked(connection.uid("FETCH", str(uid), what)):
        if isinstance(part, tuple):
            flags = re.search(rb"FLAGS \(([^)]*)\)", part[0])
            return part[1], (flags[1].decode(errors="replace").split() if flags else [])
    raise Trouble(f"there is no mail with the uid {uid} in this folder")


def head(uid, message, flags):
    def header(name):
        return str(message.get(name, "")).strip()

    return {
        "uid": uid,
        "from": header("From"),
        "to": header("To"),
        "subject": header("Subject"),
        "date": header("Date"),
        "message_id": header("Message-ID"),
        "seen": "\\Seen" in flags,
    }


def parsed(content):
    return email.message_from_bytes(content, policy=email.policy.default)


def text_of(message):
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        content = part.get_content()
    except (LookupError, ValueError):
        content = part.get_payload(decode=True).decode("latin-1")
    content = content.replace("\r\n", "\n")
    if part.get_content_subtype() != "html":
        return content
    reader = Text()
    reader.feed(content)
    return re.sub(r"\n\s*\n+", "\n\n", "".join(reader.words)).strip()


def name_of(part, number):
    name = os.path.basename((part.get_filename() or "").replace("\\", "/"))
    name = "".join(char for char in name if char.isprintable() and char != "/").strip(". ")
    return name[:100] or f"attachment-{number}"


def save(uid, message):
    saved = []
    for number, part in enumerate(message.iter_attachments(), 1):
        if part.is_multipart():
            content = part.as_bytes()
        else:
            content = part.get_payload(decode=True) or b""
        folder = os.path.join(FOLDER, str(uid))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name_of(part, number))
        if any(other["path"] == path for other in saved):
            path = os.path.join(folder, f"{number}-{name_of(part, number)}")
        with open(path, "wb") as file:
            file.write(content)
        saved.append({"path": path, "content_type": part.get_content_type(), "size": len(content)})
    return saved


def read_one(connection, uid):
    size, _ = fetch_size(connection, uid)
    if size > MAX_BYTES:
        raise Trouble(f"the mail has {size} bytes; the limit is {MAX_BYTES}")
    content, flags = fetch(connection, uid, "(FLAGS BODY.PEEK[])")
    message = parsed(content)
    text = text_of(message)
    mail = head(uid, message, flags)
    mail["text"] = text[:MAX_TEXT_CHARS]
    if len(text) > MAX_TEXT_CHARS:
        os.makedirs(os.path.join(FOLDER, str(uid)), exist_ok=True)
        path = os.path.join(FOLDER, str(uid), "text.txt")
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        mail["note"] = f"only the first {MAX_TEXT_CHARS} characters are shown; the complete text is in {path}"
    mail["attachments"] = save(uid, message)
    return mail


def fetch_size(connection, uid):
    data = checked(connection.uid("FETCH", str(uid), "(RFC822.SIZE)"))
    found = re.search(rb"RFC822\.SIZE (\d+)", data[0]) if data and data[0] else None
    if found is None:
        raise Trouble(f"there is no mail with the uid {uid} in this folder")
    return int(found[1]), data


def read():
    asked = arguments()
    server = Server("imap", default_port=143, tls_port=993)
    if not server.username:
        raise Trouble("the secret IMAP_USERNAME is not set")
    try:
        with connect(server) as connection:
            # Read-only, so that no mail is marked as seen.
            checked(connection.select(quoted(asked.get("folder") or "INBOX"), readonly=True))
            if asked.get("uid"):
                answer(read_one(connection, asked["uid"]))
                return
            uids = matching(connection, asked)
            limit = asked.get("limit") or 10
            mails = []
            for uid in uids[:limit]:
                content, flags = fetch(connection, uid, "(FLAGS BODY.PEEK[HEADER])")
                mails.append(head(uid, parsed(content), flags))
            answer({"found": len(uids), "mails": mails})
    except imaplib.IMAP4.error as error:
        raise Trouble(f"the server responded: {error}") from error


run(read)
