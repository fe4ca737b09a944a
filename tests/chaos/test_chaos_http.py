"""A node under a fuzzer: no answer is a fault of ours, no connection is stuck, the log is quiet, memory stays flat.

Short and seeded in CI; `PICLOUD_TEST_CHAOS=long` goes on for two minutes.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import sys
from math import inf
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from http_fuzz import APP, MANIFEST, Fuzz

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from node_process import NodeProcess, wait_until

LONG = os.environ.get("PICLOUD_TEST_CHAOS") == "long"
SECONDS = 120.0 if LONG else 3.0
SEED = int(os.environ.get("PICLOUD_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
DEPLOY = f"/api/v1/apps/{APP}/deploy"
CLIENTS = 6
STUCK_SECS = 30.0
"""No answer and no end within this: the connection is stuck. The server itself gives headers 15 seconds."""
PATIENCE_SECS = 0.1
"""How long a client waits that sent half a request."""
MAX_GROWTH_BYTES = 48 * 1024 * 1024
ALLOWED = {b"handler_failed", b"handler_timeout", b"gate_full", b"route_secret_missing", b"database_unavailable"}
"""What may stand in a 5xx: a handler's own failure, or that the node is busy."""
FAULTS = re.compile(r"Traceback|request_failed|connection_failed|app_failed|Exception|actor_crashed")


def list_endpoints() -> list[tuple[str, str]]:
    """Every method and rule of the API."""
    from picloud.http.app import create_app

    class AnyNode:
        def __getattr__(self, name: str) -> Any:
            return None

    rules = create_app(AnyNode()).url_map.iter_rules()  # type: ignore[arg-type]
    return [(method, rule.rule) for rule in rules for method in sorted((rule.methods or set()) - {"OPTIONS"})]


async def deploy_anew(client: httpx.AsyncClient, until: float) -> None:
    """Bring the app back: requests at random delete it, too."""
    while trio.current_time() < until:
        await client.post(DEPLOY, json=MANIFEST)
        await trio.sleep(0.3)


class Site:
    """The node's address, and what it answered."""

    def __init__(self, address: tuple[str, int], fuzz: Fuzz) -> None:
        self.address = address
        self.fuzz = fuzz
        self.sent = 0
        self.statuses: dict[int, int] = {}
        self.faults: list[tuple[bytes, bytes]] = []

    async def attack(self, until: float) -> None:
        while trio.current_time() < until:
            request, is_whole = self.fuzz.next()
            answer = await self.exchange(request, inf if is_whole else PATIENCE_SECS)
            self.sent += 1
            self.fuzz.note(answer)
            for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer[:20] or b""):
                self.statuses[int(status)] = self.statuses.get(int(status), 0) + 1
                code = re.search(rb'"code":"(\w+)"', answer)
                # 501: a transfer coding that is not known
                if int(status) >= 500 and status != b"501" and not (code and code[1] in ALLOWED):
                    self.faults.append((request[:2000], answer[:2000]))

    async def exchange(self, request: bytes, patience: float) -> bytes:
        """Send a request; return what came until the server hung up, or the client lost patience."""
        received = b""
        with trio.move_on_after(STUCK_SECS) as stuck:
            async with await trio.open_tcp_stream(*self.address) as stream:
                with contextlib.suppress(trio.BrokenResourceError):
                    await stream.send_all(request)
                    while True:
                        with trio.move_on_after(patience) as scope:
                            data = await stream.receive_some(65_536)
                        if scope.cancelled_caught or not data:
                            break
                        received += data
                        if b"text/event-stream" in received:
                            break
        assert not stuck.cancelled_caught, request[:2000]
        return received


def read_resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def count_connections(node: NodeProcess) -> int:
    with node.client() as client:
        shown = client.get("/api/v1/supervisor", params={"path": "/picloud/server"}).json()
    return int(shown["details"]["connections"])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_node_under_a_fuzzer_has_no_fault(reachable_dir: Path) -> None:
    print(f"seed {SEED}")
    with NodeProcess(reachable_dir / "home", env={"PICLOUD_LOG_FORMAT": "console"}) as node:
        with node.client() as client:
            client.post(DEPLOY, json=MANIFEST).raise_for_status()
        host, port = node.credentials["url"].removeprefix("http://").split(":")
        site = Site((host, int(port)), Fuzz(SEED, node.credentials["token"], list_endpoints()))
        assert node.process is not None

        async def attack(seconds: float) -> None:
            until = trio.current_time() + seconds
            headers = {"Authorization": f"Bearer {node.credentials['token']}"}
            client = httpx.AsyncClient(base_url=node.credentials["url"], headers=headers, timeout=STUCK_SECS)
            async with client, trio.open_nursery() as nursery:
                nursery.start_soon(deploy_anew, client, until)
                for _ in range(CLIENTS):
                    nursery.start_soon(site.attack, until)

        trio.run(attack, SECONDS / 2)
        before = read_resident_bytes(node.process.pid)
        trio.run(attack, SECONDS / 2)
        growth = read_resident_bytes(node.process.pid) - before
        print(f"{site.sent} requests, {dict(sorted(site.statuses.items()))}, grew by {growth / 2**20:.1f} MiB")
        log = node.log.read_text()
        if site.faults or FAULTS.search(log):
            print(node.log.read_text()[-6000:])
        assert site.faults == [], f"seed {SEED}"
        wait_until(lambda: count_connections(node) == 1, STUCK_SECS, lambda: "a connection is stuck")
        log = node.log.read_text()
        assert [line for line in log.splitlines() if FAULTS.search(line)] == [], f"seed {SEED}"
        assert site.statuses.get(200, 0) > 10
        if LONG:
            assert growth < MAX_GROWTH_BYTES, f"seed {SEED}"
        assert node.stop() == 0
