"""Mails by SMTP from real clients and from wrong ones, on a real socket."""

from __future__ import annotations

import asyncio
import gc
import smtplib
import socket
import subprocess
import sys
import time
from email.message import EmailMessage
from pathlib import Path

import pytest
import trio
from smtp_probes import CERTIFICATE, HANG_LIMIT, RawClient, client, open_receiver, trusting

from picloud.actors.smtp import load_tls
from picloud.errors import AddressInUse, InvalidSetting, TriggerNotFound

HELLO = b"EHLO client.example\r\n"
ENVELOPE = b"MAIL FROM:<ann@example.com>\r\nRCPT TO:<orders@shop>\r\n"


def letter(text: str = "hello\n", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ann <ann@example.com>", "orders@shop", "Order 7"
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    return message


async def test_a_mail_is_stored_once_for_each_address_before_it_is_answered() -> None:
    message = letter("Grüße\n..\n.x\n")
    message.add_attachment(b"\0\1", maintype="image", subtype="png", filename="a.png")

    def send() -> object:
        with running.connect() as smtp:
            smtp.ehlo()
            assert smtp.esmtp_features["size"] == str(10 * 1024 * 1024)
            assert not smtp.has_extn("auth")
            to = ["orders+7@SHOP", "orders+7@shop", "help@desk.example.org"]
            return smtp.send_message(message, to_addrs=to)

    async with open_receiver() as running:
        assert await client(send) == {}
        ((event, recipients),) = running.post.stored
        assert recipients == ["orders+7@shop", "help@desk.example.org"]
        assert (event["from"], event["to"], event["subject"]) == ("ann@example.com", ["orders@shop"], "Order 7")
        assert event["text"] == "Grüße\n..\n.x\n"
        assert event["attachments"] == [
            {"name": "a.png", "type": "image/png", "size": 2, "content": "AAE=", "truncated": False}
        ]
        assert event["envelope_from"] == "ann@example.com"
        assert (running.details["accepted"], running.details["refused"], running.details["faults"]) == (1, 0, 0)


async def test_an_unknown_address_is_refused_and_the_others_get_the_mail() -> None:
    def send() -> object:
        with running.connect() as smtp:
            refused = smtp.sendmail("a@b", ["nobody@shop", "orders@shop", "ann@example.com"], b"Subject: x\r\n\r\ny")
            with pytest.raises(smtplib.SMTPRecipientsRefused):
                smtp.sendmail("a@b", ["bob@example.com"], b"Subject: x\r\n\r\ny")
            return refused

    async with open_receiver() as running:
        refused = await client(send)
        assert isinstance(refused, dict)
        assert {code for code, _ in refused.values()} == {550}
        assert all(text.startswith(b"5.1.1 ") for _, text in refused.values())
        assert [recipients for _, recipients in running.post.stored] == [["orders@shop"]]
        assert running.details["refused"] == 3


async def test_a_bounce_has_no_sender() -> None:
    def send() -> object:
        with running.connect() as smtp:
            return smtp.sendmail("", ["orders@shop"], b"Subject: undelivered\r\n\r\n")

    async with open_receiver() as running:
        assert await client(send) == {}
        assert running.post.stored[0][0]["envelope_from"] == ""


async def test_an_outage_of_the_database_is_told_and_never_accepted() -> None:
    def talk() -> list[str]:
        with running.raw() as raw:
            raw.reply()
            raw.ask(HELLO)
            replies = [raw.ask(b"MAIL FROM:<a@b>\r\n"), raw.ask(b"RCPT TO:<orders@shop>\r\n")]
            running.post.is_down = False
            replies.append(raw.ask(b"RCPT TO:<orders@shop>\r\n"))
            running.post.is_down = True
            raw.ask(b"DATA\r\n")
            replies.append(raw.ask(b"Subject: x\r\n\r\n.\r\n"))
            running.post.is_down, running.post.error = False, TriggerNotFound("gone")
            raw.send(ENVELOPE + b"DATA\r\nx\r\n.\r\n")
            return [*replies, *raw.replies(4)[-1:]]

    async with open_receiver() as running:
        running.post.is_down = True
        replies = await client(talk)
        assert [reply[:9] for reply in replies] == [
            *("250 OK", "451 4.3.0", "250 2.1.5", "451 4.3.0", "451 4.3.5"),
        ]  # fmt: skip
        assert (running.post.stored, running.details["deferred"]) == ([], 3)


async def test_a_mail_over_the_limit_is_refused_by_its_announced_and_by_its_real_size() -> None:
    def talk() -> list[str]:
        with running.raw() as raw:
            raw.reply()
            raw.ask(HELLO)
            replies = [raw.ask(b"MAIL FROM:<a@b> SIZE=100001\r\n")]
            for size in (100_000, 100_001, 3_000_000):
                raw.send(ENVELOPE + b"DATA\r\n" + b"x" * (size - 2) + b"\r\n.\r\n")
                replies.append(raw.replies(4)[-1])
            return [*replies, raw.ask(b"NOOP\r\n")]

    async with open_receiver(max_bytes=100_000) as running:
        replies = await client(talk)
        assert [reply[:4] for reply in replies] == ["552 ", "250 ", "552 ", "552 ", "250 "]
        assert len(running.post.stored) == 1


async def test_a_mail_that_cannot_be_read_is_refused_and_one_that_is_too_much_is_cut() -> None:
    big = letter()
    big.add_attachment(b"x" * 50_000, maintype="application", subtype="x", filename="big")

    def send() -> None:
        with running.connect() as smtp:
            with pytest.raises(smtplib.SMTPDataError) as refused:
                smtp.sendmail("a@b", ["orders@shop"], b"a: b\r\n" * 10_001 + b"\r\n")
            assert refused.value.smtp_code == 554
            smtp.sendmail("a@b", ["orders@shop"], big.as_bytes())

    async with open_receiver(max_event_bytes=10_000) as running:
        await client(send)
        ((event, _),) = running.post.stored
        assert event["truncated"]
        assert event["attachments"] == [
            {"name": "big", "type": "application/x", "size": 50_000, "content": None, "truncated": True}
        ]


async def test_commands_sent_at_once_are_answered_in_order() -> None:
    def talk() -> list[str]:
        with running.raw() as raw:
            mail = ENVELOPE + b"DATA\r\nSubject: a\r\n\r\n..x\r\n.\r\n"
            raw.send(HELLO + mail + mail + ENVELOPE + b"DATA\r\n.\r\nRSET\r\nQUIT\r\n")
            return [reply[:3] for reply in raw.replies(17)]

    async with open_receiver() as running:
        mail = ["250", "250", "354", "250"]
        assert await client(talk) == ["220", "250", *mail, *mail, *mail, "250", "221", ""]
        assert [event["text"] for event, _ in running.post.stored] == [".x\n", ".x\n", ""]


@pytest.mark.parametrize("end", [b"\n.\n", b"\r\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\r"])
async def test_only_a_dot_between_whole_line_ends_ends_a_mail(end: bytes) -> None:
    def talk() -> str:
        with running.raw() as raw:
            inside = end + b"MAIL FROM:<forged@example.com>\r\nRCPT TO:<orders@shop>\r\nDATA\r\nforged"
            raw.send(HELLO + ENVELOPE + b"DATA\r\n" + inside + b"\r\n.\r\n")
            return raw.replies(6)[-1]

    async with open_receiver() as running:
        assert (await client(talk)).startswith("250 2.0.0 stored as ")
        ((event, _),) = running.post.stored
        assert "forged" in event["text"]


async def test_a_mail_in_single_bytes_arrives() -> None:
    def talk() -> str:
        with running.raw() as raw:
            raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.send(HELLO + ENVELOPE + b"DATA\r\n")
            raw.replies(5)
            for byte in b"Subject: x\r\n\r\na\r\n..\r\n.b\r\n.\r\n":
                raw.send(bytes([byte]))
            return raw.reply()

    async with open_receiver() as running:
        assert (await client(talk)).startswith("250 ")
        assert running.post.stored[0][0]["text"] == "a\n.\nb\n"


async def test_starttls_is_offered_with_a_certificate_and_what_came_before_it_is_dropped() -> None:
    def send() -> object:
        with running.connect() as smtp:
            smtp.ehlo()
            assert smtp.has_extn("starttls")
            smtp.starttls(context=trusting())
            smtp.ehlo()
            assert not smtp.has_extn("starttls")
            assert not smtp.has_extn("auth")
            return smtp.send_message(letter(), to_addrs=["orders@shop"])

    def inject() -> bytes:
        with running.raw() as raw:
            raw.send(HELLO)
            raw.replies(2)
            raw.send(b"STARTTLS\r\nMAIL FROM:<a@b>\r\n")
            assert raw.reply().startswith("220")
            with trusting().wrap_socket(raw.socket, server_hostname="localhost") as tls:
                tls.sendall(HELLO)
                return tls.recv(1000)

    def break_off() -> str:
        with running.raw() as raw:
            raw.send(HELLO)
            raw.replies(2)
            assert raw.ask(b"STARTTLS\r\n").startswith("220")
            raw.send(b"this is no handshake at all\r\n" * 10)
            return raw.reply()

    def hang_up() -> None:
        with running.raw() as raw:
            raw.send(HELLO)
            raw.replies(2)
            raw.ask(b"STARTTLS\r\n")

    async with open_receiver(tls=load_tls(CERTIFICATE, None)) as running:
        await client(hang_up)
        await running.until(lambda: running.details["sessions"] == 0)
        assert await client(send) == {}
        assert len(running.post.stored) == 1
        assert (await client(inject)).startswith(b"250-mx.example.org")
        await client(break_off)
        await running.until(lambda: running.details["sessions"] == 0)
        assert await client(send) == {}


async def test_a_client_that_says_nothing_is_told_and_let_go() -> None:
    def wait() -> list[str]:
        with running.raw() as raw:
            return raw.replies(3)

    def stop_inside_a_mail() -> str:
        with running.raw() as raw:
            raw.send(HELLO + ENVELOPE + b"DATA\r\nhalf a mail")
            return raw.replies(6)[-1]

    async with open_receiver(idle_timeout=0.2) as running:
        assert [reply[:9] for reply in await client(wait)] == ["220 mx.ex", "421 4.4.2", ""]
        assert (await client(stop_inside_a_mail)).startswith("421 4.4.2")
        await running.until(lambda: running.details["sessions"] == 0)
        assert running.post.stored == []


async def test_a_session_ends_whatever_it_does() -> None:
    def chat() -> None:
        with running.raw() as raw:
            raw.reply()
            while raw.ask(HELLO if running.details["accepted"] else b"RSET\r\n"):
                pass

    async with open_receiver(lifetime=0.3) as running:
        with trio.fail_after(20):
            try:
                await client(chat)
            except ConnectionError:
                pass
        await running.until(lambda: running.details["sessions"] == 0)


async def test_commands_and_sessions_leave_no_timers_behind() -> None:
    def chat() -> None:
        for _ in range(5):
            with running.raw() as raw:
                raw.reply()
                for _ in range(40):
                    raw.ask(b"NOOP\r\n")

    async with open_receiver() as running:
        await client(chat)
        await running.until(lambda: running.details["sessions"] == 0)
        gc.collect()
        assert sum(type(one) is asyncio.TimerHandle for one in gc.get_objects()) < 20


async def test_a_client_that_is_always_refused_is_let_go() -> None:
    def guess() -> list[str]:
        with running.raw() as raw:
            raw.send(HELLO + b"MAIL FROM:<a@b>\r\n" + b"".join(b"RCPT TO:<n%d@shop>\r\n" % n for n in range(150)))
            replies = []
            while reply := raw.reply():
                replies.append(reply[:3])
            return replies

    async with open_receiver() as running:
        replies = await client(guess)
        assert replies.count("550") == 101
        assert replies[-1] == "421"


async def test_there_are_only_so_many_sessions_recipients_and_bytes() -> None:
    def crowd() -> str:
        with running.raw() as first, running.raw() as second:
            assert (first.reply()[:3], second.reply()[:3]) == ("220", "220")
            with running.raw() as third:
                assert third.reply().startswith("421 4.3.2 mx.example.org is busy")
                assert third.reply() == ""
            first.send(HELLO + b"MAIL FROM:<a@b>\r\n" + b"RCPT TO:<orders@shop>\r\n" * 101)
            assert [reply[:3] for reply in first.replies(103)] == ["250"] * 102 + ["452"]
            first.send(b"DATA\r\n" + b"x" * 80_000)
            first.reply()
            deadline = time.monotonic() + HANG_LIMIT
            while running.details["held_bytes"] < 79_000 and time.monotonic() < deadline:
                time.sleep(0.001)
            second.send(HELLO + ENVELOPE + b"DATA\r\n" + b"x" * 80_000 + b"\r\n.\r\n")
            assert second.replies(5)[-1].startswith("452 4.3.1")
            return first.ask(b"\r\n.\r\n")

    async with open_receiver(max_sessions=2, max_bytes=99_000, max_held_bytes=100_024) as running:
        assert (await client(crowd)).startswith("250 2.0.0")
        await running.until(lambda: running.details["sessions"] == 0)


async def test_stopping_answers_the_mail_that_arrives_and_dismisses_the_others() -> None:
    def send() -> list[str]:
        with running.raw() as raw:
            raw.send(HELLO + ENVELOPE + b"DATA\r\nSubject: x\r\n\r\n.\r\nNOOP\r\n")
            return raw.replies(8)

    def wait() -> list[str]:
        with running.raw() as raw:
            return raw.replies(3)

    replies: dict[str, list[str]] = {}
    async with open_receiver() as running, trio.open_nursery() as nursery:
        running.post.gate = trio.Event()

        async def keep(name: str, function: object) -> None:
            replies[name] = await client(function)  # type: ignore[arg-type]

        nursery.start_soon(keep, "sends", send)
        nursery.start_soon(keep, "waits", wait)
        await running.post.storing.wait()
        await running.until(lambda: running.details["sessions"] == 2)
        running.receiver.stop()
        await running.until(lambda: running.details["sessions"] == 1)
        with pytest.raises(ConnectionRefusedError):
            await client(running.raw)
        running.post.gate.set()
    assert [reply[:3] for reply in replies["sends"]] == ["220", "250", "250", "250", "354", "250", "421", ""]
    assert [reply[:3] for reply in replies["waits"]] == ["220", "421", ""]
    assert len(running.post.stored) == 1


async def test_a_receiver_that_is_cancelled_leaves_no_socket_open() -> None:
    with trio.CancelScope() as scope:
        async with open_receiver() as running:
            raw = await client(running.raw)
            await client(raw.reply)
            scope.cancel()
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    with raw:
        assert await client(raw.reply) == ""
    running.receiver.stop()
    with pytest.raises(ConnectionRefusedError):
        await client(running.raw)


async def test_a_receiver_that_was_stopped_can_be_started_again() -> None:
    async with open_receiver() as running, trio.open_nursery() as nursery:
        running.receiver.stop()
        await running.until(lambda: not running.details["stopping"])
        await nursery.start(lambda *, task_status: running.receiver.run(task_status=task_status))
        with await client(running.raw) as raw:
            assert (await client(raw.reply)).startswith("220")
        running.receiver.stop()


async def test_a_hang_up_in_the_middle_stores_nothing() -> None:
    def hang_up(data: bytes) -> None:
        with RawClient(running.port) as raw:
            raw.send(data)
            raw.reply()

    async with open_receiver() as running:
        for data in (b"", b"EH", HELLO, HELLO + ENVELOPE, HELLO + ENVELOPE + b"DATA\r\nhalf\r\n."):
            await client(lambda data=data: hang_up(data))  # type: ignore[misc]
        await running.until(lambda: running.details["connections"] == 5 and running.details["sessions"] == 0)
        assert (running.post.stored, running.details["faults"]) == ([], 0)


def test_a_certificate_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    assert load_tls(None, None) is None
    with pytest.raises(InvalidSetting, match="PICLOUD_SMTP_TLS_CERT"):
        load_tls(tmp_path / "none.pem", None)
    with pytest.raises(InvalidSetting, match="set both or none"):
        load_tls(None, CERTIFICATE)


def test_asyncio_stays_as_it_is_where_no_mail_is_received() -> None:
    code = (
        "import sys, picloud.app, picloud.actors.assembly\n"
        "print(sorted({'trio_asyncio', 'aiosmtpd'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "[]\n"


def test_a_missing_extra_is_told_with_what_to_do() -> None:
    code = (
        "import sys; sys.modules['trio_asyncio'] = None\n"
        "from picloud.actors.smtp import require_smtp\n"
        "from picloud.errors import InvalidSetting\n"
        "try: require_smtp()\n"
        "except InvalidSetting as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.startswith("PICLOUD_SMTP_PORT is set, but this Python cannot receive mails (")
    assert "pip install 'picloud[smtp]'" in ran.stdout


async def test_a_port_that_is_taken_names_the_setting() -> None:
    from picloud.actors.server import bind

    async with open_receiver() as running:
        with pytest.raises(AddressInUse, match="choose another with PICLOUD_SMTP_PORT"):
            bind("127.0.0.1", running.port, settings=("PICLOUD_SMTP_HOST", "PICLOUD_SMTP_PORT"))
