"""The embedded PostgreSQL: a server of our own in the data folder, shared by the processes that use it.

Layout: `pg/` the cluster (with `server.log`), `run/` its socket, `password` of its superuser, `start.lock` held while
somebody starts or stops it, `users.lock` held shared by each process that uses it (the kernel lets go of it even on
kill -9), `kept` marks a server that was started to stay, `pgsql/` a copy of the programs where the server's user cannot
reach ours.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote

from picloud.db.binaries import Binaries, find_binaries, reachable_binaries
from picloud.db.cluster import DATABASE, SUPERUSER, create_cluster, give_to
from picloud.db.postmaster import (
    POLL_SECONDS,
    Postmaster,
    answers,
    clear_stale,
    is_alive,
    read_postmaster,
    stop_postmaster,
)
from picloud.db.server_user import can_reach, choose_server_user
from picloud.db.sharing import Sharing
from picloud.errors import EmbeddedPostgresError
from picloud.signals import held_back

DEFAULT_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",  # the socket in a private folder is the only way in
    "port": "5432",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",  # a busy queue writes much WAL: checkpoints by time, not by size
    "min_wal_size": "256MB",  # segments are reused instead of made anew
    "autovacuum_naptime": "10s",  # a queue table turns over within seconds
    "random_page_cost": "1.1",
    "jit": "off",  # for long analytic queries; ours are short
    "log_min_messages": "log",  # a failed statement is reported to who sent it
    "log_checkpoints": "off",
}
"""Durability settings are left at PostgreSQL's safe defaults."""

MAX_SOCKET_PATH_BYTES = 100
"""The system's limit is 107 on Linux and 103 on macOS."""

START_SECONDS = 300
"""Replaying the log after a crash may take this long."""

STOP_SECONDS = 60.0
"""A fast shutdown includes a checkpoint; after this the server is stopped without one, which is as safe as a crash."""

SETTLE_SECONDS = 60.0
"""How long another's start or stop of the same server is waited for."""

_WRONG_VERSION = re.compile(r"initialized by PostgreSQL version (\d+).*?compatible with this version (\d+)")

LOG_BYTES = 5_000_000
"""A longer server.log is moved aside at the next start."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The embedded server at one moment."""

    state: Literal["running", "starting", "stopped", "absent"]
    """starting: also while it stops or recovers. absent: there is no cluster yet."""
    pid: int | None
    version: str | None
    """Major version of the cluster."""
    data_dir: Path
    socket_dir: Path
    dsn: str | None
    """Without the password; None unless running."""
    kept: bool
    """Started to stay, by `picloud db start`."""
    in_use: bool
    """Some process of picloud uses it."""


