"""The answer of the SDK where no handler runs."""

from __future__ import annotations

from typing import NoReturn

from picloud.errors import OutsideHandler


def refuse(name: str) -> NoReturn:
    """Raise OutsideHandler for the SDK function `name`."""
    raise OutsideHandler(f"{name} works only inside a handler; use picloud.testing to run one in a test")
