"""One SMTP session: aiosmtpd's protocol with our limits. Imported only where mails are received: it brings asyncio in.

asyncio runs inside trio-asyncio's loop here; what belongs to picloud is awaited on Trio.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, AnyStr

import structlog

with warnings.catch_warnings():
    # trio-asyncio 0.16 builds upon parts of asyncio that Python 3.12 and later warn of
    warnings.simplefilter("ignore", DeprecationWarning)
    import trio_asyncio

from aiosmtpd.smtp import SMTP, Envelope, Session, TLSSetupException

from picloud.actors.mail_intake import MailIntake
from picloud.db.email_triggers import Recipient
from picloud.mail_parsing import STDLIB_FAULTS, clean_line

CALLS = {"EHLO": 20, "HELO": 20, "STARTTLS": 2, "*": 1000}
"""How often a session may use a command."""
MAX_FAULTS = 100
"""Replies of refusal after which a session ends: a client that goes on is guessing."""
END_OF_MAIL = b"\r\n.\r\n"

_log = structlog.get_logger("picloud.smtp")
# it tells of every line that a client sends
logging.getLogger("mail.log").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Durations are seconds."""

    hostname: str
    max_bytes: int
    idle_timeout: float
    """Between two commands, and for the whole of a mail."""
    lifetime: float
    linger: float
    """How long a client may take to read that the session is over."""
    tls: ssl.SSLContext | None


@dataclass(slots=True)
class Reception:
    """What the sessions of one receiver share."""

    intake: MailIntake
    config: SessionConfig
    max_sessions: int
    max_held_bytes: int
    """Of mails that are being received, in all sessions together."""
    sessions: set[MailSession] = field(default_factory=set)
    connections: int = 0
    turned_away: int = 0
    faults: int = 0
    held_bytes: int = 0
    is_draining: bool = False
    on_empty: Callable[[], None] = lambda: None
    is_watching: bool = False

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look after the time limits of the sessions while there are any.

        One timer for all: trio-asyncio keeps a cancelled one until its time, and each command would leave one behind.
        """
        if not self.is_watching:
            self.is_watching = True
            self._watch_on(loop)

    def _watch_on(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for session in list(self.sessions):
            session.check_time(now)
        self.is_watching = bool(self.sessions)
        if self.is_watching:
            loop.call_later(min(1.0, self.config.idle_timeout / 4, self.config.lifetime / 4), self._watch_on, loop)

    def make_protocol(self, loop: asyncio.AbstractEventLoop) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection."""
        self.connections += 1
        if self.is_draining or len(self.sessions) >= self.max_sessions:
            self.turned_away += 1
            return TurnedAway(self.config.hostname)
        return MailSession(self, loop)

    def drain(self) -> None:
        """End sessions that wait for a command; those that send a mail are answered first."""
        self.is_draining = True
        for session in list(self.sessions):
            session.dismiss()

    def abort(self) -> None:
        """End all sessions now."""
        for session in list(self.sessions):
            session.abort()

    def note_fault(self, _loop: object, context: dict[str, Any]) -> None:
        """Log what asyncio cannot tell anybody else; a fault in one session must not take the others with it."""
        self.faults += 1
        error = context.get("exception")
        _log.warning("smtp_connection_failed", during=str(context.get("message")), error=repr(error)[:300])


class TurnedAway(asyncio.Protocol):
    """Tell a client to come back later."""

    def __init__(self, hostname: str) -> None:
        self._hostname = hostname

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say so and hang up."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(f"421 4.3.2 {self._hostname} is busy: try again later\r\n".encode())
        transport.close()


