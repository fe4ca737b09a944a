"""Make a new PostgreSQL cluster: whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from picloud.db.binaries import Binaries, Ran
from picloud.db.server_user import ServerUser
from picloud.errors import EmbeddedPostgresError

SUPERUSER = "picloud"
DATABASE = "picloud"


def create_cluster(binaries: Binaries, data: Path, password_file: Path) -> None:
    """Run initdb, create the database, and put both folder and password in place.

    Atomic: everything happens in a folder beside `data` that is renamed last; initdb itself syncs it to disk.
    Raises: EmbeddedPostgresError.
    """
    unfinished = data.with_name(f"{data.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    new_password = _write_password(password_file.with_name(f"{password_file.name}.new"))
    for path in (unfinished, new_password):
        give_to(binaries.user, path)
    initdb = ("-D", str(unfinished), "-U", SUPERUSER, "--pwfile", str(new_password), "--auth=scram-sha-256")
    _check("initdb", binaries.run("initdb", *initdb, "--encoding=UTF8", "--locale=C", "--no-instructions"))
    _create_database(binaries, unfinished)
    if binaries.user:
        os.chown(new_password, os.geteuid(), -1)
    new_password.rename(password_file)
    unfinished.rename(data)


def give_to(user: ServerUser | None, path: Path) -> None:
    """Make the server's user the owner of `path`."""
    if user:
        os.chown(path, user.uid, user.gid)


def _create_database(binaries: Binaries, data: Path) -> None:
    """Create the database in single-user mode: before the cluster is in place, so that it never lacks it."""
    command = f"create database {DATABASE};\n".encode()
    single = ("--single", "-D", str(data), "-c", "exit_on_error=on", "-c", "log_checkpoints=off", "postgres")
    _check("create database", binaries.run("postgres", *single, stdin=command))


def _write_password(file: Path) -> Path:
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(secrets.token_urlsafe(24))
    return file


def _check(step: str, ran: Ran) -> None:
    if ran.returncode:
        raise EmbeddedPostgresError(f"{step} failed ({ran.returncode}):\n{ran.output[-2000:].strip()}")
