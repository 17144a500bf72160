"""A TLS certificate that can't be trusted is one sentence, and asked for once."""

from __future__ import annotations

import ssl
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL import SSL, crypto

from crawlers.components.connections import ExplainedConnections
from tests.conftest import options, scrapy

DAY = timedelta(days=1)


class Signed:
    """A certificate for hosts, by itself or by another."""

    def __init__(self, *hosts, by=None, begins=-DAY, ends=DAY, called="an authority"):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, " ".join(hosts) or called)])
        issuer, now = by or self, datetime.now(UTC)
        made = x509.CertificateBuilder(issuer.name, self.name, self.key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now + begins).not_valid_after(now + ends)
        made = made.add_extension(x509.BasicConstraints(ca=not hosts, path_length=None), critical=True)
        if hosts:
            made = made.add_extension(x509.SubjectAlternativeName(list(map(_name, hosts))), critical=False)
        self.certificate = made.sign(issuer.key, hashes.SHA256())


def _name(host):
    return x509.IPAddress(ip_address(host)) if host[0].isdecimal() else x509.DNSName(host)


AUTHORITY = Signed()


class Creator:
    """Twisted's connections, which trust one authority."""

    def clientConnectionForTLS(self, _protocol):
        context = SSL.Context(SSL.TLS_METHOD)
        context.get_cert_store().add_cert(crypto.X509.from_cryptography(AUTHORITY.certificate))
        return SSL.Connection(context, None)


class Protocol:
    """What Twisted's protocol keeps of a verification that failed."""

    def __init__(self):
        self.failures = []

    def failVerification(self, failure):
        self.failures.append(str(failure.value))


def shaken(host, shown):
    """What a handshake with a server that shows a certificate fails of; None when it does not."""
    context = SSL.Context(SSL.TLS_METHOD)
    context.use_certificate(shown.certificate)
    context.use_privatekey(shown.key)
    protocol, server = Protocol(), SSL.Connection(context, None)
    client = ExplainedConnections(Creator(), host).clientConnectionForTLS(protocol)
    server.set_accept_state()
    client.set_connect_state()
    for here, there in ((client, server), (server, client)) * 3:
        try:
            here.do_handshake()
        except SSL.WantReadError:
            pass
        except SSL.Error:
            return protocol.failures[0]
        with suppress(SSL.WantReadError):
            there.bio_write(here.bio_read(1 << 16))
    return None


@pytest.mark.parametrize(
    ("host", "hosts", "how", "reason"),
    [
        ("data.example.org", ["data.example.org"], {"by": AUTHORITY}, None),
        ("data.example.org", ["*.example.org"], {"by": AUTHORITY}, None),
        ("127.0.0.1", ["127.0.0.1"], {"by": AUTHORITY}, None),
        ("data.example.org", ["data.example.org"], {}, "is self-signed"),
        (
            "data.example.org",
            ["data.example.org"],
            {"by": Signed(called="another")},
            "is from an authority that this machine does",
        ),
        ("data.example.org", ["data.example.org"], {"by": AUTHORITY, "begins": -2 * DAY, "ends": -DAY}, "has expired"),
        ("data.example.org", ["data.example.org"], {"by": AUTHORITY, "begins": DAY, "ends": 2 * DAY}, "is not valid"),
        ("data.example.org", ["example.org"], {"by": AUTHORITY}, "is not for data.example.org"),
        ("127.0.0.1", ["127.0.0.2"], {"by": AUTHORITY}, "is not for 127.0.0.1"),
        ("127.0.0.1", ["a.example.org"], {"by": AUTHORITY}, "is not for 127.0.0.1"),
    ],
)
def test_what_is_wrong_with_a_certificate(host, hosts, how, reason):
    told = shaken(host, Signed(*hosts, **how))
    assert (told is None) == (reason is None)
    assert told is None or told.startswith(f"the portal's TLS certificate {reason}")


@contextmanager
def served(folder, host="127.0.0.1", body=b""):
    """Yield the address of a server with a certificate of its own, which answers any GET with a CSV file."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/csv")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    shown, path = Signed(host), folder / f"{host}.pem"
    how = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(shown.key.private_bytes(*how) + shown.certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with _Server((host, 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"https://{host}:{server.server_port}"
        server.shutdown()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """The crawl has gone: it does not trust the certificate."""


def test_it_is_asked_for_once_and_told_in_a_sentence(output, tmp_path):
    with served(tmp_path) as address:
        ran = scrapy("crawl", "ckan", *options(output, {}, portal=address))
    (line,) = (output / "127.0.0.1" / "errors.jsonl").read_text().splitlines()
    assert '"kind":"connection"' in line
    assert '"attempts":1' in line
    assert "the portal's TLS certificate is self-signed: if you trust it, name a file" in line
    assert (ran.returncode, "Traceback" in ran.stderr, "twisted" in line) == (4, False, False)
