import mimetypes
import smtplib
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import formatdate, make_msgid, parseaddr

# The size limit of most servers.
MAX_BYTES = 25 * 1024 * 1024


def compose(mail, server):
    sender = os.environ.get("SMTP_FROM") or server.username
    if "@" not in parseaddr(sender)[1]:
        raise Trouble("the secret SMTP_FROM must be set to the address of the sender")
    message = EmailMessage()
    message["From"] = sender
    for header in ("to", "cc"):
        if mail.get(header):
            message[header.capitalize()] = ", ".join(mail[header])
    message["Subject"] = mail["subject"]
    message["Date"] = formatdate(usegmt=True)
    message["Message-ID"] = make_msgid(domain=parseaddr(sender)[1].rpartition("@")[2])
    if mail.get("in_reply_to"):
        message["In-Reply-To"] = message["References"] = mail["in_reply_to"]
    message.set_content(mail["text"])
    if mail.get("html"):
        message.add_alternative(mail["html"], subtype="html")
    for path in mail.get("attachments") or []:
        attach(message, path)
    return message


def attach(message, path):
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Trouble(f"`{path}` cannot be attached: {error.strerror}") from error
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    main, _, sub = kind.partition("/")
    message.add_attachment(content, maintype=main, subtype=sub, filename=os.path.basename(path))


def addresses(mail):
    found = []
    for header in ("to", "cc", "bcc"):
        for text in mail.get(header) or []:
            address = parseaddr(text)[1]
            if "@" not in address or any(char in text for char in "\r\n"):
                raise Trouble(f"`{text}` in `{header}` is not an address")
            found.append(address)
    return found


def connect(server):
    if server.encryption == "tls":
        context = server.context()
        return smtplib.SMTP_SSL(server.host, server.port, timeout=PATIENCE_SECONDS, context=context)
    connection = smtplib.SMTP(server.host, server.port, timeout=PATIENCE_SECONDS)
    if server.encryption == "starttls":
        connection.starttls(context=server.context())
    return connection


def send():
    mail = arguments()
    server = Server("smtp", default_port=25, tls_port=465)
    recipients = addresses(mail)
    try:
        message = compose(mail, server)
        content = message.as_bytes()
    except (MessageError, ValueError) as error:
        raise Trouble(f"the mail is not valid: {error}") from error
    if len(content) > MAX_BYTES:
        raise Trouble(f"the mail is larger than {MAX_BYTES // 2**20} MiB")
    try:
        with connect(server) as connection:
            if server.username:
                connection.login(server.username, server.password)
            refused = connection.send_message(message, to_addrs=recipients)
    except smtplib.SMTPRecipientsRefused as error:
        refused = {address: said(*reply) for address, reply in error.recipients.items()}
        raise Trouble(f"the mail was not sent; the server refused {refused}") from error
    except smtplib.SMTPResponseException as error:
        words = said(error.smtp_code, error.smtp_error)
        raise Trouble(f"the mail was not sent; the server responded: {words}") from error
    except smtplib.SMTPException as error:
        raise Trouble(f"the mail was not sent: {error}") from error
    taken = [address for address in recipients if address not in refused]
    result = {"sent": True, "message_id": message["Message-ID"], "recipients": taken}
    if refused:
        result["refused"] = {address: said(*reply) for address, reply in refused.items()}
    answer(result)


def said(code, words):
    return f"{code} {words.decode(errors='replace') if isinstance(words, bytes) else words}"


run(send)
