"""Shared code of sending and reading: the settings of the server and the encrypted connection."""

import json
import os
import socket
import ssl
import sys
from urllib.parse import unquote, urlsplit

# The timeout of a server's response.
PATIENCE_SECONDS = 30


class Trouble(Exception):
    """An error that is reported to the model."""


class Server:
    """A mail server, with the address in its secret."""

    def __init__(self, protocol, default_port, tls_port):
        variable = protocol.upper()
        place = os.environ.get(f"{variable}_SERVER", "").strip()
        if not place:
            raise Trouble(f"the secret {variable}_SERVER is not set")
        url = urlsplit(place if "://" in place else f"{protocol}://{place}")
        self.host = url.hostname
        self.port = url.port
        scheme = url.scheme.lower()
        known = {
            f"{protocol}s": "tls",
            protocol: "starttls",
            f"{protocol}+insecure": "none",
        }
        if protocol == "smtp":
            known |= {"submissions": "tls", "submission": "starttls"}
        self.encryption = known.get(scheme)
        if self.encryption is None or not self.host:
            schemes = ", ".join(f"{scheme}://" for scheme in known)
            raise Trouble(f"the secret {variable}_SERVER must be host[:port] with one of {schemes}")
        if self.port == tls_port and self.encryption == "starttls":
            self.encryption = "tls"
        if self.port is None:
            self.port = tls_port if self.encryption == "tls" else default_port
            if scheme == "submission":
                self.port = 587
        self.username = os.environ.get(f"{variable}_USERNAME") or unquote(url.username or "")
        self.password = os.environ.get(f"{variable}_PASSWORD") or unquote(url.password or "")

    def context(self):
        return ssl.create_default_context()


def arguments():
    with open(sys.argv[1], encoding="utf-8") as file:
        return json.load(file)


def answer(value):
    json.dump(value, sys.stdout, ensure_ascii=False)


def run(act):
    try:
        act()
    except Trouble as trouble:
        sys.exit(str(trouble))
    except ssl.SSLError as error:
        sys.exit(f"the encrypted connection failed: {error.reason or error}")
    except socket.timeout:
        sys.exit(f"the server did not respond within {PATIENCE_SECONDS} s")
    except OSError as error:
        sys.exit(f"the server cannot be reached: {error.strerror or error}")
