"""Where the CPU time of a case goes: the node's event loop, its worker threads, the database server.

Read from the kernel's accounts, so nothing is slowed down. Waiting costs nothing there: where loop and threads together
come to the wall clock, it is Python's one interpreter that bounds a case.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from picloud.bench.node import BenchNode

_PROCESSES = Path("/proc")


class CpuAccount:
    """Microseconds of CPU since it was opened; nothing where the kernel keeps no accounts of threads (Linux does)."""

    def __init__(self, backend_pid: int) -> None:
        self._backend_pid = backend_pid
        self._opened = self._read()

    @classmethod
    async def open(cls, node: BenchNode) -> CpuAccount:
        """Open the account of this process and of the node's server, if that runs on this machine."""
        async with node.parts.pool.connection() as conn:
            return cls(conn.info.backend_pid)

    def per_message(self, count: int) -> dict[str, float]:
        """Return microseconds of CPU for each of `count` messages: `loop_us`, `threads_us`, `server_us`."""
        used = self._read()
        return {name: (used[name] - self._opened[name]) / count for name in used if name in self._opened}

    def _read(self) -> Mapping[str, float]:
        own = _PROCESSES / "self/task"
        loop = _microseconds(own / str(threading.main_thread().native_id))
        if loop is None:
            return {}
        threads = sum([_microseconds(thread) or 0.0 for thread in own.iterdir()])
        server = _server_microseconds(self._backend_pid)
        return {"loop_us": loop, "threads_us": threads - loop, **({} if server is None else {"server_us": server})}


def _microseconds(task: Path) -> float | None:
    try:
        return int((task / "schedstat").read_text().split()[0]) / 1000
    except OSError:
        return None


def _server_microseconds(backend_pid: int) -> float | None:
    """Return what the processes of a backend's server used, those that have ended, too; None if it runs elsewhere."""
    backend = _Status.of(_PROCESSES / str(backend_pid))
    if backend is None or backend.name != "postgres":
        return None
    server = _Status.of(_PROCESSES / str(backend.parent))
    total = 0.0 if server is None else server.ended_children
    for process in _PROCESSES.iterdir():
        status = _Status.of(process) if process.name.isdecimal() else None
        if status is not None and status.parent == backend.parent:
            total += _microseconds(process) or 0.0
    return total


class _Status(NamedTuple):
    """What the kernel says of a process."""

    name: str
    parent: int
    ended_children: float
    """Microseconds of CPU."""

    @classmethod
    def of(cls, process: Path) -> _Status | None:
        try:
            name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            return None
        fields = rest.split()
        return cls(name, int(fields[1]), (int(fields[13]) + int(fields[14])) * 1e6 / os.sysconf("SC_CLK_TCK"))