class Handler:
    """aiosmtpd's hooks."""

    def __init__(self, session: MailSession) -> None:
        self._session = session

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Offer what there is: nobody can log in."""
        session.host_name = hostname
        offered = [line for line in responses if not line.startswith("250-AUTH")]
        return [*offered[:-1], "250-ENHANCEDSTATUSCODES", "250-PIPELINING", offered[-1]]

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Accept an address that somebody wants mails for."""
        known = self._session.recipients
        reply = await _on_trio(self._session.reception.intake.check_recipient, address, known)
        if reply.recipient is not None:
            known.append(reply.recipient)
            envelope.rcpt_tos.append(address)
        return str(reply.text)

    async def handle_exception(self, error: Exception) -> str:
        """Tell the sender nothing of what went wrong here; a mail is not lost, since it was not accepted."""
        if isinstance(error, TLSSetupException | asyncio.IncompleteReadError):
            # the client's doing: it broke TLS off, or ended what it sends
            self._session.abort()
            return "454 4.7.0 TLS failed"
        self._session.reception.faults += 1
        _log.error("smtp_session_failed", exc_info=error)
        return "451 4.3.0 something failed here: try again later"


class MailSession(SMTP):
    """One connection."""

    def __init__(self, reception: Reception, loop: asyncio.AbstractEventLoop) -> None:
        config = reception.config
        self.reception = reception
        self.recipients: list[Recipient] = []
        self._faults = self._held = 0
        self._is_in_mail = False
        self._ends_at = 0.0
        self._idle_until = 0.0
        super().__init__(
            Handler(self),
            data_size_limit=config.max_bytes,
            enable_SMTPUTF8=True,
            hostname=config.hostname,
            ident="ESMTP",
            tls_context=config.tls,
            timeout=config.idle_timeout,
            command_call_limit=CALLS,
            loop=loop,
        )
        # never scheduled: aiosmtpd cancels it at the end
        self._timeout_handle = asyncio.TimerHandle(0.0, self._timeout_cb, (), loop)

    def check_time(self, now: float) -> None:
        """End the session if it is over its time, or nothing came for too long."""
        if now >= self._ends_at:
            self.abort()
        elif now >= self._idle_until:
            self._idle_until = self._ends_at
            self._timeout_cb()

    def dismiss(self) -> None:
        """End the session, now or when its mail was answered."""
        if not self._is_in_mail:
            self._hang_up(f"421 4.3.2 {self.hostname} is shutting down")

    def abort(self) -> None:
        """End the session now."""
        for transport in (self.transport, self._original_transport):
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
        # TLS that never began does not tell of its end
        self.loop.call_soon(self.connection_lost, None)

    def _hang_up(self, reply: str) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            if not self.transport.is_closing():
                self.transport.write(f"{reply}\r\n".encode())
                self.transport.close()
            self.loop.call_later(self.reception.config.linger, self.abort)

    # --- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; called a second time when TLS begins."""
        super().connection_made(transport)
        self.reception.sessions.add(self)
        if not self._ends_at:
            self._ends_at = self.loop.time() + self.reception.config.lifetime
        self.reception.watch(self.loop)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the session; called a second time when TLS could not begin."""
        if self not in self.reception.sessions:
            return
        self.reception.sessions.discard(self)
        super().connection_lost(error)
        if not self.reception.sessions:
            self.reception.on_empty()

    # --- what aiosmtpd calls

    async def push(self, status: AnyStr) -> None:
        """Send a reply; let others have their turn, and end a session that is refused all the time."""
        # commands that came together would keep the loop to themselves; not after the reply, which may begin TLS
        await asyncio.sleep(0)
        if self.transport is None or self.transport.is_closing():
            return
        await super().push(status)
        self._faults += status[:1] in ("5", b"5")
        if self._faults > MAX_FAULTS and self.transport is not None:
            self._faults = 0
            self._hang_up("421 4.7.0 too many errors")

    async def smtp_STARTTLS(self, arg: str) -> None:
        """Begin TLS, once."""
        if self._has_tls():
            await self.push("503 5.5.1 TLS has begun already")
            return
        await super().smtp_STARTTLS(arg)
        if self._has_tls() and (self.session is None or self.session.ssl is None):
            # the client hung up in the middle, which asyncio does not take for a failure
            raise TLSSetupException

    async def smtp_AUTH(self, arg: str) -> None:
        """Refuse: there is nobody to log in as."""
        await self.push("502 5.5.1 there is no login")

    async def smtp_VRFY(self, arg: str) -> None:
        """Refuse: an address is told by RCPT alone, which counts refusals."""
        await self.push("252 2.1.5 send it and see")

    async def smtp_DATA(self, arg: str) -> None:
        """Receive a mail, hand it in, and answer: 250 once it is stored."""
        if await self.check_helo_needed():
            return
        if not self.recipients:
            await self.push("503 5.5.1 need RCPT first")
        elif arg:
            await self.push("501 5.5.4 DATA takes nothing")
        else:
            await self._take_mail()

    def _set_post_data_state(self) -> None:
        super()._set_post_data_state()  # type: ignore[no-untyped-call]
        self.recipients = []

    def _has_tls(self) -> bool:
        return self._tls_protocol is not None

    def _reset_timeout(self, duration: float | None = None) -> None:
        self._idle_until = self.loop.time() + (duration or self.reception.config.idle_timeout)

    def _timeout_cb(self) -> None:
        self._hang_up("421 4.4.2 nothing came for too long")

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        try:
            return super()._getaddr(arg)
        except STDLIB_FAULTS:
            return None, None

    # --- a mail

    async def _take_mail(self) -> None:
        self._is_in_mail = True
        try:
            await self.push("354 end with a dot on a line of its own")
            raw, refusal = await self._receive()
            if refusal is None:
                intake, sender = self.reception.intake, clean_line(self._sender())
                refusal = await _on_trio(intake.take, sender, self.recipients, raw)
            self._set_post_data_state()
            await self.push(refusal)
        finally:
            self._is_in_mail = False
            self._hold(-self._held)
            if self.reception.is_draining:
                self.dismiss()

    def _sender(self) -> str:
        sender = (self.envelope.mail_from if self.envelope else None) or ""
        # of a bounce
        return "" if sender == "<>" else sender

    async def _receive(self) -> tuple[bytearray, str | None]:
        """Read to the dot on a line of its own. What is too large is read to its end, too, and dropped.

        In large pieces and not by lines: a mail of empty lines would cost thirty times its size.
        """
        # a line break, so that a mail that begins with its end is found like any other
        raw, searched, refusal = bytearray(b"\r\n"), 0, None
        while (end := raw.find(END_OF_MAIL, searched)) < 0:
            if refusal is None:
                # at least: its end may be here in part
                refusal = self._find_refusal(len(raw) - len(END_OF_MAIL))
            if refusal is not None:
                del raw[: -len(END_OF_MAIL)]
            searched = max(0, len(raw) - len(END_OF_MAIL))
            # others have their turn, even where the client never makes us wait
            await asyncio.sleep(0)
            # all there is: so that what follows the mail can be given back
            piece = await self._reader.read(sys.maxsize)
            if not piece:
                raise asyncio.CancelledError
            raw += piece
        if following := bytes(raw[end + len(END_OF_MAIL) :]):
            self._reader.feed_data(following)
        del raw[end + 2 :]
        if refusal is None:
            refusal = self._find_refusal(len(raw) - 2)
        # a dot that began a line was doubled
        return raw.replace(b"\r\n.", b"\r\n")[2:], refusal

    def _find_refusal(self, size: int) -> str | None:
        if size > self.reception.config.max_bytes:
            self._hold(-self._held)
            return self.reception.intake.refuse_size()
        self._hold(max(size, 0) - self._held)
        if self.reception.held_bytes > self.reception.max_held_bytes:
            self._hold(-self._held)
            return "452 4.3.1 too many mails at once: try again later"
        return None

    def _hold(self, more: int) -> None:
        self._held += more
        self.reception.held_bytes += more


async def _on_trio(function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    return await trio_asyncio.trio_as_aio(function)(*args)
