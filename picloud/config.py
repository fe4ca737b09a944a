"""Settings of one node, read once from the environment and the data folder's picloud.toml; nothing else reads them.

Every field is a setting: `PICLOUD_` + its name in capitals in the environment, its name in `picloud.toml`. The
environment wins over the file, the command line over both.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from picloud.errors import InvalidSetting

PREFIX = "PICLOUD_"
FILE_NAME = "picloud.toml"

_READ_ELSEWHERE = frozenset({"PICLOUD_HOME", "PICLOUD_URL", "PICLOUD_TOKEN"})
"""Variables of ours that are not settings of a node: where the data is, and what the command line talks to."""


class Settings(BaseModel):
    """All settings of a node. Durations are seconds unless the name says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path
    """Data folder: the embedded database, the client's credentials, picloud.toml."""
    database_url: str | None = Field(default=None, repr=False)
    """PostgreSQL to use; None: the embedded one. From DATABASE_URL."""
    listen_database_url: str | None = Field(default=None, repr=False)
    """Direct connection for LISTEN, where DATABASE_URL goes through a transaction-pooling proxy."""
    pg_bin: Path | None = None
    """Folder of other PostgreSQL programs for the embedded server."""

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    """0: any free port."""
    log_format: Literal["auto", "console", "json"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    db_pool_size: int = Field(default=10, ge=2, le=500)
    """Connections of this node, the LISTEN and NOTIFY ones not counted."""
    database_patience: float = Field(default=30.0, ge=0)
    """How long a start waits for a database that cannot be reached yet."""
    db_acquire_timeout: float = Field(default=10.0, gt=0)
    db_prepare: bool = True
    """false: prepare no statement, for a DATABASE_URL that goes through a transaction-pooling proxy."""

    max_executions: int = Field(default=16, ge=1, le=1000)
    """Worker threads that run handlers at once."""
    execution_timeout_secs: float = Field(default=10.0, gt=0, le=3600)
    """Wall clock of one execution."""
    execution_memory_mb: int = Field(default=256, ge=16, le=65536)
    max_payload_bytes: int = Field(default=1024 * 1024, ge=1024, le=64 * 1024 * 1024)
    max_effects: int = Field(default=10_000, ge=1)
    """Effects of one execution."""
    max_trigger_depth: int = Field(default=8, ge=1, le=100)
    """How deep `invoke` and triggers may cause each other."""

    record_buffer_mb: int = Field(default=32, ge=1, le=4096)
    """What may wait to be recorded of executions, in MiB; beyond it log lines are dropped first, then executions."""

    outbox_concurrency: int = Field(default=8, ge=1, le=64)
    """How many slow handlers of events and of `invoke_async` run at once."""
    queue_reclaim_interval_ms: int = Field(default=30_000, ge=100)
    """How often expired leases are looked for."""
    wake_by: Literal["listen", "poll"] = "listen"
    """poll: no LISTEN and no NOTIFY; other nodes' messages and changes are found by polling alone."""
    queue_poll_interval: float = Field(default=2.0, gt=0)
    """How often queues with due messages are looked for; notifications come sooner."""
    slice_secs: float = Field(default=0.05, gt=0, le=10)
    """How long one queue may hold a worker thread before it goes to the back of the line."""
    roster_poll_interval: float = Field(default=0.8, gt=0)
    """How often triggers are compared with the running consumers; notifications come sooner."""

    janitor_interval_secs: float = Field(default=60.0, ge=1)
    """How often what is past its retention is looked for, on one node of all."""
    retain_executions_days: int = Field(default=14, ge=0, le=3650)
    """How many days of executions and their logs are kept besides today's."""
    retain_dead_letters_days: float = Field(default=30.0, gt=0, le=3650)
    """How long resolved dead letters are kept; open ones stay, but for those of queues with a retention."""
    retain_script_versions: int = Field(default=100, ge=1, le=1_000_000)
    """Versions of each script to go back to, the current one included."""
    pin_warning_secs: float = Field(default=300.0, gt=0)
    """After how long a transaction that keeps the database from clearing dead rows is warned of."""
    smtp_port: int | None = Field(default=None, ge=0, le=65535)
    """Where mails for email triggers are received; not set: nowhere."""
    smtp_host: str = "127.0.0.1"
    smtp_domain: str | None = Field(default=None, pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")
    """Whose `name@app.DOMAIN` are ours, besides `name@app`."""
    smtp_max_bytes: int = Field(default=10 * 1024 * 1024, ge=1024, le=64 * 1024 * 1024)
    """One mail as it is sent; what of it does not fit into `max_payload_bytes` is left out of its event."""
    smtp_tls_cert: Path | None = None
    """PEM file; with it STARTTLS is offered."""
    smtp_tls_key: Path | None = None

    hang_timeout_secs: float = Field(default=30.0, ge=0)
    """After how long an event loop that does not turn ends the process, to be started again; 0: never."""
    drain_secs: float = Field(default=20.0, ge=0)
    """How long running handlers may finish at shutdown."""
    send_timeout: float = Field(default=30.0, gt=0)
    """How long one piece of a response may wait for a client that does not read."""


def default_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the data folder: PICLOUD_HOME, else /var/lib/picloud for root, else $XDG_DATA_HOME/picloud."""
    if home := environ.get("PICLOUD_HOME"):
        return Path(home).expanduser().absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/picloud")
    data = environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "picloud"


def load_settings(environ: Mapping[str, str] = os.environ, **overrides: Any) -> Settings:
    """Return the settings; an override of None counts as not given.

    Raises: InvalidSetting that names the setting, its source and what to write.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    home = Path(given.pop("home", None) or default_home(environ)).expanduser().absolute()
    values: dict[str, Any] = {**_from_file(home / FILE_NAME), **_from_environment(environ), **given}
    try:
        return Settings(home=home, **values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise InvalidSetting(
            f"setting {name} ({PREFIX}{name.upper()}): {first['msg']}, got {first['input']!r}"
        ) from None


def suggest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the known name closest to `name`, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    known = {PREFIX + name.upper(): name for name in Settings.model_fields if name not in {"home", "database_url"}}
    values: dict[str, str] = {}
    for variable, value in environ.items():
        if variable in known:
            values[known[variable]] = value
        elif variable.startswith(PREFIX) and variable not in _READ_ELSEWHERE:
            hint = suggest(variable, [*known, *_READ_ELSEWHERE])
            raise InvalidSetting(f"unknown setting {variable} in the environment{hint}")
    if environ.get("DATABASE_URL"):
        values["database_url"] = environ["DATABASE_URL"]
    return values


def _from_file(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except PermissionError as error:
        raise InvalidSetting(f"{path}: cannot be read: it belongs to another user ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path}: {error}") from error
    known = [name for name in Settings.model_fields if name != "home"]
    for name in values:
        if name not in known:
            raise InvalidSetting(f"{path}: unknown setting '{name}'{suggest(name, known)}")
    return values
