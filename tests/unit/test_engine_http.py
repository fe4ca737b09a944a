"""`http.request` against a server on this machine: rules, redirects, limits, and what reaches the other side."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from engine_harness import Harness, open_harness

from picloud.engine.http_client import is_allowed, is_public
from picloud.errors import HttpError
from picloud.sdk.http import HttpResponse


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path, _, rest = self.path.partition("?")
        if path == "/redirect":
            self.send_response(302)
            self.send_header("Location", rest)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path == "/slow":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x" * 10)
                time.sleep(0.05)
            return
        status = 503 if path == "/down" else 200
        content = (
            b"x" * int(rest)
            if path == "/big"
            else json.dumps(
                {
                    "method": self.command,
                    "path": self.path,
                    "headers": dict(self.headers),
                    "body": body.decode("latin-1"),
                }
            ).encode()
        )
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer

    def log_message(self, *args: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is no news."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    httpd = QuietServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@pytest.fixture
def harness(server: str) -> Iterator[Harness]:
    with open_harness(http_allow_private=True, max_http_bytes=100_000) as opened:
        port = server.rpartition(":")[2]
        opened.world.http_hosts = frozenset({server, f"localhost:{port}"})
        yield opened


def test_request_reaches_the_other_side_and_its_answer_comes_back(harness: Harness, server: str) -> None:
    value = harness.value(
        f"""
        def handle(event, ctx):
            answer = http.request("post", "http://{server}/orders", params={{"a": "1 2", "b": 3}},
                                  headers={{"X-Key": "k"}}, json={{"n": [1, None]}})
            answer.raise_for_status()
            seen = answer.json()
            return [answer.status, answer.ok, answer.headers["content-type"], seen["method"], seen["path"],
                    seen["body"], seen["headers"]["x-key"], seen["headers"]["content-type"], len(answer.content) > 10]
        """
    )
    assert value == [
        200, True, "application/json", "POST", "/orders?a=1+2&b=3", '{"n":[1,null]}', "k", "application/json", True,
    ]  # fmt: skip


def test_status_is_no_error_until_it_is_asked_for(harness: Harness, server: str) -> None:
    source = f"def handle(event, ctx):\n    answer = http.request('GET', 'http://{server}/down')\n"
    assert harness.value(source + "    return [answer.status, answer.ok]\n") == [503, False]
    assert (
        harness.failure(source + "    answer.raise_for_status()\n") == f"HttpError: http: 503 from http://{server}/down"
    )


def test_redirect_is_followed_and_checked(harness: Harness, server: str) -> None:
    port = server.rpartition(":")[2]
    source = """
def handle(event, ctx):
    return http.request('POST', {url!r}, headers={{'Authorization': 'secret'}}, content='x').json()
