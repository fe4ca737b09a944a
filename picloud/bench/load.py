"""A load generator in a process of its own: so many connections, each with one request in flight, for so many seconds.

`python -m picloud.bench.load HOST PORT PATH CONNECTIONS SECONDS` prints one JSON object. It asks the kernel by `select`
and parses no more of an answer than it must: it costs a tenth of what the server pays for a request.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field

BODY = b'{"n":1}'
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_RECEIVE_BYTES = 65_536
_SILENCE_SECS = 30.0
"""How long no answer at all may come."""


@dataclass(slots=True)
class Client:
    """One connection: the answer that is arriving, and since when it is awaited."""

    sock: socket.socket
    sent_at: float = 0.0
    received: bytes = b""


@dataclass(slots=True)
class Load:
    """What came of it. Units: seconds."""

    answers: int = 0
    refused: int = 0
    """Answers that were not 200."""
    took: float = 0.0
    waits: list[float] = field(default_factory=list)

    def to_json(self) -> dict[str, float]:
        """Return the figures that a case needs."""
        waits = sorted(self.waits) or [0.0]
        return {
            "answers": self.answers,
            "refused": self.refused,
            "per_second": self.answers / self.took if self.took else 0.0,
            "p50_ms": 1000 * waits[len(waits) // 2],
            "p99_ms": 1000 * waits[min(len(waits) - 1, len(waits) * 99 // 100)],
        }


def generate(host: str, port: int, path: str, connections: int, seconds: float) -> Load:
    """Keep `connections` requests in flight for `seconds`. Raises: ConnectionError when the server hangs up."""
    request = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(BODY)}\r\n\r\n"
    ).encode() + BODY
    load = Load()
    with selectors.DefaultSelector() as selector:
        clients = [Client(socket.create_connection((host, port))) for _ in range(connections)]
        began = time.perf_counter()
        until = began + seconds
        for client in clients:
            client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(client.sock, selectors.EVENT_READ, client)
            _send(client, request)
        left = connections
        while left:
            ready = selector.select(_SILENCE_SECS)
            if not ready:
                raise ConnectionError("the server does not answer any more")
            for key, _ in ready:
                if _read(key.data, load):
                    if time.perf_counter() < until:
                        _send(key.data, request)
                    else:
                        left -= 1
        load.took = time.perf_counter() - began
        for client in clients:
            client.sock.close()
    return load


def _send(client: Client, request: bytes) -> None:
    client.received = b""
    client.sent_at = time.perf_counter()
    client.sock.sendall(request)


def _read(client: Client, load: Load) -> bool:
    """Take what arrived; return whether the answer is whole."""
    data = client.sock.recv(_RECEIVE_BYTES)
    if not data:
        raise ConnectionError("the server hung up")
    client.received += data
    head = client.received.find(b"\r\n\r\n")
    length = _LENGTH.search(client.received) if head >= 0 else None
    if length is None or len(client.received) < head + 4 + int(length[1]):
        return False
    load.answers += 1
    load.refused += client.received[9:12] != b"200"
    load.waits.append(time.perf_counter() - client.sent_at)
    return True


if __name__ == "__main__":
    host, port, path, connections, seconds = sys.argv[1:]
    print(json.dumps(generate(host, int(port), path, int(connections), float(seconds)).to_json()))
