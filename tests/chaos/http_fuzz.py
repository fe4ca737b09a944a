"""Requests at random: for every endpoint of the API and for routes, well formed as HTTP, and broken as bytes."""

from __future__ import annotations

import json
import random
import re
from typing import Any
from urllib.parse import quote

APP = "fuzz"
ROUTES = [("POST", "/echo"), ("GET", "/echo"), ("PUT", "/orders/:id"), ("POST", "/files/*rest"), ("POST", "/signed")]
ECHO = """
def handle(event, ctx):
    kv.increment("calls", 1)
    return {"body": event.body, "query": event.query_all, "params": event.params, "headers": len(event.headers)}
"""
MANIFEST = {
    "scripts": {"echo": ECHO, "plain": "def handle(event, ctx):\n    return event.source\n"},
    "triggers": {
        "http": [
            {"method": "POST", "path": "/echo", "script": "echo", "cors": {"origins": ["https://a.example"]}},
            {"method": "GET", "path": "/echo", "script": "echo"},
            {"method": "PUT", "path": "/orders/:id", "script": "echo"},
            {"method": "POST", "path": "/files/*rest", "script": "echo"},
            {"path": "/signed", "script": "echo", "auth": "signature", "signature": "github", "secrets": ["key"]},
        ],
        "queue": [{"queue": "q1", "script": "plain"}],
    },
}
STRANGE: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**400, 1e308, 0.5, "", " ", "\0", "\ud800", "é", "../..", "x" * 300, "%00",
    "1s", "2026-01-01T00:00:00Z", "00000000-0000-7000-8000-000000000000", "* * * * *", "UTC",
    "def handle(event, ctx): pass", [], [[]], {}, {"\0": 1}, {"a/b~": {}}, [1, [2, [3]]],
]  # fmt: skip
NAMES = ["fuzz", "other", "echo", "plain", "q1", "q2", "key", "a", "picloud", "picloud/services/reclaim"]
FIELDS = (
    "name source script queue_name method path auth secrets signature cors enabled payload messages delay priority "
    "max_attempts dedup_key group_key version value schedule timezone catch_up limit cursor scripts triggers dry_run "
    "http_hosts fifo max_in_flight rate_per_second retry_backoff retry_base_ms batch_size concurrency discard state "
    "visibility_timeout_secs resolution depth after since status level record args what dead headers origins "
    "credentials"
).split()
TYPES = [
    "application/json", "application/json; charset=latin-1", "text/plain", "text/plain; charset=utf-16",
    "text/html; charset=x", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b",
    "multipart/form-data", "image/png", "a/b; =;;", "", 'application/json; charset="', "application/problem+json",
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW", "get", "CONNECT", "TRACE"]


START = b"POST /fn/fuzz/echo HTTP/1.1\r\nHost: x\r\n"
GET = b"GET /fn/fuzz/echo HTTP/1.1\r\nHost: x\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
WEBSOCKET = GET + b"Upgrade: websocket\r\nConnection: upgrade\r\n"
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
BROKEN = [
    b"RANDOM",
    CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n",
    CHUNKED + b"-5\r\nabc\r\n0\r\n\r\n",
    CHUNKED + b"ffffffffffffffffff\r\nabc",
    CHUNKED + b"5\r\nab",
    START + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    START + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    START + b"Content-Length: -1\r\n\r\n",
    START + b"Content-Length: 99999999999999999999999\r\n\r\n",
    START + b"Content-Length: \xc2\xb2\r\n\r\n",
    START + b"Content-Length: 100\r\n\r\nabc",
    START + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
    START + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
    START + b"X-Y: y\r\n" * 3000 + b"\r\n",
    START + b"no colon\r\n\r\n",
    START + b"X: a\0b\r\n\r\n",
    START + b"X : a\r\n\r\n",
    START + b" folded: a\r\n\r\n",
    START + b"X: RANDOM\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /fn/fuzz/echo HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET /fn/fuzz/echo\r\n\r\n",
    b"GET /fn/fuzz/echo HTTP/1.0\r\n\r\n",
    b"GET /fn/fuzz/echo HTTP/1.1\r\n\r\n",
    b"GET http://[::1/fn HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://a/fn/fuzz/echo HTTP/1.1\r\nHost: b\r\n\r\n",
    b"GET /api/v1 HTTP/1.1\r\nHost: [::1\r\n\r\n",
    b"GET /api/v1 HTTP/1.1\r\nHost: RANDOM\r\n\r\n",
    b"GET /api/v1?%ff%00=\xff HTTP/1.1\r\nHost: a b\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\r\n\r\n\r\n" + GET + b"\r\n",
    (GET + b"\r\n") * 20,
    GET + b"Upgrade: h2c\r\nHTTP2-Settings: !!\r\nConnection: upgrade\r\n\r\n",
    GET + b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: upgrade\r\n\r\n" + HTTP2 + b"RANDOM",
    WEBSOCKET + b"\r\n",
    WEBSOCKET + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nRANDOM",
    HTTP2 + b"RANDOM",
    HTTP2 + SETTINGS + b"RANDOM",
    # HPACK: POST, http, a path that is not ASCII, and an authority
    HTTP2 + SETTINGS + b"\0\0\x0d\1\5\0\0\0\1" + b"\x83\x86\x04\x05/\xff\xfe\x00x\x01\x01x",
    # data of a stream that is not there, and its reset
    HTTP2 + SETTINGS + b"\0\0\1\0\1\0\0\0\7x" + b"\0\0\4\3\0\0\0\0\7\0\0\0\0",
]
"""Requests that no client of good will sends; RANDOM stands for bytes at random."""


class Fuzz:
    """Makes requests, by one random number generator."""

    def __init__(self, seed: int, token: str, endpoints: list[tuple[str, str]]) -> None:
        self.rng = random.Random(seed)
        self._token = token
        self._endpoints = endpoints
        self.ids: list[str] = []
        """Of things that were made: a request for one gets further than one for a random id."""

    def next(self) -> tuple[bytes, bool]:
        """Return the bytes of one request, and whether it is a whole one, which must be answered."""
        kind = self.rng.random()
        if kind < 0.5:
            return self._api_request(), True
        return (self._route_request(), True) if kind < 0.8 else (self._broken(), False)

    def note(self, answer: bytes) -> None:
        """Take ids out of an answer."""
        found = re.findall(rb'"id":"([0-9a-f-]{36})"', answer[:20_000])
        self.ids = (self.ids + [one.decode() for one in found])[-50:]

    # --- well formed

    def _api_request(self) -> bytes:
        rng = self.rng
        method, rule = rng.choice(self._endpoints)
        path = re.sub(r"<(?:path:)?(\w+)>", lambda match: self._name(match[1]), rule)
        if rng.random() < 0.05:
            method = rng.choice(METHODS)
        query = "&".join(f"{rng.choice(FIELDS)}={quote(self._text())}" for _ in range(rng.choice([0, 0, 0, 1, 2])))
        body = b"" if method in ("GET", "DELETE") and rng.random() < 0.9 else self._body()
        headers = [("Authorization", f"Bearer {self._token}" if rng.random() < 0.97 else self._text())]
        headers.append(("Content-Type", "application/json" if rng.random() < 0.9 else rng.choice(TYPES)))
        return self._request(method, path + (f"?{query}" if query else ""), headers, body)

    def _route_request(self) -> bytes:
        rng = self.rng
        method, path = rng.choice(ROUTES)
        if rng.random() < 0.3:
            method = rng.choice(METHODS)
        path = re.sub(r"[:*]\w+", lambda _: quote(self._text(), safe="/%"), path)
        path = f"/fn/{APP}{path}" if rng.random() < 0.9 else f"/fn/{quote(self._text())}"
        if rng.random() < 0.3:
            path += "?" + "&".join(f"{quote(self._text())}={quote(self._text())}" for _ in range(rng.randrange(5)))
        headers = [("Content-Type", rng.choice(TYPES))]
        for name in (
            "Origin",
            "X-Request-Id",
            "Cookie",
            "Content-Encoding",
            "X-Hub-Signature-256",
            "Access-Control-Request-Method",
        ):
            if rng.random() < 0.15:
                headers.append((name, rng.choice(["https://a.example", "POST", "gzip", "sha256=00", self._text()])))
        return self._request(method, path, headers, self._body())

    def _request(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", "Host: x", "Connection: close"]
        lines += [f"{name}: {''.join(char for char in value if char.isprintable())}" for name, value in headers]
        if self.rng.random() < 0.1 and body:
            return "\r\n".join([*lines, "Transfer-Encoding: chunked", "", ""]).encode(
                "utf-8", "replace"
            ) + self._chunked(body)
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("utf-8", "replace") + body

    def _name(self, parameter: str) -> str:
        if parameter == "app":
            return APP if self.rng.random() < 0.8 else quote(self._text())
        if self.ids and self.rng.random() < 0.5:
            return self.rng.choice(self.ids)
        return self.rng.choice(NAMES) if self.rng.random() < 0.7 else quote(self._text())

    def _text(self) -> str:
        value = self.rng.choice(STRANGE) if self.rng.random() < 0.5 else self.rng.choice(NAMES)
        return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace").decode()[:400]

    def _body(self) -> bytes:
        choice = self.rng.random()
        if choice < 0.1:
            return self.rng.randbytes(self.rng.randrange(200))
        if choice < 0.15:
            return b"[" * self.rng.choice([10, 100_000])
        if choice < 0.2:
            return (
                b'--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\n\xff\r\n--b'
                + self.rng.choice([b"--\r\n", b""])
            )
        if choice < 0.25:
            return b"a=1&a=2&%ff=%00&" * self.rng.choice([1, 300])
        return json.dumps(self._json(0)).encode()

    def _json(self, depth: int) -> Any:
        rng = self.rng
        if depth > 3 or (depth and rng.random() < 0.4):
            return rng.choice(STRANGE) if rng.random() < 0.6 else rng.choice(NAMES)
        if rng.random() < 0.2:
            return [self._json(depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(FIELDS): self._json(depth + 1) for _ in range(rng.randrange(6))}

    def _chunked(self, body: bytes) -> bytes:
        at = self.rng.randrange(len(body) + 1)
        parts = [part for part in (body[:at], body[at:]) if part]
        return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"

    # --- broken

    def _broken(self) -> bytes:
        made = self.rng.choice(BROKEN)
        made = made.replace(b"RANDOM", self.rng.randbytes(self.rng.randrange(1, 300)))
        if self.rng.random() < 0.2:
            made = made[: self.rng.randrange(len(made) + 1)]
        if self.rng.random() < 0.1 and made:
            at = self.rng.randrange(len(made))
            made = made[:at] + self.rng.randbytes(1) + made[at + 1 :]
        return made
