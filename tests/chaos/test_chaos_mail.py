"""kill -9 right after the 250: a mail that was accepted is there, and its script's effects happen once.

Twice in CI, with the database and without it; `PICLOUD_TEST_CHAOS=long` does it 200 times, each tenth with it.
"""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import smtplib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import psycopg
from node_process import NodeProcess, wait_until

from picloud.db.embedded import EmbeddedPostgres

LONG = os.environ.get("PICLOUD_TEST_CHAOS") == "long"
ROUNDS = 200 if LONG else 2

MANIFEST = """
[app]
name = "post"

[[triggers.email]]
name = "in"
script = "read"
retry_max_attempts = 20
"""
READ = """
from picloud.sdk import EmailEvent, queue

def handle(event: EmailEvent, ctx):
    queue.enqueue("got", int(event.subject))
"""


def find_port(node: NodeProcess) -> int:
    with node.client() as client:
        actor = client.get("/api/v1/supervisor", params={"path": "/picloud/services/smtp"}).json()
    return int(actor["details"]["address"].rpartition(":")[2])


def send_and_kill(node: NodeProcess, number: int, *, with_database: bool) -> None:
    postmaster = node.postmaster_pid()
    smtp = smtplib.SMTP("127.0.0.1", find_port(node), local_hostname="client.example", timeout=60)
    refused = smtp.sendmail("ann@example.com", ["in@post"], f"Subject: {number}\r\n\r\nhi\r\n".encode())
    if with_database:
        with contextlib.suppress(ProcessLookupError):
            os.kill(postmaster, signal.SIGKILL)
    node.kill_group()
    assert refused == {}
    smtp.close()


def test_a_mail_that_was_accepted_survives_kill_nine_right_after_the_answer(reachable_dir: Path) -> None:
    app = reachable_dir / "app"
    app.mkdir()
    (app / "picloud.toml").write_text(MANIFEST)
    (app / "read.py").write_text(READ)
    with NodeProcess(reachable_dir / "home", str(app), env={"PICLOUD_SMTP_PORT": "0"}) as node:
        for number in range(ROUNDS):
            send_and_kill(node, number, with_database=number % (10 if LONG else 2) == 0)
            node.start()
        assert node.log.read_text().count("  Mail      smtp://127.0.0.1:") == ROUNDS + 1
        stored = find_mails(node)
        assert stored == set(range(ROUNDS)), f"lost: {set(range(ROUNDS)) - stored}"
        wait_until(lambda: len(handled(node)) >= ROUNDS, 60, lambda: sorted(handled(node)))
        assert collections.Counter(handled(node)) == collections.Counter(range(ROUNDS))
        assert node.stop() == 0


def find_mails(node: NodeProcess) -> set[int]:
    """What waits for the script or went through it; leases of nodes that died end now instead of within a minute."""
    with psycopg.connect(EmbeddedPostgres(node.home).dsn) as conn:
        rows = conn.execute(
            "select (event ->> 'subject')::int from outbox union select (payload #>> '{}')::int from queue_messages"
        ).fetchall()
        conn.execute("update outbox set claim_token = null, claimed_at = null where claim_token is not null")
    return {row[0] for row in rows}


def handled(node: NodeProcess) -> list[int]:
    return [message["payload"] for message in node.messages("post", "got")]
