"""How fast messages come in by HTTP: through a node in a process of its own, as a client sends them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from urllib.parse import urlsplit

import trio
from uuid_utils.compat import uuid7

from picloud.bench.feeding import empty
from picloud.bench.node import BenchNode
from picloud.db.apps import insert_app
from picloud.db.tokens import create_token
from picloud.errors import InvalidInput

START_LIMIT = 60.0
CLIENTS = 4
"""Connections that send single messages, each one request after the other."""
BULK = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """Where a node takes messages."""

    host: str
    port: int
    token: str
    path: str

    def post(self, connection: HTTPConnection, body: bytes) -> None:
        """Send one request. Raises: InvalidInput when it is not accepted."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", self.path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 201:
            raise InvalidInput(f"the node answered {response.status}: {answer[:200].decode(errors='replace')}")


async def send_singly(node: BenchNode, dsn: str, count: int) -> float:
    """Return messages per second of single requests, by a few clients at once."""
    return await _measure(node, dsn, partial(_send_singly, count=count), count)


async def send_in_bulk(node: BenchNode, dsn: str, count: int) -> float:
    """Return messages per second of requests with ten thousand messages each, one after the other."""
    return await _measure(node, dsn, partial(_send_in_bulk, count=count), count)


async def _measure(node: BenchNode, dsn: str, run: Callable[[Target], float], count: int) -> float:
    queue = f"http-{uuid7()}"
    async with node.parts.pool.connection() as conn:
        other = node.beside(await insert_app(conn, f"bench-{uuid7()}"))
        token = await create_token(conn, "bench")
    async with _node_process(dsn) as url:
        address = urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        path = f"/api/v1/apps/{other.app.name}/queues/{queue}/messages"
        target = Target(address.hostname, address.port, token, path)
        seconds = await trio.to_thread.run_sync(run, target)
    await empty(other, queue)
    return count / seconds


def _send_singly(target: Target, *, count: int) -> float:
    """Return the seconds."""
    failures: list[Exception] = []
    # as many to warm up, which is not counted
    start = threading.Barrier(CLIENTS + 1)

    def send(share: int) -> None:
        try:
            connection = HTTPConnection(target.host, target.port)
            target.post(connection, b'{"payload":{"n":1}}')
            start.wait()
            for number in range(share):
                target.post(connection, b'{"payload":{"n":%d}}' % number)
            connection.close()
        except Exception as error:
            failures.append(error)
            start.abort()

    shares = [len(range(client, count, CLIENTS)) for client in range(CLIENTS)]
    threads = [threading.Thread(target=send, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    try:
        start.wait()
    except threading.BrokenBarrierError:
        pass
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return time.perf_counter() - began


def _send_in_bulk(target: Target, *, count: int) -> float:
    """Return the seconds."""
    connection = HTTPConnection(target.host, target.port)
    target.post(connection, b'{"payload":{"n":1}}')
    bodies = []
    for start in range(0, count, BULK):
        messages = [{"payload": {"n": number}} for number in range(start, min(start + BULK, count))]
        bodies.append(json.dumps({"messages": messages}).encode())
    began = time.perf_counter()
    for body in bodies:
        target.post(connection, body)
    seconds = time.perf_counter() - began
    connection.close()
    return seconds


@asynccontextmanager
async def _node_process(dsn: str) -> AsyncIterator[str]:
    """Run `picloud up` on the database; yield its address."""
    with tempfile.TemporaryDirectory(prefix="picloud-bench-") as home:
        settings = f'database_url = {json.dumps(dsn)}\nlog_level = "error"\n'
        await (trio.Path(home) / "picloud.toml").write_text(settings, encoding="utf-8")
        # what the environment names is not the database of the benchmark
        command = ["env", "-u", "DATABASE_URL", "-u", "PICLOUD_LISTEN_DATABASE_URL"]
        command += [sys.executable, "-m", "picloud", "up", "--port", "0", "--data-dir", home, "--json"]
        process = await trio.lowlevel.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield await _wait_for(trio.Path(home) / "client.json", process)
        finally:
            with trio.CancelScope(shield=True):
                process.send_signal(signal.SIGTERM)
                await process.wait()


async def _wait_for(credentials: trio.Path, process: trio.Process) -> str:
    with trio.move_on_after(START_LIMIT):
        while process.poll() is None:
            if await credentials.exists():
                return str(json.loads(await credentials.read_text())["url"])
            await trio.sleep(0.05)
        raise InvalidInput("the node for the HTTP cases ended at its start: see `picloud up` with the same database")
    raise InvalidInput(f"the node for the HTTP cases was not ready within {START_LIMIT:g} s")