class EmbeddedPostgres:
    """A PostgreSQL server in `home`, on a Unix socket, with a generated password.

    All methods block. `settings` are server settings on top of DEFAULT_SETTINGS; `binaries` is the folder to take the
    programs from (None: see find_binaries).
    Raises: EmbeddedPostgresError from every method, with what to do about it.
    """

    def __init__(self, home: Path, *, settings: Mapping[str, str] | None = None, binaries: Path | None = None) -> None:
        self.home = home.resolve()
        self.data = self.home / "pg"
        self._password_file = self.home / "password"
        self._kept_file = self.home / "kept"
        self._settings = {**DEFAULT_SETTINGS, **(settings or {})}
        self._chosen_binaries = binaries
        self._sharing = Sharing(self.home)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            # a signal that waited for the start, or a server that does not get ready
            with contextlib.suppress(EmbeddedPostgresError):
                self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def socket_dir(self) -> Path:
        """Where a server that is started now puts its socket."""
        inside = self.home / "run"
        if len(os.fsencode(inside / f".s.PGSQL.{self._settings['port']}.lock")) <= MAX_SOCKET_PATH_BYTES:
            return inside
        key = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:8]
        return Path(tempfile.gettempdir()) / f"picloud-{os.geteuid()}-{key}"

    @property
    def dsn(self) -> str:
        """How to connect, password included."""
        try:
            password = self._password_file.read_text().strip()
        except OSError as error:
            raise EmbeddedPostgresError(
                f"cannot read the server's password from {self._password_file} ({error.strerror}): restore that file"
            ) from error
        return self._dsn(f"{SUPERUSER}:{quote(password, safe='')}")

    def start(self, *, keep: bool = False) -> str:
        """Join the server of this data folder, starting it or making it first; return how to connect.

        Also revives a server that died. With `keep` the server outlives this process and every later user.
        """
        with held_back(), self._exclusive(), self._sharing.using():
            postmaster = self._find_server()
            if postmaster is None:
                postmaster = self._start_server()
            if keep:
                self._kept_file.write_text(_incarnation(postmaster))
        return self.dsn

    def stop(self, *, force: bool = False) -> bool:
        """End our use of the server and stop it when it was the last one; False when it goes on running.

        `force` stops it even when it was started to stay.
        """
        with held_back(), self._exclusive():
            alone = self._sharing.end_use()
            if not alone or (self._is_kept() and not force):
                return False
            self._stop_server()
            return True

    def shut_down(self, *, force: bool = False) -> bool:
        """Stop the server, also one started to stay; False when other processes use it and `force` is not given."""
        if not self.data.exists():
            return True
        with held_back(), self._exclusive():
            alone = self._sharing.end_use()
            if not alone and not force:
                return False
            self._stop_server()
            return True

    def status(self) -> ServerStatus:
        """Look at the server without changing anything."""
        postmaster = read_postmaster(self.data)
        running = postmaster is not None and answers(postmaster)
        return ServerStatus(
            state=self._state(postmaster, running),
            pid=postmaster.pid if postmaster and running else None,
            version=_read_text(self.data / "PG_VERSION"),
            data_dir=self.data,
            socket_dir=postmaster.socket_dir if postmaster and running else self.socket_dir,
            dsn=self._dsn(SUPERUSER) if running else None,
            kept=running and self._is_kept(),
            in_use=self._sharing.is_used(),
        )

    def psql(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Return the command line and environment of a psql session, for os.execvpe."""
        beside = find_binaries(self._chosen_binaries) / "psql"
        psql = str(beside) if os.access(beside, os.X_OK) else shutil.which("psql")
        if psql is None:
            raise EmbeddedPostgresError("no psql found: install your system's PostgreSQL client")
        password = self._password_file.read_text().strip() if self._password_file.exists() else ""
        return [psql, self._dsn(SUPERUSER), *arguments], {**os.environ, "PGPASSWORD": password}

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the data folder's lock; turn failures of the file system into advice."""
        try:
            self._prepare_home()
            with self._sharing.exclusive():
                yield
        except OSError as error:
            raise EmbeddedPostgresError(_explain(error, self.home)) from error

    def _prepare_home(self) -> None:
        """Make the data folder, passable for the server's user and readable for nobody else."""
        as_root = os.geteuid() == 0
        self.home.mkdir(parents=True, exist_ok=True, mode=0o711 if as_root else 0o700)
        user = choose_server_user(self.home, self.data)
        if user is None:
            return
        if not can_reach(self.home, user):
            self.home.chmod(self.home.stat().st_mode | 0o011)
        if not can_reach(self.home.parent, user):
            raise EmbeddedPostgresError(
                f"PostgreSQL does not run as root, and user '{user.name}', which it runs as instead, cannot reach "
                f"{self.home}: choose another data folder, for instance --data-dir /var/lib/picloud"
            )

    def _find_server(self) -> Postmaster | None:
        """Return the running server, waiting while it starts or stops; clear up after one that was killed."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while postmaster := read_postmaster(self.data):
            answering = answers(postmaster)
            if answering and postmaster.ready:
                return postmaster
            # one that answers may live in another container, where its process number means nothing to us
            if not answering and not is_alive(postmaster, self.data):
                break
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"PostgreSQL (process {postmaster.pid}) neither serves nor ends; its log says:\n{self._log_tail()}"
                )
            time.sleep(POLL_SECONDS)
        clear_stale(self.data, self.socket_dir)
        return None

    def _start_server(self) -> Postmaster:
        user = choose_server_user(self.home, self.data)
        binaries = reachable_binaries(find_binaries(self._chosen_binaries), user, self.home / "pgsql")
        if not (self.data / "PG_VERSION").exists():
            create_cluster(binaries, self.data, self._password_file)
        self._make_private(self.socket_dir, binaries)
        self._turn_log_over()
        deadline = time.monotonic() + SETTLE_SECONDS
        while not self._try_start(binaries):
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError("processes of a PostgreSQL that was killed still hold the data folder")
            time.sleep(0.1)
        postmaster = read_postmaster(self.data)
        if postmaster is None:
            raise EmbeddedPostgresError(f"PostgreSQL ended right after its start; its log says:\n{self._log_tail()}")
        return postmaster

    def _try_start(self, binaries: Binaries) -> bool:
        """Start the server and wait until it serves; False while children of a killed one have not noticed yet."""
        settings = {**self._settings, "unix_socket_directories": str(self.socket_dir)}
        options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        log_size = self._log.stat().st_size if self._log.exists() else 0
        where = ("-D", str(self.data), "-l", str(self._log))
        ran = binaries.run("pg_ctl", *where, "-w", "-t", str(START_SECONDS), "-o", options, "start")
        if ran.returncode == 0:
            return True
        said = self._log_tail(since=log_size) or ran.output
        if "pre-existing shared memory block" in said:
            return False
        raise EmbeddedPostgresError(_explain_failed_start(said, self.data, binaries.folder))

    def _stop_server(self) -> None:
        postmaster = read_postmaster(self.data)
        if postmaster is not None and is_alive(postmaster, self.data):
            patiently = stop_postmaster(postmaster, self.data, how=signal.SIGINT, patience=STOP_SECONDS)
            if not patiently and not stop_postmaster(postmaster, self.data, how=signal.SIGQUIT, patience=STOP_SECONDS):
                raise EmbeddedPostgresError(f"PostgreSQL (process {postmaster.pid}) does not end; see {self._log}")
        self._kept_file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.socket_dir.rmdir()

    def _make_private(self, folder: Path, binaries: Binaries) -> None:
        """Make the socket's folder; refuse one that somebody else put there to pose as our server."""
        expected = binaries.user.uid if binaries.user else os.geteuid()
        if not folder.exists():
            folder.mkdir(mode=0o700)
            give_to(binaries.user, folder)
        status = folder.lstat()
        if status.st_uid != expected or status.st_mode & 0o077:
            raise EmbeddedPostgresError(
                f"{folder}, where PostgreSQL puts its socket, is not private: remove that folder"
            )

    @property
    def _log(self) -> Path:
        return self.data / "server.log"

    def _turn_log_over(self) -> None:
        if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
            self._log.rename(self._log.with_suffix(".log.1"))

    def _log_tail(self, *, since: int = 0) -> str:
        """Return the last lines of the server's log that were written after byte `since`."""
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(since)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-15:])
        return ""

    def _dsn(self, credentials: str) -> str:
        postmaster = read_postmaster(self.data)
        folder, port = (
            (postmaster.socket_dir, postmaster.port) if postmaster else (self.socket_dir, self._settings["port"])
        )
        return f"postgresql://{credentials}@/{DATABASE}?host={quote(str(folder))}&port={port}"

    def _is_kept(self) -> bool:
        postmaster = read_postmaster(self.data)
        return postmaster is not None and _read_text(self._kept_file) == _incarnation(postmaster)

    def _state(
        self, postmaster: Postmaster | None, running: bool
    ) -> Literal["running", "starting", "stopped", "absent"]:
        if postmaster and running:
            return "running" if postmaster.ready else "starting"
        if postmaster and is_alive(postmaster, self.data):
            return "starting"
        return "stopped" if (self.data / "PG_VERSION").exists() else "absent"


def _incarnation(postmaster: Postmaster) -> str:
    """Name one run of the server: after a reboot the mark of an earlier one means nothing."""
    return f"{postmaster.pid} {postmaster.started}"


def _read_text(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None


def _explain(error: OSError, home: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space left for the data folder {home}: free some, or choose another with --data-dir"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"the data folder {home} cannot be written ({error.strerror}: {error.filename}): "
            "correct its owner, or choose another with --data-dir or PICLOUD_HOME"
        )
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        return f"the data folder {home} is not a folder: choose another with --data-dir or PICLOUD_HOME"
    return f"the data folder {home} cannot be used: {error}"


def _explain_failed_start(said: str, data: Path, binaries: Path) -> str:
    if versions := _WRONG_VERSION.search(said):
        return (
            f"{data} was made by PostgreSQL {versions[1]} and {binaries} is version {versions[2]}: set PICLOUD_PG_BIN "
            f"to the folder of version {versions[1]}, or move the data with pg_dump or pg_upgrade"
        )
    if "No space left on device" in said:
        return f"PostgreSQL cannot start: no space left for {data}; its log says:\n{said}"
    return f"PostgreSQL cannot start on {data}; its log says:\n{said}"
