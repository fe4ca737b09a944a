"""The SMTP port under a fuzzer: no crash, no stuck session, no mail accepted that was not stored, memory flat.

Seeded and short; `PICLOUD_TEST_CHAOS=long` does it for two minutes.
"""

from __future__ import annotations

import os
import random
import resource
import socket
import ssl
import sys
import time
from collections.abc import Iterator

import trio
from smtp_probes import CERTIFICATE, client, open_receiver, trusting

from picloud.actors.smtp import load_tls

SECS = 120.0 if os.environ.get("PICLOUD_TEST_CHAOS") == "long" else 2.0
SEED = int(os.environ.get("PICLOUD_TEST_SEED", "0")) or 20261202
CLIENTS = 6
MEMORY_MB = 60
"""How much the process may grow once it is warm."""

LINES = [
    *(b"EHLO a", b"HELO a", b"EHLO", b"MAIL FROM:<a@b>", b"MAIL FROM:<>", b"MAIL FROM:<a@b> SIZE=5", b"MAIL FROM:<"),
    *(b"MAIL FROM:<a@b> SIZE=99999999999", b"MAIL FROM:<\xc3\xa4@b> SMTPUTF8", b"MAIL FROM:<a@b> BODY=8BITMIME X=1"),
    *(b"RCPT TO:<orders@shop>", b"RCPT TO:<help@desk>", b"RCPT TO:<nobody@shop>", b"RCPT TO:<", b"RCPT TO:<@a,@b:c@d>"),
    *(b"RCPT TO:" + b"(" * 400, b"RCPT TO:<\xff@shop>", b'RCPT TO:<"a b"@shop>', b"DATA", b"DATA x", b".", b"RSET"),
    *(b"NOOP", b"VRFY a", b"VRFY \xff", b"EXPN a", b"HELP", b"HELP DATA", b"AUTH PLAIN AGEAYg==", b"AUTH", b"STARTTLS"),
    *(b"STARTTLS x", b"QUIT", b"BDAT 5 LAST", b"", b"\0", b"\xff\xfe", b"A" * 2000, b"X" * 30, b"PROXY TCP4 1 2 3 4"),
    *(b"Subject: x", b"Content-Type: multipart/mixed; boundary=b", b"--b", b"--b--", b"..", b"Content-Type: (" * 3),
    *(b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1", b"Host: a"),
]
GOOD = b"EHLO a\r\nMAIL FROM:<a@b>\r\nRCPT TO:<orders@shop>\r\nDATA\r\n"


def make_session(dice: random.Random) -> Iterator[bytes]:
    """Yield what one client sends, piece by piece."""
    if dice.random() < 0.5:
        yield GOOD
    for _ in range(dice.randrange(1, 25)):
        line = dice.choice(LINES)
        for _ in range(dice.randrange(3) if dice.random() < 0.3 else 0):
            at = dice.randrange(len(line) + 1)
            line = line[:at] + bytes([dice.randrange(256)]) + line[at + dice.randrange(3) :]
        yield line + dice.choice([b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"", b"\r\n" * 20])
    if dice.random() < 0.5:
        yield b"\r\n.\r\n"
    if dice.random() < 0.05:
        yield b"x" * dice.randrange(300_000) + b"\r\n.\r\n" * dice.randrange(2)


def attack(port: int, dice: random.Random, until: float) -> int:
    """Be one client after the other; return how many mails were accepted."""
    accepted = 0
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            reads = dice.random() < 0.9
            sock.settimeout(1.0)
            try:
                for piece in make_session(dice):
                    sock.sendall(piece)
                if dice.random() < 0.1:
                    sock = trusting().wrap_socket(sock, server_hostname="localhost")
                if reads:
                    # the end comes: by QUIT, by us, or since nothing comes for too long
                    sock.settimeout(dice.choice([0.01, 0.1, 0.5]))
                    while data := sock.recv(65536):
                        accepted += data.count(b"250 2.0.0 stored as ")
            except (OSError, ssl.SSLError):
                pass
    return accepted


def memory_mb() -> float:
    """Resident memory now; where the system does not tell, its peak."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


async def test_a_fuzzer_neither_breaks_nor_fills_the_receiver() -> None:
    print(f"seed {SEED}")
    config = {
        "max_bytes": 200_000,
        "idle_timeout": 0.5,
        "linger": 0.1,
        "max_sessions": 20,
        "tls": load_tls(CERTIFICATE, None),
    }
    accepted: list[int] = []
    async with open_receiver(limit=SECS + 60, **config) as running:

        async def run_client(number: int, until: float) -> None:
            dice = random.Random(SEED + number)
            accepted.append(await client(lambda: attack(running.port, dice, until)))

        async def run_clients(first: int, secs: float) -> None:
            async with trio.open_nursery() as nursery:
                for number in range(first, first + CLIENTS):
                    nursery.start_soon(run_client, number, time.monotonic() + secs)
            await running.until(lambda: running.details["sessions"] == 0)

        await run_clients(0, SECS / 4)
        warm = memory_mb()
        running.post.stored = []
        accepted.clear()
        await run_clients(CLIENTS, SECS * 3 / 4)
        grown = memory_mb() - warm
        print(
            {**running.details, "stored": len(running.post.stored), "told": sum(accepted), "grown_mb": round(grown, 1)}
        )
        # some were told to nobody: the client had hung up
        assert len(running.post.stored) >= sum(accepted)
        assert (running.details["held_bytes"], running.details["faults"]) == (0, 0)
        assert grown < MEMORY_MB
        await client(running.send_one)
