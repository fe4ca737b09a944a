"""What the tests of the command line share: a run of a command, and a node that answers from a script."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from rich.console import Console

from picloud.cli import main
from picloud.cli.entry import Entrypoints, NodeOptions
from picloud.config import Settings

TOKEN = "pc_test"


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def no_node(settings: Settings, options: NodeOptions) -> int:
    raise AssertionError("this command starts no node")


def run_cli(*args: str, run_node: Callable[[Settings, NodeOptions], int] = no_node, stdin: bytes = b"") -> Ran:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin))
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patch.object(sys, "stdin", given):
        try:
            main(Entrypoints(run_node=run_node), list(args))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return Ran(code, out.getvalue(), err.getvalue())


def render(*printed: Any, width: int, colour: bool = False) -> list[str]:
    """Return the lines that a terminal of that width shows, without trailing blanks."""
    file = io.StringIO()
    console = terminal(file, width, colour=colour)
    console.print(*printed)
    return shown(file)


def terminal(file: io.StringIO, width: int, *, colour: bool = False) -> Console:
    """Return the console of a terminal."""
    system = "standard" if colour else None
    return Console(file=file, width=width, force_terminal=True, color_system=system, highlight=False)


def shown(file: io.StringIO) -> list[str]:
    """Return what was printed, line by line."""
    return [line.rstrip() for line in file.getvalue().splitlines()]


@dataclass(frozen=True)
class Request:
    """What the node was asked."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    authorization: str | None


Answer = tuple[int, Any] | Callable[[Request], tuple[int, Any]]


@dataclass
class ScriptedNode:
    """Answers requests from `answers` by "METHOD /path", and notes them."""

    url: str
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def options(self) -> list[str]:
        return ["--url", self.url, "--token", TOKEN]


@contextlib.contextmanager
def scripted_node() -> Iterator[ScriptedNode]:
    """Serve a scripted node on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = False
    node = ScriptedNode(f"http://127.0.0.1:{server.server_port}")
    server.node = node  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield node
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        node: ScriptedNode = self.server.node  # type: ignore[attr-defined]
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = parts.path.removeprefix("/api/v1")
        body = json.loads(raw) if raw else None
        request = Request(self.command, path, parse_qs(parts.query), body, self.headers["Authorization"])
        node.requests.append(request)
        answer = node.answers.get(f"{request.method} {path}", (404, {"detail": f"no route {path}", "code": "x"}))
        status, value = answer(request) if callable(answer) else answer
        if status == 0:
            return  # the connection just ends
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        kind = "text/html" if isinstance(value, bytes) else "application/json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(0 if status == 204 else len(data)))
        self.end_headers()
        if status != 204:
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        pass
