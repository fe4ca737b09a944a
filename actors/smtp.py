"""SMTP: mails for the addresses of email triggers are received, and stored before they are answered."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from picloud.actors.mail_intake import MailIntake
from picloud.actors.runtime import ChildSpec
from picloud.actors.server import bind
from picloud.actors.stores import PoolMailStore
from picloud.config import Settings
from picloud.db.pool import Pool
from picloud.errors import InvalidSetting

if TYPE_CHECKING:
    import asyncio

    from picloud.actors.smtp_protocol import Reception

SETTINGS = ("PICLOUD_SMTP_HOST", "PICLOUD_SMTP_PORT")


@dataclass(frozen=True, slots=True)
class SmtpConfig:
    """Durations are seconds."""

    hostname: str = "localhost"
    """What the receiver calls itself."""
    max_bytes: int = 10 * 1024 * 1024
    """Of one mail, as it is sent."""
    tls: ssl.SSLContext | None = None
    """For STARTTLS, which is then offered and not required."""
    max_sessions: int = 100
    max_held_bytes: int = 64 * 1024 * 1024
    """Of mails that are being received; the largest mail fits in any case."""
    idle_timeout: float = 300.0
    """Between two commands, and for a mail to arrive: what RFC 5321 asks for."""
    lifetime: float = 3600.0
    """Of a session, whatever it does."""
    linger: float = 5.0
    """For a client to read that its session is over."""
    drain_secs: float = 10.0
    """For mails that are arriving when it stops."""


class SmtpReceiver:
    """Serve SMTP on a bound socket; asyncio runs inside, for as long as this actor does."""

    def __init__(self, intake: MailIntake, config: SmtpConfig, sock: socket.socket) -> None:
        self._intake = intake
        self._config = config
        self._address = sock.getsockname()[:2]
        self._socket: socket.socket | None = sock
        self._reception: Reception | None = None
        self._stopping = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`; after a `stop` it binds the same address again.

        Raises: AddressInUse, ServerError when it cannot be bound again.
        """
        # imported after the protocol, which silences what it warns of
        reception = self._reception = self._receive(empty := trio.Event())
        import trio_asyncio

        if self._socket is None:
            self._socket = bind(*self._address, settings=SETTINGS)
        try:
            async with trio_asyncio.open_loop() as loop:
                loop.set_exception_handler(reception.note_fault)
                server = await trio_asyncio.aio_as_trio(self._listen)(loop, reception)
                try:
                    task_status.started()
                    await self._stopping.wait()
                    server.close()
                    reception.drain()
                    if reception.sessions:
                        with trio.move_on_after(self._config.drain_secs):
                            await empty.wait()
                finally:
                    server.close()
                    reception.abort()
        finally:
            if self._stopping.is_set():
                self._stopping = trio.Event()

    def as_child(self) -> ChildSpec:
        """Return what its supervisor must know. Transient: told to stop before the others, it must not come back."""
        patience = self._config.drain_secs + 1
        return ChildSpec("smtp", self.run, restart="transient", shutdown=patience, on_shutdown=self.stop)

    def stop(self) -> None:
        """Accept nothing more; mails that are arriving are answered first."""
        self._stopping.set()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def details(self) -> dict[str, object]:
        """Return the figures that the tree shows; `deferred` mails were refused for the time being."""
        reception = self._reception
        return {
            "address": f"{self._address[0]}:{self._address[1]}",
            "tls": self._config.tls is not None,
            "accepted": self._intake.accepted,
            "refused": self._intake.refused,
            "deferred": self._intake.deferred,
            "sessions": len(reception.sessions) if reception else 0,
            "connections": reception.connections if reception else 0,
            "turned_away": reception.turned_away if reception else 0,
            "held_bytes": reception.held_bytes if reception else 0,
            "faults": reception.faults if reception else 0,
            "stopping": self._stopping.is_set(),
        }

    def _receive(self, empty: trio.Event) -> Reception:
        from picloud.actors.smtp_protocol import Reception, SessionConfig

        config = self._config

        def note_empty() -> None:
            if self._stopping.is_set():
                empty.set()

        return Reception(
            self._intake,
            SessionConfig(
                config.hostname,
                config.max_bytes,
                idle_timeout=config.idle_timeout,
                lifetime=config.lifetime,
                linger=config.linger,
                tls=config.tls,
            ),
            max_sessions=config.max_sessions,
            max_held_bytes=max(config.max_held_bytes, config.max_bytes + 1024),
            on_empty=note_empty,
        )

    async def _listen(self, loop: asyncio.AbstractEventLoop, reception: Reception) -> asyncio.Server:
        assert self._socket is not None
        # asyncio closes the listener it was given: a duplicate, so that the next incarnation finds ours open
        return await loop.create_server(lambda: reception.make_protocol(loop), sock=self._socket.dup())


def make_receiver(settings: Settings, pool: Pool, sock: socket.socket, on_stored: Callable[[], None]) -> SmtpReceiver:
    """Return the node's receiver. Raises: InvalidSetting for a certificate that cannot be used."""
    store = PoolMailStore(pool)
    intake = MailIntake(
        store.find_trigger,
        store.store,
        domain=settings.smtp_domain,
        max_event_bytes=settings.max_payload_bytes,
        on_stored=on_stored,
    )
    config = SmtpConfig(
        hostname=settings.smtp_domain or socket.gethostname(),
        max_bytes=settings.smtp_max_bytes,
        tls=load_tls(settings.smtp_tls_cert, settings.smtp_tls_key),
        drain_secs=settings.drain_secs,
    )
    return SmtpReceiver(intake, config, sock)


def require_smtp() -> None:
    """Import what receives mails. Raises: InvalidSetting that says what to install."""
    try:
        import picloud.actors.smtp_protocol  # noqa: F401
    except (ImportError, AttributeError) as error:
        raise InvalidSetting(
            f"{SETTINGS[1]} is set, but this Python cannot receive mails ({error}): install the extra with "
            "pip install 'picloud[smtp]'; trio-asyncio, which is part of it, needs Python 3.13 or older"
        ) from error


def load_tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return what STARTTLS needs, or None without a certificate. Raises: InvalidSetting."""
    if certificate is None:
        if key is not None:
            raise InvalidSetting("PICLOUD_SMTP_TLS_KEY is set without PICLOUD_SMTP_TLS_CERT: set both or none")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # a password on the key would be asked for on the terminal
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(
            f"PICLOUD_SMTP_TLS_CERT ({certificate}) with PICLOUD_SMTP_TLS_KEY ({key or 'the same file'}): {error}"
        ) from error
    return context
