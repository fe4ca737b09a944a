"""Three nodes on one database, and what may happen to them at random: every message sent has one set of effects.

A minute of it in CI; `PICLOUD_TEST_CHAOS=long` makes it three, with an outage of half a minute. `PICLOUD_TEST_SEED`
repeats a run's dice.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from node_process import NodeProcess, run_cli, wait_until

from picloud.db.embedded import EmbeddedPostgres

LONG = os.environ.get("PICLOUD_TEST_CHAOS") == "long"
SECONDS = 180.0 if LONG else 60.0
OUTAGE = 30.0 if LONG else 4.0
QUIET_LIMIT = 120.0
"""How long the nodes may take to finish everything once they are left alone."""
SEED = int(os.environ.get("PICLOUD_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
LEASE = 2
NODES = 3
BATCH = 20

MANIFEST = f"""
[app]
name = "chaos"

[[triggers.queue]]
queue = "in"
script = "first"
visibility_timeout_secs = {LEASE}
retry_max_attempts = 100
retry_base_ms = 50
retry_backoff = "constant"

[[triggers.queue]]
queue = "middle"
script = "second"
visibility_timeout_secs = {LEASE}
retry_max_attempts = 100
retry_base_ms = 50
retry_backoff = "constant"

[[triggers.queue]]
queue = "slow"
script = "slow"
visibility_timeout_secs = {LEASE}
retry_max_attempts = 100
concurrency = 16
"""
SCRIPTS = {
    # sometimes fails at first, always fails for poison, and sends before it fails
    "first": """
from picloud.sdk import queue

def handle(event, ctx):
    n = event.payload["n"]
    queue.enqueue("middle", event.payload)
    if event.payload["kind"] == "poison" or (event.payload["kind"] == "flaky" and event.attempt == 1):
        raise ValueError("no")
""",
    # all kinds of effects at once
    "second": """
from picloud.sdk import invoke_async, kv, queue

def handle(event, ctx):
    kv.increment("handled")
    queue.enqueue("out", event.payload["n"])
    if event.payload["n"] % 10 == 0:
        invoke_async("later", event.payload["n"])
""",
    "later": """
from picloud.sdk import queue

def handle(event, ctx):
    queue.enqueue("invoked", event.body)
""",
    "slow": """
import time
from picloud.sdk import queue

def handle(event, ctx):
    time.sleep(2.5)
    queue.enqueue("slept", event.payload)
