"""A real `picloud up` in a process group of its own, and a client for it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]
PICLOUD = (sys.executable, "-m", "picloud")
START_LIMIT = 60.0
HANG_LIMIT = 60.0


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what would change a node's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PICLOUD_") and k != "DATABASE_URL"}
    return {**kept, "PYTHONUNBUFFERED": "1", "COLUMNS": "100", **more}


def run_cli(
    *args: str, home: Path | None = None, env: Mapping[str, str] | None = None, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one command of the command line to its end."""
    where = () if home is None else ("--data-dir", str(home))
    return subprocess.run(
        [*PICLOUD, *args, *where],
        capture_output=True,
        text=True,
        env=clean_environment(**(env or {})),
        input=stdin,
        timeout=HANG_LIMIT,
        check=False,
    )


class NodeProcess:
    """One node; `with` waits until it is ready and ends it."""

    def __init__(
        self,
        home: Path,
        *args: str,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = PICLOUD,
    ) -> None:
        self.home = home
        self._program = program
        self._args = args
        self._env = clean_environment(**(env or {}))
        self.process: subprocess.Popen[str] | None = None
        self.log = home.parent / f"{home.name}.log"
        self.started_in = 0.0
        self._announced_before = 0

    def start(self) -> NodeProcess:
        began = time.monotonic()
        self._announced_before = self._announced_at()
        with self.log.open("a") as out:
            self.process = subprocess.Popen(
                [*self._program, "up", *self._args, "--port", "0", "--data-dir", str(self.home)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self._env,
                start_new_session=True,
            )
        wait_until(self._is_ready, START_LIMIT, self._why_not)
        self.started_in = time.monotonic() - began
        return self

    def stop(self, sig: int = signal.SIGTERM) -> int:
        """End the node orderly and return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(timeout=HANG_LIMIT)

    def kill_group(self) -> None:
        """kill -9 for the node's whole process group."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=HANG_LIMIT)

    def postmaster_pid(self) -> int:
        return int((self.home / "pg" / "postmaster.pid").read_text().splitlines()[0])

    @property
    def credentials(self) -> dict[str, str]:
        loaded: dict[str, str] = json.loads((self.home / "client.json").read_text())
        return loaded

    def client(self) -> httpx.Client:
        credentials = self.credentials
        return httpx.Client(
            base_url=credentials["url"], headers={"Authorization": f"Bearer {credentials['token']}"}, timeout=30.0
        )

    def get(self, path: str, **params: Any) -> Any:
        with self.client() as client:
            response = client.get(f"/api/v1{path}", params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def queues(self, app: str) -> dict[str, dict[str, Any]]:
        """Counts by queue name."""
        return {queue["name"]: queue for queue in self.get(f"/apps/{app}/queues", limit=1000)["items"]}

    def messages(self, app: str, queue: str) -> Iterator[dict[str, Any]]:
        """All messages of a queue, peeked at page by page."""
        cursor = None
        while True:
            params = {"limit": 1000} | ({"cursor": cursor} if cursor else {})
            page = self.get(f"/apps/{app}/queues/{queue}/messages", **params)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def __enter__(self) -> NodeProcess:
        try:
            return self.start()
        except BaseException:
            self.kill_group()
            raise

    def __exit__(self, *exc: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop()

    def _is_ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the node ended with {self.process.returncode}:\n{self._why_not()}")
        if self._announced_at() == self._announced_before:
            return False
        try:
            url = self.credentials["url"]
            return httpx.get(f"{url}/readyz", timeout=5.0).status_code == 200
        except (FileNotFoundError, KeyError, httpx.TransportError, json.JSONDecodeError):
            return False

    def _announced_at(self) -> int:
        """When client.json was last written: a node writes it once it is ready."""
        try:
            return (self.home / "client.json").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def _why_not(self) -> str:
        return self.log.read_text()[-4000:] if self.log.exists() else "(no log)"


def wait_until(
    condition: Callable[[], object], limit: float, why_not: Callable[[], object] = lambda: "it never came true"
) -> None:
    """Poll until `condition` holds. The limit only catches hangs."""
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"after {limit} s: {why_not()}")
        time.sleep(0.02)
