"""What a handler imports: `from picloud.sdk import queue, invoke, retry, log, Response`.

In a running handler these names are bound to its own execution, and are plain globals too. This package is the same
interface as ordinary Python, for editors, type checkers and tests: `retry.policy`, `retry.on_codes`, `Response` and the
types of events work anywhere, the rest raises `OutsideHandler` where no handler runs.
"""

from __future__ import annotations

from typing import Final

from picloud.sdk import http, kv, log, queue, retry, secrets
from picloud.sdk.calling import invoke, invoke_async
from picloud.sdk.mail import EmailEvent
from picloud.sdk.response import Response

SDK_VERSION: Final = "1.10"
"""Raised when the handler contract grows."""

__all__ = [
    "SDK_VERSION",
    "EmailEvent",
    "Response",
    "http",
    "invoke",
    "invoke_async",
    "kv",
    "log",
    "queue",
    "retry",
    "secrets",
]
