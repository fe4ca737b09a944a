"""`client.json` in the data folder: where the node of this machine is, and the token for it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from picloud.errors import InvalidSetting, NodeUnreachable, Unauthorized

FILE_NAME = "client.json"
HOW_TO_GET_A_TOKEN = (
    "a token comes from `picloud token create NAME` on the machine of the node; give it with --token or PICLOUD_TOKEN"
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where to reach a node, and as whom."""

    url: str
    token: str | None


def save_credentials(home: Path, *, url: str, token: str | None) -> Path:
    """Write the file; the token it had stays where none is given.

    Atomic: a reader sees the old file or the new one. Only the owner can read it.
    Raises: OSError.
    """
    home.mkdir(parents=True, exist_ok=True)
    path = home / FILE_NAME
    if token is None:
        with contextlib.suppress(InvalidSetting):
            token = (read_credentials(home) or Credentials(url, None)).token
    # mkstemp makes the file with mode 0600
    descriptor, temporary = tempfile.mkstemp(prefix=".client-", suffix=".json", dir=home)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(Credentials(url, token)), file)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def read_credentials(home: Path) -> Credentials | None:
    """Return what the file holds, None without one.

    Raises: InvalidSetting for a file that cannot be read or understood.
    """
    path = home / FILE_NAME
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
        return Credentials(_text(values["url"]), None if values.get("token") is None else _text(values["token"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read: {error.strerror}: give --url and --token") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidSetting(f"{path} is damaged: delete it and start `picloud up` again") from error


def find_credentials(home: Path, *, url: str | None = None, token: str | None = None) -> Credentials:
    """Return what was given, completed from the file; its token goes to no other node than the file's.

    Raises: NodeUnreachable without any address, Unauthorized without a token, InvalidSetting for a bad one.
    """
    stored = read_credentials(home) if url is None or token is None else None
    if url is None:
        if stored is None:
            raise NodeUnreachable(f"no node is known in {home}: start one with `picloud up`, or give --url and --token")
        url = stored.url
    url = _check_url(url)
    if token is None and stored is not None and stored.url.rstrip("/") == url:
        token = stored.token
    if token is None:
        raise Unauthorized(f"no token for {url}: {HOW_TO_GET_A_TOKEN}")
    return Credentials(url, _check_token(token))


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidSetting(f"--url: cannot use {url!r}: write it like http://127.0.0.1:8080")
    return url.strip().rstrip("/")


def _check_token(token: str) -> str:
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise InvalidSetting("--token: not a token: it looks like pc_ and 43 letters, digits, '-' and '_'")
    return token


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value
