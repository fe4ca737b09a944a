"""A running PostgreSQL server as its postmaster.pid describes it, and whether to believe that file."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What a server wrote into its data folder."""

    pid: int
    started: str
    port: str
    socket_dir: Path
    ready: bool

    @property
    def socket(self) -> Path:
        return self.socket_dir / f".s.PGSQL.{self.port}"


def read_postmaster(data: Path) -> Postmaster | None:
    """Return what postmaster.pid says, None when there is none or it is not whole yet."""
    try:
        # pid, data folder, start time, port, socket folder, listen address, shared memory, state
        lines = [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
        return Postmaster(int(lines[0]), lines[2], lines[3], Path(lines[4]), lines[7:8] == ["ready"])
    except (OSError, ValueError, IndexError):
        return None


def is_alive(postmaster: Postmaster, data: Path) -> bool:
    """Tell whether that process is a server on `data`, neither a zombie nor another one that got its number."""
    command = _command_line(postmaster.pid)
    return bool(command) and "postgres" in Path(command[0]).name and any(_is_same(word, data) for word in command)


def answers(postmaster: Postmaster) -> bool:
    """Tell whether something listens on the server's socket."""
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.connect(str(postmaster.socket))
        return True
    return False


def stop_postmaster(postmaster: Postmaster, data: Path, *, how: signal.Signals, patience: float) -> bool:
    """Signal the server and wait until it is gone; False when it is still there after `patience` seconds."""
    deadline = time.monotonic() + patience
    with contextlib.suppress(ProcessLookupError):
        os.kill(postmaster.pid, how)
    while is_alive(postmaster, data):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def clear_stale(data: Path, socket_dir: Path) -> None:
    """Remove what a killed server left behind.

    PostgreSQL only asks whether the process number exists, so a reused number would keep it from starting for ever.
    """
    for leftover in (data / "postmaster.pid", *socket_dir.glob(".s.PGSQL.*")):
        leftover.unlink(missing_ok=True)


def _command_line(pid: int) -> list[str]:
    """Return a process's arguments; none for a zombie or when there is no such process."""
    if Path("/proc/self/cmdline").exists():
        try:
            return [word.decode(errors="replace") for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
        except OSError:
            return []
    listed = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True)
    return listed.stdout.split()


def _is_same(word: str, data: Path) -> bool:
    try:
        return word.startswith("/") and os.path.samefile(word, data)
    except OSError:
        return False
