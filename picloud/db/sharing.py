"""Who uses the embedded server: file locks, which the kernel drops even when a process is killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class Sharing:
    """The locks of one data folder, as one of its users sees them."""

    def __init__(self, home: Path) -> None:
        self._turn_file = home / "start.lock"
        self._users_file = home / "users.lock"
        self._use: IO[str] | None = None

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until nobody else starts or stops the server, and keep others from it."""
        with _open_private(self._turn_file) as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def using(self) -> Iterator[None]:
        """Count as a user from now on, until `end_use` or the end of the process; not when the block raises.

        Atomic: inside `exclusive`.
        """
        is_new = self._use is None
        if is_new:
            self._use = _open_private(self._users_file)
            fcntl.flock(self._use, fcntl.LOCK_SH)
        try:
            yield
        except BaseException:
            if is_new:
                self.end_use()
            raise

    def end_use(self) -> bool:
        """Stop counting as a user; tell whether nobody else is left. Atomic: inside `exclusive`."""
        if self._use is not None:
            self._use.close()
            self._use = None
        return not self.is_used()

    def is_used(self) -> bool:
        """Tell whether any process counts as a user."""
        if not self._users_file.exists():
            return False
        with self._users_file.open("r") as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False


def _open_private(file: Path) -> IO[str]:
    """Open a lock file that nobody else can lock: that would keep the server from stopping."""
    return open(file, "a", opener=lambda path, flags: os.open(path, flags, 0o600))
