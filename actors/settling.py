"""From what handlers did to what the queue, or the outbox, must be told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from picloud.db.messages import Effect, Settlement, error_json
from picloud.db.units import Committed, Unit
from picloud.engine import Outcome
from picloud.types import AppId, ClaimToken, ExecutionId, NewMessage, ScriptError


class Work(Protocol):
    """What is claimed and handled: a message, or a row of the outbox."""

    @property
    def id(self) -> UUID: ...

    @property
    def attempt(self) -> int: ...

    @property
    def max_attempts(self) -> int: ...


W = TypeVar("W", bound=Work)
RetryWait = Callable[[W], float]
"""Milliseconds until what failed is tried again."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[W]):
    """What was claimed together: the token is its lease."""

    token: ClaimToken
    items: Sequence[W]

    @property
    def ids(self) -> list[UUID]:
        """The ids, in order."""
        return [item.id for item in self.items]


@dataclass(frozen=True, slots=True)
class Refused:
    """No script was run, and why."""

    error: ScriptError
    final: bool = True
    """No further attempt would change it."""


@dataclass(slots=True)
class Verdict(Generic[W]):
    """What becomes of a batch, by id."""

    token: ClaimToken
    done: list[UUID] = field(default_factory=list)
    executions: list[tuple[AppId, ExecutionId]] = field(default_factory=list)
    """Those of `done`, in the same order."""
    is_doubtful: bool = False
    """An outage came between: what is settled may have been settled before, and look lost."""
    effects: list[Effect] = field(default_factory=list)
    sent: dict[AppId, list[NewMessage]] = field(default_factory=dict)
    """The messages of `effects` by app."""
    units: dict[AppId, list[tuple[W, Unit]]] = field(default_factory=dict)
    """Handled, and the handlers asked for more than messages: committed on their own."""
    retry_ms: list[tuple[UUID, float]] = field(default_factory=list)
    dead: list[tuple[UUID, str]] = field(default_factory=list)
    untried: list[UUID] = field(default_factory=list)
    discarded: list[tuple[UUID, str, str]] = field(default_factory=list)
    """Where the execution was cancelled for good: error and who wanted it."""

    @property
    def has_failures(self) -> bool:
        """Whether something is to be tried again, buried, released or discarded."""
        return bool(self.retry_ms or self.dead or self.untried or self.discarded)

    @property
    def settlement(self) -> Settlement:
        """The part that goes with the next pull."""
        return Settlement(self.token, self.done, self.effects)


def judge(batch: Batch[W], outcomes: Sequence[Outcome | Refused], wait_ms: RetryWait[W]) -> Verdict[W]:
    """Decide over the first `len(outcomes)` of `batch`; each outcome belongs to what is at its place.

    ok → done, with its effects. Raised → tried again after a backoff, or dead when no attempt is left. Cancelled by a
    shutdown → untried: it does not count as an attempt. Cancelled by somebody → raised, or discarded as asked.
    """
    verdict: Verdict[W] = Verdict(batch.token)
    for item, outcome in zip(batch.items, outcomes, strict=False):
        if isinstance(outcome, Refused):
            _fail(verdict, item, outcome.error, None, None if outcome.final else wait_ms)
        elif outcome.ok:
            _accept(verdict, item, outcome)
        elif outcome.cancelled:
            verdict.untried.append(item.id)
        else:
            error = outcome.error or ScriptError("Error", "the handler failed")
            if outcome.discarded_by is not None:
                verdict.discarded.append((item.id, _error_text(error, outcome.execution_id), outcome.discarded_by))
            else:
                _fail(verdict, item, error, outcome.execution_id, wait_ms)
    return verdict


def judge_commit(
    verdict: Verdict[W], units: Sequence[tuple[W, Unit]], committed: Committed, wait_ms: RetryWait[W]
) -> None:
    """Decide over units that were committed: those that were refused are failures like any."""
    found = {item.id: (item, unit) for item, unit in units}
    for item_id, refusal in committed.refused:
        item, unit = found[item_id]
        _fail(verdict, item, ScriptError.of(refusal), unit.execution_id, wait_ms)


def _accept(verdict: Verdict[W], item: W, outcome: Outcome) -> None:
    effects, app_id = outcome.effects, outcome.job.app_id
    if not effects.are_messages_only:
        verdict.units.setdefault(app_id, []).append((item, Unit(item.id, effects, outcome.execution_id)))
        return
    verdict.done.append(item.id)
    verdict.executions.append((app_id, outcome.execution_id))
    if effects.messages:
        verdict.effects += [Effect(item.id, message) for message in effects.messages]
        verdict.sent.setdefault(app_id, []).extend(effects.messages)


def _error_text(error: ScriptError, execution_id: ExecutionId | None) -> str:
    """Return an error as a dead letter keeps it, with the execution that failed."""
    stored = error_json(error)
    if execution_id is not None:
        stored["execution_id"] = str(execution_id)
    return json.dumps(stored)


def _fail(
    verdict: Verdict[W],
    item: W,
    error: ScriptError,
    execution_id: ExecutionId | None,
    wait_ms: RetryWait[W] | None,
) -> None:
    if wait_ms is not None and item.attempt < item.max_attempts:
        verdict.retry_ms.append((item.id, wait_ms(item)))
    else:
        verdict.dead.append((item.id, _error_text(error, execution_id)))
