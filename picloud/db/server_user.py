"""Who runs the embedded server: ourselves, or, since PostgreSQL refuses root, a system user that root chooses."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from picloud.errors import EmbeddedPostgresError

SYSTEM_USERS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class ServerUser:
    """A user that root starts the server as."""

    name: str
    uid: int
    gid: int


def choose_server_user(home: Path, data: Path) -> ServerUser | None:
    """Return the user for a server on `data`, None for ourselves.

    Raises: EmbeddedPostgresError when a folder belongs to somebody else.
    """
    if os.geteuid() != 0:
        _refuse_foreign(home, allowed=(os.geteuid(), 0))  # Kubernetes mounts volumes owned by root, writable by a group
        _refuse_foreign(data, allowed=(os.geteuid(),))
        return None
    users = _system_users()
    _refuse_foreign(home, allowed=(0, *(user.uid for user in users)))
    _refuse_foreign(data, allowed=tuple(user.uid for user in users))
    owner = data.stat().st_uid if data.exists() else users[0].uid
    return next(user for user in users if user.uid == owner)


def can_reach(path: Path, user: ServerUser) -> bool:
    """Tell whether `user` may pass through `path` and all folders above it."""
    return all(_may_pass(folder.stat(), user) for folder in (path, *path.parents))


def name_of(uid: int) -> str:
    """Return the name of a user, or its number where it has no name."""
    try:
        return f"user '{pwd.getpwuid(uid).pw_name}'"
    except KeyError:
        return f"user id {uid}"


def _system_users() -> list[ServerUser]:
    entries = {entry.pw_name: entry for entry in pwd.getpwall()}
    users = [ServerUser(name, entries[name].pw_uid, entries[name].pw_gid) for name in SYSTEM_USERS if name in entries]
    if not users:
        raise EmbeddedPostgresError(
            "PostgreSQL does not run as root and there is neither a user 'postgres' nor 'nobody': "
            "run picloud as an ordinary user, or set DATABASE_URL"
        )
    return users


def _refuse_foreign(folder: Path, *, allowed: tuple[int, ...]) -> None:
    if not folder.exists():
        return
    owner = folder.stat().st_uid
    if owner not in allowed:
        raise EmbeddedPostgresError(
            f"the data folder {folder} belongs to {name_of(owner)}, and picloud runs as {name_of(os.geteuid())}: "
            f"run picloud as {name_of(owner)}, or choose another folder with --data-dir or PICLOUD_HOME"
        )


def _may_pass(status: os.stat_result, user: ServerUser) -> bool:
    if status.st_uid == user.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == user.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