"""
    followed = harness.value(source.format(url=f"http://{server}/redirect?http://localhost:{port}/next"))
    assert (followed["method"], followed["path"], followed["body"]) == ("GET", "/next", "")
    # another origin: it gets no credentials
    assert "authorization" not in {name.lower() for name in followed["headers"]}
    same = harness.value(source.format(url=f"http://{server}/redirect?/next"))
    assert same["headers"]["authorization"] == "secret"
    refused = harness.failure(source.format(url=f"http://{server}/redirect?http://example.com/"))
    assert refused.startswith("HttpError: http: example.com:80 is not on the app's list http_hosts")
    loop = harness.failure(
        source.format(url=f"http://{server}/redirect?/redirect?/redirect?/redirect?/redirect?/redirect?/redirect?/x")
    )
    assert loop == "HttpError: http: more than 5 redirects"


def test_addresses_inside_are_refused_after_the_name_is_resolved(server: str) -> None:
    port = server.rpartition(":")[2]
    with open_harness() as harness:
        harness.world.http_hosts = frozenset({server, f"localhost:{port}", "169.254.169.254", "[::1]"})
        for host in (server, f"localhost:{port}", "169.254.169.254"):
            refused = harness.failure(f"def handle(event, ctx):\n    http.request('GET', 'http://{host}/')\n")
            assert "which is not a public address" in refused


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        ("http.request('GET', 'http://example.com/')", "http: example.com:80 is not on the app's list http_hosts"),
        ("http.request('GET', 'ftp://example.com/')", "http: the url must begin with https:// or http://"),
        ("http.request('GET', 'http:///x')", "http: the url must begin with https:// or http://"),
        ("http.request('GET', 'http://a:b@{server}/')", "http: put credentials into a header"),
        ("http.request('GET', 'http://{server}/a b')", "http: the url must be text"),
        ("http.request('GET', 'http://{server}:99999/')", "http: the url cannot be read"),
        ("http.request('BREW', 'http://{server}/')", "http: unknown method"),
        ("http.request('GET', 'http://{server}/', headers={'Host': 'x'})", "http: 'Host' is not a header"),
        ("http.request('GET', 'http://{server}/', headers={'a': 'x\\r\\ny: z'})", "http: the value of header a"),
        ("http.request('GET', 'http://{server}/', headers={'a\\n': 'x'})", "http: 'a\\n' is not a header"),
        ("http.request('GET', 'http://{server}/', headers=[1])", "http: headers must be a dict"),
        ("http.request('GET', 'http://{server}/', params=[1])", "http: params must be a dict"),
        ("http.request('POST', 'http://{server}/', json=1, content='x')", "http: give json or content"),
        ("http.request('POST', 'http://{server}/', content=5)", "http: content must be text or bytes, not int"),
        ("http.request('POST', 'http://{server}/', content='x' * 100001)", "http: content is 100001 bytes"),
        ("http.request('POST', 'http://{server}/', json=print)", "http: json: 'function' object is not JSON"),
        ("http.request('GET', 'http://{server}/', timeout=0)", "http: timeout must be a number of seconds above 0"),
        ("http.request('GET', 'http://{server}/big?100001')", "http: the answer is larger than 100000 bytes"),
        (
            "http.request('GET', 'http://{server}/big?5').json()",
            "http: the answer of http://{server}/big?5 is not JSON",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_with_advice(harness: Harness, server: str, call: str, refusal: str) -> None:
    call, refusal = call.replace("{server}", server), refusal.replace("{server}", server)
    failed = harness.failure(f"def handle(event, ctx):\n    {call}\n")
    assert failed.startswith(f"HttpError: {refusal}"), failed


def test_answer_that_drips_is_given_up_at_the_deadline(harness: Harness, server: str) -> None:
    started = time.monotonic()
    failed = harness.failure(f"def handle(event, ctx):\n    http.request('GET', 'http://{server}/slow', timeout=0.3)\n")
    assert failed == "HttpError: http: the answer did not end in time"
    assert time.monotonic() - started < 3


def test_name_that_nobody_knows_is_an_error(harness: Harness) -> None:
    harness.world.http_hosts = frozenset({"nowhere.invalid"})
    failed = harness.failure("def handle(event, ctx):\n    http.request('GET', 'https://nowhere.invalid/')\n")
    assert failed == "HttpError: http: the name nowhere.invalid is not known"


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("api.github.com", "api.github.com", 443, True),
        ("api.github.com", "api.github.com", 80, True),
        ("api.github.com", "api.github.com", 8080, False),
        ("API.GitHub.com", "api.github.com", 443, True),
        ("api.github.com:8080", "api.github.com", 8080, True),
        ("api.github.com:8080", "api.github.com", 443, False),
        ("*.github.com", "api.github.com", 443, True),
        ("*.github.com", "a.b.github.com", 443, True),
        ("*.github.com", "github.com", 443, False),
        ("*.github.com", "evilgithub.com", 443, False),
        ("github.com", "api.github.com", 443, False),
        ("github.com", "github.com.evil.org", 443, False),
    ],
)
def test_list_of_hosts_covers_exactly_what_it_says(entry: str, host: str, port: int, allowed: bool) -> None:
    assert is_allowed(entry, host, port) is allowed


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


def test_response_reads_as_the_sdk_says() -> None:
    response = HttpResponse(404, {}, b"\xff", "http://x/")
    assert (response.ok, response.text) == (False, "\ufffd")
    with pytest.raises(HttpError, match="http: 404 from http://x/"):
        response.raise_for_status()
