"""The http suite: requests for a route with a handler that does nothing, against a bare quart-trio route on hypercorn.

The node is `picloud up` as anybody runs it; node, bare route and load generator have a process each.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trio

from picloud.bench.engine_scripts import NOOP
from picloud.bench.measure import Case

CONNECTIONS = 32
BARE = "picloud.bench.bare"
PATIENCE = 60.0
"""Seconds for a server to start."""
MANIFEST = """\
[app]
name = "bench"

[[triggers.http]]
path = "/noop"
script = "noop"
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A route to send requests to."""

    host: str
    port: int
    path: str

    async def load(self, figure: str, seconds: float) -> float:
        """Return a figure of `picloud.bench.load` after so many seconds. Raises: RuntimeError for a refused request."""
        where = [self.host, str(self.port), self.path, str(CONNECTIONS), str(seconds)]
        command = [sys.executable, "-m", "picloud.bench.load", *where]
        done = await trio.run_process(command, capture_stdout=True)
        figures: Mapping[str, float] = json.loads(done.stdout)
        if figures["refused"]:
            raise RuntimeError(f"{figures['refused']} of {figures['answers']} answers were refusals")
        return figures[figure]


def http_cases(node: Site, bare: Site, *, seconds: float) -> list[Case]:
    """Return the cases; each run sends requests for `seconds`."""
    params = {"connections": CONNECTIONS, "seconds": seconds}

    def case(name: str, unit: str, figure: str) -> Case:
        run: Callable[[], Awaitable[float]] = partial(node.load, figure, seconds)
        return Case(name, unit, run, params, rivals={"bare": partial(bare.load, figure, seconds)})

    return [case("fn-noop", "requests/s", "per_second"), case("fn-p99", "ms", "p99_ms")]


@asynccontextmanager
async def open_sites(dsn: str) -> AsyncIterator[tuple[Site, Site]]:
    """Run a node on the database of `dsn`, and the bare route beside it."""
    with tempfile.TemporaryDirectory(prefix="picloud-bench-") as folder:
        app = _write_app(Path(folder, "app"))
        home = str(Path(folder, "home"))
        up = [sys.executable, "-m", "picloud", "up", app, "--port", "0", "--data-dir", home, "--json"]
        async with _started(up, {"DATABASE_URL": dsn}) as node, _started([sys.executable, "-m", BARE]) as bare:
            url, port = urlsplit((await _read_json(node))["url"]), await _read_json(bare)
            yield Site(url.hostname or "", url.port or 0, "/fn/bench/noop"), Site("127.0.0.1", port, "/noop")


def _write_app(folder: Path) -> str:
    folder.mkdir()
    (folder / "picloud.toml").write_text(MANIFEST)
    (folder / "noop.py").write_text(NOOP)
    return str(folder)


@asynccontextmanager
async def _started(command: list[str], more: Mapping[str, str] | None = None) -> AsyncIterator[trio.Process]:
    """Run a server that writes where it is to its standard output, without settings of the one who measures."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PICLOUD_", "DATABASE_URL"))}
    process = await trio.lowlevel.open_process(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**kept, **(more or {})}
    )
    try:
        yield process
    finally:
        process.terminate()
        with trio.CancelScope(shield=True, deadline=trio.current_time() + PATIENCE):
            await process.wait()


async def _read_json(process: trio.Process) -> Any:
    """Return the JSON that a server writes once it is up. Raises: RuntimeError when it does not start."""
    assert process.stdout is not None
    data = b""
    with trio.move_on_after(PATIENCE):
        while chunk := await process.stdout.receive_some(65_536):
            data += chunk
            if data.endswith(b"\n"):
                with contextlib.suppress(json.JSONDecodeError):
                    return json.loads(data)
    raise RuntimeError(f"a server did not start: {process.args!r}")
