"""A mail server for tests. Mail that it receives by SMTP is in the INBOX that it serves by IMAP, in memory.

Prints the two ports. Has one account, and no encryption.
"""

import email
import io
import sys
from email.utils import formatdate

from twisted.cred.checkers import InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.portal import IRealm, Portal
from twisted.internet import defer, protocol, reactor
from twisted.mail import imap4, smtp
from twisted.python import log
from zope.interface import implementer

log.startLogging(sys.stderr, setStdout=False)
USER, PASSWORD = b"ann@example.com", b"correct horse"


@implementer(imap4.IMessage)
class Message:
    def __init__(self, uid, content, flags):
        self.uid, self.content, self.flags = uid, content, set(flags)
        self.parsed = email.message_from_bytes(content)

    def getUID(self):
        return self.uid

    def getFlags(self):
        return self.flags

    def getInternalDate(self):
        return formatdate()

    def getHeaders(self, negate, *names):
        names = [name.lower() for name in names]
        found = {}
        for name, value in self.parsed.items():
            if (name.lower().encode() in names or name.lower() in names) != negate or not names:
                found[name.lower()] = value
        return found

    def getBodyFile(self):
        return io.BytesIO(self.content.partition(b"\r\n\r\n")[2])

    def getSize(self):
        return len(self.content)

    def isMultipart(self):
        return False

    def getSubPart(self, part):
        raise IndexError


@implementer(imap4.IMailbox, imap4.IMessageFile, imap4.ISearchableMailbox)
class Mailbox:
    def __init__(self):
        self.messages = []

    def addMessage(self, content, flags=(), date=None):
        content = content if isinstance(content, bytes) else content.read()
        self.messages.append(Message(len(self.messages) + 1, content, flags))
        return defer.succeed(len(self.messages))

    def getFlags(self):
        return ["\\Seen"]

    def getHierarchicalDelimiter(self):
        return "/"

    def getUIDValidity(self):
        return 1

    def getUIDNext(self):
        return len(self.messages) + 1

    def getUID(self, message):
        return message

    def getMessageCount(self):
        return len(self.messages)

    def getRecentCount(self):
        return 0

    def getUnseenCount(self):
        return sum("\\Seen" not in message.flags for message in self.messages)

    def isWriteable(self):
        return True

    def addListener(self, listener):
        pass

    def removeListener(self, listener):
        pass

    def requestStatus(self, names):
        return imap4.statusRequestHelper(self, names)

    def search(self, query, uid):
        words = [part.decode() if isinstance(part, bytes) else part for part in query]
        if words[:1] == ["CHARSET"]:
            words = words[2:]
        key, value = words[0].upper(), (words[1].lower() if len(words) > 1 else "")

        def meets(message):
            if key == "UNSEEN":
                return "\\Seen" not in message.flags
            if key in ("FROM", "TO", "SUBJECT"):
                header = email.header.make_header(email.header.decode_header(message.parsed[key] or ""))
                return value in str(header).lower()
            if key == "TEXT":
                return value.encode() in message.content.lower()
            return True

        return defer.succeed([message.uid for message in self.messages if meets(message)])

    def fetch(self, messages, uid):
        messages.last = len(self.messages)
        chosen = set(messages)
        return [(it.uid, it) for it in self.messages if it.uid in chosen]

    def store(self, messages, flags, mode, uid):
        raise imap4.ReadOnlyMailbox()

    def expunge(self):
        raise imap4.ReadOnlyMailbox()

    def destroy(self):
        pass


MAILBOX = Mailbox()


class Account(imap4.MemoryAccount):
    def __init__(self, name):
        super().__init__(name)
        self.addMailbox("INBOX", MAILBOX)

    def isSubscribed(self, name):
        return True


@implementer(smtp.IMessage)
class Incoming:
    def __init__(self):
        self.lines = []

    def lineReceived(self, line):
        self.lines.append(line)

    def eomReceived(self):
        return MAILBOX.addMessage(b"\r\n".join(self.lines) + b"\r\n")

    def connectionLost(self):
        pass


@implementer(smtp.IMessageDelivery)
class Delivery:
    def receivedHeader(self, helo, origin, recipients):
        return b"X-Envelope: " + b", ".join(str(it).encode() for it in recipients)

    def validateFrom(self, helo, origin):
        return origin

    def validateTo(self, user):
        if str(user.dest).startswith("nobody@"):
            raise smtp.SMTPBadRcpt(user)
        return Incoming


@implementer(IRealm)
class Realm:
    def requestAvatar(self, avatar, mind, *interfaces):
        made = {imap4.IAccount: lambda: Account(avatar), smtp.IMessageDelivery: Delivery}
        for interface in interfaces:
            if interface in made:
                return interface, made[interface](), lambda: None
        raise NotImplementedError


PORTAL = Portal(Realm())
PORTAL.registerChecker(InMemoryUsernamePasswordDatabaseDontUse(**{USER.decode(): PASSWORD}))


class Imap(imap4.IMAP4Server):
    def __init__(self):
        super().__init__()
        self.portal = PORTAL

    def connectionMade(self):
        self.canAuthenticate = True
        super().connectionMade()


class ImapFactory(protocol.Factory):
    protocol = Imap

    def buildProtocol(self, address):
        return Imap()


class SmtpFactory(smtp.SMTPFactory):
    protocol = smtp.ESMTP

    def buildProtocol(self, address):
        server = super().buildProtocol(address)
        server.challengers = {b"PLAIN": imap4.PLAINCredentials, b"LOGIN": imap4.LOGINCredentials}
        server.portal = PORTAL
        return server


ports = [
    reactor.listenTCP(0, factory, interface="0.0.0.0").getHost().port
    for factory in (SmtpFactory(), ImapFactory())
]
print(*ports, flush=True)
reactor.run()