""",
}
SETTINGS = {"PICLOUD_QUEUE_RECLAIM_INTERVAL_MS": "300", "PICLOUD_EXECUTION_TIMEOUT_SECS": "5"}


class Cluster:
    """A database and the nodes on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres = EmbeddedPostgres(folder / "database", settings={"fsync": "off", "max_connections": "200"})
        self.nodes: list[NodeProcess] = []
        self.token = ""
        self.sleepers: list[str] = []
        """What the slow queue was sent."""

    def start(self) -> None:
        dsn = self.postgres.start()
        app = self.folder / "app"
        app.mkdir()
        (app / "picloud.toml").write_text(MANIFEST)
        for name, source in SCRIPTS.items():
            (app / f"{name}.py").write_text(source)
        env = SETTINGS | {"DATABASE_URL": dsn}
        self.nodes = [NodeProcess(self.folder / f"node{n}", env=env) for n in range(NODES)]
        for node in self.nodes:
            node.start()
        deployed = run_cli("deploy", str(app), home=self.nodes[0].home)
        assert deployed.returncode == 0, deployed.stderr
        self.token = self.nodes[0].credentials["token"]

    def stop(self) -> None:
        for node in self.nodes:
            node.kill_group()
        self.postgres.stop()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.postgres.dsn, autocommit=True) as conn:
            return conn.execute(query).fetchall()  # type: ignore[call-overload]

    # --- what happens to it

    def kill_a_node(self, dice: random.Random) -> None:
        node = dice.choice(self.nodes)
        node.kill_group()
        node.start()

    def pause_a_node(self, dice: random.Random) -> None:
        """Past its leases: it goes on with what others have taken over."""
        process = dice.choice(self.nodes).process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE + dice.uniform(0.5, 2.0))
        process.send_signal(signal.SIGCONT)

    def end_connections(self, dice: random.Random) -> None:
        self.ask(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            f"where pid <> pg_backend_pid() and backend_type = 'client backend' and random() < {dice.uniform(0.2, 1)}"
        )

    def restart_the_database(self, dice: random.Random) -> None:
        self._stop_database()
        self.postgres.start()

    def take_the_database_away(self, dice: random.Random) -> None:
        self._stop_database()
        time.sleep(OUTAGE)
        self.postgres.start()

    def fill_the_gate(self, dice: random.Random) -> None:
        """Sleeping handlers for every worker thread of every node; they count as messages like any."""
        self.sleepers += [f"{len(self.sleepers) + n}" for n in range(16 * NODES)]
        messages = [{"payload": n, "dedup_key": n} for n in self.sleepers[-16 * NODES :]]
        wait_until(lambda: self._post("slow", messages), 60)

    def _stop_database(self) -> None:
        """As `pg_ctl stop -m immediate` does."""
        os.kill(int((self.postgres.data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        wait_until(lambda: not (self.postgres.data / "postmaster.pid").exists(), 30)

    # --- sending

    def _post(self, queue: str, messages: list[dict[str, Any]]) -> bool:
        """Return whether a node says that it has them."""
        node = random.choice(self.nodes)
        with contextlib.suppress(httpx.TransportError, FileNotFoundError, json.JSONDecodeError):
            url = f"{node.credentials['url']}/api/v1/apps/chaos/queues/{queue}/messages"
            headers = {"Authorization": f"Bearer {self.token}"}
            answer = httpx.post(url, json={"messages": messages}, headers=headers, timeout=15.0)
            assert answer.status_code in (200, 201, 503), answer.text
            return answer.status_code != 503
        return False


class Sender:
    """Sends numbered messages until it is stopped; a batch whose answer was lost may or may not be there."""

    def __init__(self, cluster: Cluster) -> None:
        self.accepted: dict[int, str] = {}
        self.unknown: dict[int, str] = {}
        self.failure: BaseException | None = None
        self._cluster = cluster
        self._end = threading.Event()
        self._numbers = itertools.count()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._end.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        dice = random.Random(SEED + 1)
        try:
            while not self._end.wait(0.05):
                batch = {next(self._numbers): self._kind(dice) for _ in range(BATCH)}
                messages = [
                    {"payload": {"n": n, "kind": kind}, "max_attempts": 3 if kind == "poison" else 100}
                    for n, kind in batch.items()
                ]
                (self.accepted if self._cluster._post("in", messages) else self.unknown).update(batch)
        except BaseException as error:
            self.failure = error

    @staticmethod
    def _kind(dice: random.Random) -> str:
        return dice.choices(["plain", "flaky", "poison"], [90, 8, 2])[0]


@pytest.fixture
def cluster(reachable_dir: Path) -> Iterator[Cluster]:
    made = Cluster(reachable_dir)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_whatever_happens_to_nodes_and_database_each_message_has_one_set_of_effects(cluster: Cluster) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    happenings: list[Callable[[random.Random], None]] = [
        cluster.kill_a_node,
        cluster.pause_a_node,
        cluster.end_connections,
        cluster.restart_the_database,
        cluster.fill_the_gate,
        cluster.take_the_database_away,
    ]
    end = time.monotonic() + SECONDS
    with Sender(cluster) as sender:
        # each once, then what the dice say
        todo = dice.sample(happenings, len(happenings))
        while time.monotonic() < end:
            time.sleep(dice.uniform(0.2, 1.5))
            happening = todo.pop() if todo else dice.choice(happenings[:5])
            print(f"{time.monotonic() - end + SECONDS:5.1f} s: {happening.__name__}")
            happening(dice)
    wait_until(lambda: is_quiet(cluster), QUIET_LIMIT, lambda: why_busy(cluster))
    check(cluster, sender)


def is_quiet(cluster: Cluster) -> bool:
    ((waiting,),) = cluster.ask("select count(*) from queue_messages where queue_name in ('in', 'middle', 'slow')")
    ((events,),) = cluster.ask("select count(*) from outbox")
    return waiting + events == 0


def why_busy(cluster: Cluster) -> str:
    rows = cluster.ask(
        "select queue_name, claim_token is not null, deliver_after <= now(), count(*) "
        "from queue_messages group by 1, 2, 3"
    )
    logs = [node.log.read_text()[-1500:] for node in cluster.nodes]
    return f"{rows} {cluster.ask('select claimed_at, attempt from outbox limit 5')}\n" + "\n".join(logs)


def check(cluster: Cluster, sender: Sender) -> None:
    def effects(queue: str) -> collections.Counter[Any]:
        rows = cluster.ask(f"select payload from queue_messages where queue_name = '{queue}'")
        return collections.Counter(payload for (payload,) in rows)

    out = effects("out")
    twice = {n: count for n, count in out.items() if count != 1}
    assert not twice
    good = {n for n, kind in sender.accepted.items() if kind != "poison"}
    maybe = {n for n, kind in sender.unknown.items() if kind != "poison"}
    assert good <= set(out), f"lost: {sorted(good - set(out))[:20]}"
    assert set(out) <= good | maybe
    dead = collections.Counter(
        n for (n,) in cluster.ask("select (event->'payload'->>'n')::int from dead_letters where source = 'queue'")
    )
    poison = {n for n, kind in sender.accepted.items() if kind == "poison"}
    assert set(dead.values()) <= {1}
    assert poison <= set(dead) <= poison | {n for n, kind in sender.unknown.items() if kind == "poison"}
    # an invocation runs once: those that a node took along are dead letters, and nothing else is
    lost = cluster.ask(
        "select coalesce(event->>'body', event->>'args')::int, reason, error::text "
        "from dead_letters where source = 'invoke'"
    )
    print(f"{len(lost)} invocations died with their node", collections.Counter(row[1:] for row in lost))
    invoked = effects("invoked") + collections.Counter(n for n, _, _ in lost)
    assert invoked == collections.Counter(n for n in out if n % 10 == 0)
    assert effects("slept") == collections.Counter(cluster.sleepers)
    ((handled,),) = cluster.ask("select value::text::int from kv where key = 'handled'")
    assert handled == len(out)
    assert len(out) > 1000
    print(f"{len(sender.accepted)} accepted, {len(sender.unknown)} unknown, {len(out)} handled, {len(dead)} dead")
