"""What scripts must know and nobody should read: passwords and keys, set with `picloud secrets set`."""

from __future__ import annotations

from picloud.sdk.outside import refuse


def get(name: str) -> str:
    """Return a secret of this app. Raises: SecretError when there is none of that name."""
    refuse("secrets.get")
