"""Try something again, within this execution.

POLICY = retry.policy(max_attempts=4, base_ms=200)
price = retry.run(POLICY, lambda: invoke("price", {"sku": sku}))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar, cast

from picloud.backoff import SHAPES
from picloud.errors import RetryError
from picloud.sdk.outside import refuse
from picloud.types import BackoffShape

T = TypeVar("T")

MAX_CODES = 100
MAX_CODE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Policy:
    """How often, and how long to wait in between; made by `policy`, never changed."""

    max_attempts: int
    backoff: BackoffShape
    base_ms: int
    jitter_pct: int
    on_codes: tuple[str, ...]

    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset(
        {"max_attempts", "backoff", "base_ms", "jitter_pct", "on_codes"}
    )


def policy(
    max_attempts: int = 3,
    backoff: str = "exponential",
    base_ms: int = 100,
    jitter_pct: int = 10,
    on_codes: Collection[str] = (),
) -> Policy:
    """Return a policy; numbers out of range are moved into it.

    Units: `max_attempts` 1 to 20, `base_ms` 1 to 60000, `jitter_pct` 0 to 100.
    Raises: RetryError for an unknown `backoff` (exponential, linear, constant) or a value of the wrong type.
    """
    return Policy(
        _clamp("max_attempts", max_attempts, 1, 20),
        _check_shape(backoff),
        _clamp("base_ms", base_ms, 1, 60_000),
        _clamp("jitter_pct", jitter_pct, 0, 100),
        _check_codes(on_codes),
    )


def on_codes(policy: Policy, codes: Collection[str]) -> Policy:
    """Return a copy of `policy` that retries only errors whose text contains one of `codes`.

    The text is the error's type and message, as in `ValueError: no such order`. No codes: every error.
    """
    return replace(check_policy(policy, "on_codes"), on_codes=_check_codes(codes))


def run(policy: Policy, fn: Callable[[], T]) -> T:
    """Call `fn` until it succeeds; return its value, or raise its last error after the last attempt.

    Atomic: an attempt that raises takes its own effects back.
    Raises: RetryError, from the last error, when the deadline comes before the next attempt could start.
    """
    refuse("retry.run")


def check_policy(value: object, function: str) -> Policy:
    """Return `value` if it is a policy.

    Raises: RetryError that says where policies come from.
    """
    if isinstance(value, Policy):
        return value
    raise RetryError(f"retry: {function} needs a policy from retry.policy(...), not {type(value).__name__}")


def _clamp(name: str, value: object, low: int, high: int) -> int:
    if type(value) is int:
        return max(low, min(value, high))
    if type(value) is float and math.isfinite(value):
        return max(low, min(int(value), high))
    raise RetryError(f"retry: {name} must be a number, not {type(value).__name__}")


def _check_shape(backoff: object) -> BackoffShape:
    if type(backoff) is str:
        if backoff in SHAPES:
            return cast("BackoffShape", backoff)
        shown = backoff if len(backoff) <= 60 else backoff[:57] + "..."
        raise RetryError(f"retry: unknown backoff '{shown}' (use exponential, linear or constant)")
    raise RetryError(f"retry: unknown backoff of type {type(backoff).__name__} (use exponential, linear or constant)")


def _check_codes(codes: object) -> tuple[str, ...]:
    if not isinstance(codes, list | tuple | set | frozenset):
        raise RetryError(f"retry: on_codes must be a list of texts, not {type(codes).__name__}")
    if len(codes) > MAX_CODES:
        raise RetryError(f"retry: on_codes has more than {MAX_CODES} codes")
    for code in codes:
        if type(code) is not str or not 0 < len(code) <= MAX_CODE_CHARS:
            raise RetryError(f"retry: each of on_codes must be text of 1 to {MAX_CODE_CHARS} characters")
    return tuple(codes)
