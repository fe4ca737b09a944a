"""A receiver of mails on a real socket, with the database handed in as functions, and clients for it."""

from __future__ import annotations

import json
import smtplib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import trio
from uuid_utils.compat import uuid7

from picloud.actors.mail_intake import MailIntake
from picloud.actors.server import bind
from picloud.actors.smtp import SmtpConfig, SmtpReceiver
from picloud.db.email_triggers import Recipient
from picloud.errors import DatabaseUnavailable
from picloud.mail_spec import Mailbox
from picloud.types import TriggerId

T = TypeVar("T")
CERTIFICATE = Path(__file__).with_name("localhost.pem")
MAILBOXES = {Mailbox("shop", "orders"): TriggerId(uuid7()), Mailbox("desk", "help"): TriggerId(uuid7())}
HANG_LIMIT = 30.0


class Post:
    """What the database would be asked, and what it says."""

    def __init__(self) -> None:
        self.stored: list[tuple[dict[str, Any], list[str]]] = []
        self.is_down = False
        self.error: Exception | None = None
        self.gate: trio.Event | None = None
        """Storing waits for it."""
        self.storing = trio.Event()

    async def find(self, mailbox: Mailbox) -> TriggerId | None:
        if self.is_down:
            raise DatabaseUnavailable("down")
        return MAILBOXES.get(mailbox)

    async def store(self, event: str, recipients: Sequence[Recipient]) -> list[UUID]:
        self.storing.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.is_down:
            raise DatabaseUnavailable("down")
        if self.error is not None:
            raise self.error
        self.stored.append((json.loads(event), [one.address for one in recipients]))
        return [uuid7() for _ in recipients]


class Running:
    """A receiver that runs."""

    def __init__(self, receiver: SmtpReceiver, post: Post, port: int) -> None:
        self.receiver = receiver
        self.post = post
        self.port = port

    @property
    def details(self) -> dict[str, Any]:
        return dict(self.receiver.details())

    def connect(self, timeout: float = HANG_LIMIT) -> smtplib.SMTP:
        return smtplib.SMTP("127.0.0.1", self.port, local_hostname="client.example", timeout=timeout)

    def send_one(self) -> None:
        with self.connect() as smtp:
            assert smtp.sendmail("a@b", ["orders@shop"], b"Subject: one\r\n\r\n") == {}

    def raw(self) -> RawClient:
        return RawClient(self.port)

    async def until(self, holds: Callable[[], bool]) -> None:
        with trio.fail_after(HANG_LIMIT):
            while not holds():
                await trio.sleep(0.005)


class RawClient:
    """A client that can break every rule."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_LIMIT)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> str:
        """Read one reply; empty at the end of the session."""
        while line := self._file.readline():
            if line[3:4] != b"-":
                return line.decode().rstrip()
        return ""

    def replies(self, count: int) -> list[str]:
        return [self.reply() for _ in range(count)]

    def ask(self, data: bytes) -> str:
        self.send(data)
        return self.reply()


@asynccontextmanager
async def open_receiver(
    *, max_event_bytes: int = 1024 * 1024, limit: float = HANG_LIMIT * 2, **config: Any
) -> AsyncIterator[Running]:
    """Run a receiver; it stops orderly at the end, and nothing may be left."""
    post = Post()
    intake = MailIntake(post.find, post.store, domain="example.org", max_event_bytes=max_event_bytes)
    sock = bind("127.0.0.1", 0)
    port = sock.getsockname()[1]
    receiver = SmtpReceiver(intake, SmtpConfig(hostname="mx.example.org", **config), sock)
    try:
        with trio.fail_after(limit):
            async with trio.open_nursery() as nursery:
                await nursery.start(lambda *, task_status: receiver.run(task_status=task_status))
                yield Running(receiver, post, port)
                receiver.stop()
    finally:
        receiver.stop()
    assert receiver.details()["sessions"] == 0
    assert receiver.details()["held_bytes"] == 0


async def client(function: Callable[[], T]) -> T:
    """Run a blocking client beside the receiver."""
    return await trio.to_thread.run_sync(function)


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))
