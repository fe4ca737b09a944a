"""The form of every name that a user chooses, checked in one place."""

from __future__ import annotations

import re

from picloud.errors import InvalidName

MAX_MAILBOX_CHARS = 64
"""Of what stands before the @, by RFC 5321."""

_APP = re.compile(r"[a-z][a-z0-9-]{0,62}\Z")
_SCRIPT = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
_MAILBOX = re.compile(r"[a-z0-9](?:[._-]?[a-z0-9])*\Z")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


def check_app_name(name: object) -> str:
    """Return `name` if it is an app's slug.

    Raises: InvalidName with the form to use.
    """
    if isinstance(name, str) and _APP.match(name):
        return name
    raise InvalidName(
        f"app: invalid name {_shown(name)} (a lower-case letter, then letters, digits or '-', 63 characters at most)"
    )


def check_script_name(name: object) -> str:
    """Return `name` if it can name a script.

    Raises: InvalidName with the form to use.
    """
    if isinstance(name, str) and _SCRIPT.match(name):
        return name
    raise InvalidName(
        f"script: invalid name {_shown(name)} (a letter, then letters, digits, '_', '.' or '-', 128 characters at most)"
    )


def check_secret_name(name: object) -> str:
    """Return `name` if it can name a secret.

    Raises: InvalidName with the form to use.
    """
    return _check_label(name, "secret: invalid name")


def check_mailbox_name(name: object) -> str:
    """Return `name` if it can stand before the @ of an address.

    Raises: InvalidName with the form to use.
    """
    if isinstance(name, str) and len(name) <= MAX_MAILBOX_CHARS and _MAILBOX.match(name):
        return name
    raise InvalidName(
        f"email: invalid name {_shown(name)} (lower-case letters and digits, with a '.', '_' or '-' between them, "
        f"{MAX_MAILBOX_CHARS} characters at most)"
    )


def check_queue_name(name: object) -> str:
    """Return `name` if it can name a queue.

    Raises: InvalidName with the form to use.
    """
    return _check_label(name, "queue: invalid queue name")


def _check_label(name: object, fault: str) -> str:
    if isinstance(name, str) and _LABEL.match(name):
        return name
    raise InvalidName(
        f"{fault} {_shown(name)} (a letter or digit, then letters, digits, '.', '_' or '-', 128 characters at most)"
    )


def _shown(name: object) -> str:
    text = repr(name) if isinstance(name, str) else f"of type {type(name).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
