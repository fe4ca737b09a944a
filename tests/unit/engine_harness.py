"""An engine with a world in memory, for tests of handlers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from textwrap import dedent
from typing import Any
from uuid import uuid4

from picloud.engine import Engine, EngineSettings, Event, Job, Outcome, QueueEvent
from picloud.types import AppId, KvEntry, MessageId, NewMessage, Script, ScriptId

SHOP = AppId(uuid4())
BANK = AppId(uuid4())
NAMES = {SHOP: "shop", BANK: "bank"}


class MemoryWorld:
    """Scripts, counts and committed messages of all apps."""

    def __init__(self) -> None:
        self.scripts: dict[tuple[AppId, str], Script] = {}
        self.looked_up: list[str] = []
        self.counts: dict[tuple[AppId, str], tuple[int, int]] = {}
        self.routes: dict[tuple[AppId, str], str] = {}
        self.keys: dict[tuple[AppId, str], KvEntry] = {}
        self.keys_read: list[str] = []
        self.secrets: dict[tuple[AppId, str], str] = {}
        self.http_hosts: frozenset[str] = frozenset()
        self.sent: list[tuple[AppId, NewMessage]] = []

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        self.looked_up.append(name)
        return self.scripts.get((app_id, name))

    def find_route(self, app_id: AppId, path: str, method: str | None) -> Script | None:
        for name in (method,) if method is not None else ("POST", "GET"):
            if script := self.routes.get((app_id, f"{name} {path}")):
                return self.scripts.get((app_id, script))
        return None

    def read_key(self, app_id: AppId, key: str) -> KvEntry:
        self.keys_read.append(key)
        return self.keys.get((app_id, key), KvEntry())

    def list_keys(self, app_id: AppId, prefix: str, after: str, limit: int) -> list[str]:
        keys = sorted(key for app, key in self.keys if app == app_id and key.startswith(prefix) and key > after)
        return keys[:limit]

    def read_secret(self, app_id: AppId, name: str) -> str | None:
        return self.secrets.get((app_id, name))

    def list_http_hosts(self, app_id: AppId) -> frozenset[str]:
        return self.http_hosts

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        return self.counts.get((app_id, queue_name), (0, 0))

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        self.sent += [(app_id, message) for message in messages]
        return [message.id for message in messages]


class Harness:
    """Deploys scripts and runs them."""

    def __init__(self, **settings: Any) -> None:
        self.world = MemoryWorld()
        self.engine = Engine(EngineSettings(**{"timeout_secs": 5.0, **settings}), self.world)

    def deploy(self, name: str, source: str, app: AppId = SHOP) -> Script:
        """Store a script for invoke."""
        text = dedent(source)
        script = Script(
            ScriptId(uuid4()), app, name, 7, text, sha256(text.encode()).hexdigest(), datetime(2026, 12, 1, tzinfo=UTC)
        )
        self.world.scripts[app, name] = script
        return script

    def job(
        self, source: str, payload: Any = None, *, event: Event | None = None, app: AppId = SHOP, **job: Any
    ) -> Job:
        """Return a job for the script `main` of an app."""
        script = self.engine.compile(job.pop("name", "main"), dedent(source))
        return Job(app, NAMES[app], script, 3, event or queue_event(payload), **job)

    def run(self, source: str, payload: Any = None, **job: Any) -> Outcome:
        """Run a script once in this thread."""
        (outcome,) = self.engine.run_slice([self.job(source, payload, **job)], slice_secs=60.0)
        return outcome

    def value(self, source: str, payload: Any = None, **job: Any) -> Any:
        """Run a script that must succeed; return its value."""
        outcome = self.run(source, payload, **job)
        assert outcome.ok, outcome.error
        return outcome.value

    def failure(self, source: str, payload: Any = None, **job: Any) -> str:
        """Run a script that must fail; return "Type: message"."""
        outcome = self.run(source, payload, **job)
        assert not outcome.ok
        assert outcome.error is not None
        return f"{outcome.error.type}: {outcome.error.message}"


@contextmanager
def open_harness(**settings: Any) -> Iterator[Harness]:
    """Give a harness; close its engine at the end."""
    harness = Harness(**settings)
    try:
        yield harness
    finally:
        harness.engine.close()


def queue_event(payload: Any = None, attempt: int = 1) -> QueueEvent:
    """Return a message of the queue `orders`."""
    return QueueEvent("orders", "m-1", payload, attempt, 3, datetime(2026, 12, 1, 12, 0, tzinfo=UTC))
