"""How long is waited before the next attempt: at any attempt, of any shape, at most an hour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picloud.backoff import MAX_BACKOFF_MS, SHAPES, compute_backoff
from picloud.types import BackoffShape

shapes = st.sampled_from(SHAPES)


# Known failure 28: a power of two that outgrew its type, and a message that was due at no time.
@given(attempt=st.integers(-5, 2**70), shape=shapes, base_ms=st.integers(0, 2**40), jitter=st.integers(-10, 200))
def test_no_attempt_is_too_high_for_a_wait_of_an_hour_at_most(
    attempt: int, shape: BackoffShape, base_ms: int, jitter: int
) -> None:
    assert 0 <= compute_backoff(attempt, shape, base_ms, jitter) <= MAX_BACKOFF_MS


@pytest.mark.parametrize("shape", SHAPES)
def test_waits_never_get_shorter_and_stay_at_their_limit(shape: BackoffShape) -> None:
    waits = [compute_backoff(attempt, shape, 1000, 0) for attempt in range(1, 5000)]
    assert waits == sorted(waits)
    assert waits[0] == 1000
    assert waits[-1] == (1000 if shape == "constant" else MAX_BACKOFF_MS)


def test_unknown_shape_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="use exponential, linear or constant"):
        compute_backoff(1, "quadratic", 1000)  # type: ignore[arg-type]
