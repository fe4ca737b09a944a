"""Whatever signal ends a command: the PostgreSQL it started is gone, and so is its folder."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from node_process import HANG_LIMIT, PICLOUD, START_LIMIT, clean_environment, wait_until

BENCH = ("bench", "queue", "--case", "drain-noop", "--messages", "10", "--runs", "100")


def list_processes(of: str) -> set[int]:
    """The processes that live, zombies left out, whose parent or own number is `of`."""
    shown = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    return {int(pid) for pid, parent, state in rows if of in (pid, parent) and not state.startswith("Z")}


class Watched:
    """A command with a folder of its own for what is temporary."""

    def __init__(self, folder: Path, *args: str) -> None:
        self.temporary = folder / "tmp"
        self.temporary.mkdir(mode=0o711)
        self.said = folder / "said.txt"
        with self.said.open("w") as out:
            self.process = subprocess.Popen(
                [*PICLOUD, *args],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=clean_environment(TMPDIR=str(self.temporary)),
                start_new_session=True,
            )

    def find_postmaster(self) -> str:
        """The number of the server's first process, '' while there is none."""
        with contextlib.suppress(OSError, IndexError):
            for file in self.temporary.glob("*/pg/postmaster.pid"):
                return file.read_text().splitlines()[0]
        return ""

    def has_begun(self) -> bool:
        """Whether initdb made the first files: the server does not run yet."""
        assert self.process.poll() is None, self.said.read_text()
        return any(self.temporary.glob("*/pg/PG_VERSION"))

    def is_measuring(self) -> bool:
        """Whether the first run is over."""
        assert self.process.poll() is None, self.said.read_text()
        return "drain-noop: " in self.said.read_text()

    def end(self, number: int) -> int:
        """Send the signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=HANG_LIMIT)


@pytest.mark.parametrize(
    ("number", "code", "when"),
    [
        (signal.SIGTERM, 143, Watched.is_measuring),
        (signal.SIGHUP, 129, Watched.has_begun),
    ],
)
def test_bench_that_a_signal_ends_leaves_no_server_and_no_folder(
    reachable_dir: Path, number: int, code: int, when: Callable[[Watched], bool]
) -> None:
    bench = Watched(reachable_dir, *BENCH)
    try:
        wait_until(lambda: when(bench), START_LIMIT, lambda: bench.said.read_text())
        postmaster = bench.find_postmaster()
        servers = list_processes(postmaster) if postmaster else set()
        assert len(servers) > 1 or when is Watched.has_begun
        ended = bench.end(number)
        left = [pid for pid in servers if pid in list_processes(str(pid))]
        said = bench.said.read_text()
        assert (ended, left, list(bench.temporary.iterdir()), "Traceback" in said) == (code, [], [], False), said
        working_there = [line for line in _command_lines() if str(bench.temporary) in line]
        assert working_there == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(bench.process.pid, signal.SIGKILL)
        if left_over := bench.find_postmaster():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(left_over), signal.SIGQUIT)
        bench.process.wait(timeout=HANG_LIMIT)


def _command_lines() -> list[str]:
    return subprocess.run(["ps", "-ewwo", "args="], capture_output=True, text=True, check=True).stdout.splitlines()
