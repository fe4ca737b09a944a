"""Connection strings: read, complete with our defaults, show without the password."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from picloud.errors import DatabaseMisconfigured

SYNTAX = (
    "DATABASE_URL is not a PostgreSQL connection string: write postgresql://user:password@host:5432/database, "
    "with @ : / # % inside the password as %40 %3A %2F %23 %25"
)
UNREADABLE = "postgresql://…"
"""Shown for a string that cannot be told apart into password and rest."""

# A host that vanishes without a word must not hold a statement for the kernel's two hours (seconds, then ms).
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000}
_PORTS = re.compile(r"(\d*)(,\d*)*")
_SECRETS = ("password", "sslpassword", "passfile", "oauth_client_secret")


def parse_dsn(dsn: str) -> dict[str, Any]:
    """Return the parameters of a connection string.

    Raises: DatabaseMisconfigured; its text quotes nothing, since a misread password could be in any part.
    """
    try:
        parameters = dict(conninfo_to_dict(dsn))
    except psycopg.Error:
        raise DatabaseMisconfigured(SYNTAX) from None
    misread = any("@" in str(parameters.get(key, "")) for key in ("host", "port", "dbname"))
    if misread or not _PORTS.fullmatch(str(parameters.get("port", ""))):
        raise DatabaseMisconfigured(SYNTAX)
    return parameters


def complete_dsn(dsn: str, *, application_name: str, timeout: float) -> str:
    """Return `dsn` with what it leaves open: keepalives, name and time limit (seconds, at least 2)."""
    defaults = {**_KEEPALIVES, "application_name": application_name, "connect_timeout": max(2, round(timeout))}
    return make_conninfo("", **{**defaults, **parse_dsn(dsn)})


def redact_dsn(dsn: str) -> str:
    """Return `dsn` as a URL without its password, fit for logs and screens."""
    try:
        parameters = parse_dsn(dsn)
    except DatabaseMisconfigured:
        return UNREADABLE
    for secret in _SECRETS:
        parameters.pop(secret, None)
    return _format_url(parameters)


def _format_url(parameters: dict[str, Any]) -> str:
    user, database = (quote(str(parameters.pop(key, "")), safe="") for key in ("user", "dbname"))
    hosts = str(parameters.pop("host", "")).split(",")
    ports = str(parameters.pop("port", "")).split(",")
    if any(host.startswith("/") for host in hosts):
        parameters = {"host": ",".join(hosts), **({"port": ",".join(ports)} if ports != [""] else {}), **parameters}
        hosts = []
    query = urlencode(parameters, safe="/,")
    return f"postgresql://{user}{'@' if user else ''}{_join(hosts, ports)}/{database}{'?' if query else ''}{query}"


def _join(hosts: Iterable[str], ports: list[str]) -> str:
    pairs = [(host, ports[i] if i < len(ports) else ports[0]) for i, host in enumerate(hosts)]
    return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" if port else host for host, port in pairs)
