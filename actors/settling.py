"""From what handlers did to what the queue must be told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from picloud.backoff import compute_backoff
from picloud.db.messages import Effect, Settlement, error_json
from picloud.db.units import Committed
from picloud.engine import Outcome
from picloud.types import ClaimToken, Effects, Message, MessageId, QueueTrigger, ScriptError


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages claimed together: the token is their lease."""

    token: ClaimToken
    messages: Sequence[Message]


@dataclass(slots=True)
class Verdict:
    """What becomes of the messages of one batch, by id."""

    token: ClaimToken
    done: list[MessageId] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    units: list[tuple[Message, Effects]] = field(default_factory=list)
    """Handled messages whose handlers asked for more than messages: committed on their own."""
    retry_ms: list[tuple[MessageId, float]] = field(default_factory=list)
    dead: list[tuple[MessageId, str]] = field(default_factory=list)
    untried: list[MessageId] = field(default_factory=list)
    discarded: list[tuple[MessageId, str, str]] = field(default_factory=list)
    """Messages whose executions were cancelled for good: error and who wanted it."""

    @property
    def has_failures(self) -> bool:
        """Whether a message is to be tried again, buried, released or discarded."""
        return bool(self.retry_ms or self.dead or self.untried or self.discarded)

    @property
    def settlement(self) -> Settlement:
        """The part that goes with the next pull."""
        return Settlement(self.token, self.done, self.effects)


def judge(trigger: QueueTrigger, batch: Batch, outcomes: Sequence[Outcome]) -> Verdict:
    """Decide over the first `len(outcomes)` messages of `batch`; each outcome belongs to the message at its place.

    ok → done, with its effects. Raised → tried again after a backoff, or dead when no attempt is left. Cancelled by a
    shutdown → untried: it does not count as an attempt. Cancelled by somebody → raised, or discarded as asked.
    """
    verdict = Verdict(batch.token)
    for message, outcome in zip(batch.messages, outcomes, strict=False):
        if outcome.ok and outcome.effects.are_messages_only:
            verdict.done.append(message.id)
            verdict.effects += [Effect(message.id, effect) for effect in outcome.messages]
        elif outcome.ok:
            verdict.units.append((message, outcome.effects))
        elif outcome.cancelled:
            verdict.untried.append(message.id)
        else:
            error = outcome.error or ScriptError("Error", "the handler failed")
            if outcome.discarded_by is not None:
                verdict.discarded.append((message.id, json.dumps(error_json(error)), outcome.discarded_by))
            else:
                _fail(verdict, trigger, message, error)
    return verdict


def judge_commit(trigger: QueueTrigger, verdict: Verdict, committed: Committed) -> None:
    """Decide over the messages of `verdict.units`: those that were refused are failures like any."""
    messages = {message.id: message for message, _ in verdict.units}
    verdict.units.clear()
    for message_id, refusal in committed.refused:
        _fail(verdict, trigger, messages[message_id], ScriptError.of(refusal))


def _fail(verdict: Verdict, trigger: QueueTrigger, message: Message, error: ScriptError) -> None:
    if message.attempt < message.max_attempts:
        wait = compute_backoff(message.attempt, trigger.retry_backoff, trigger.retry_base_ms)
        verdict.retry_ms.append((message.id, float(wait)))
    else:
        verdict.dead.append((message.id, json.dumps(error_json(error))))
