"""`queue`, `retry` and `log` as a script sees them: bound to one run, useless after it.

The signatures are those of picloud.sdk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from uuid_utils.compat import uuid7

from picloud.backoff import compute_backoff
from picloud.engine.logs import clean_json
from picloud.engine.outgoing import Options, check_options
from picloud.engine.sandbox import (
    ExportError,
    LimitError,
    error_message,
    error_type,
    export_value,
    safe_repr,
    safe_str,
)
from picloud.errors import InvalidInput, InvalidPayload, RetryError
from picloud.names import check_queue_name
from picloud.payload import encode_payload
from picloud.sdk import retry
from picloud.types import Json, LogLevel, MessageId, NewMessage

if TYPE_CHECKING:
    from picloud.engine.execution import Run

T = TypeVar("T")


class QueueBridge:
    """`queue`: what is sent goes into the run's unit of work."""

    __slots__ = ("_run",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"enqueue", "enqueue_many", "depth", "depth_pending"})

    def __init__(self, run: Run) -> None:
        self._run = run

    def enqueue(
        self,
        name: str,
        payload: Json,
        *,
        delay: float | str | timedelta | None = None,
        deliver_after: datetime | str | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        dedup_key: str | None = None,
        group_key: str | None = None,
        immediate: bool = False,
    ) -> str:
        options = check_options(delay, deliver_after, priority, max_attempts, dedup_key, group_key, immediate)
        return self._send(name, [self._encode(payload, "payload")], options)[0]

    def enqueue_many(
        self,
        name: str,
        payloads: Sequence[Json],
        *,
        delay: float | str | timedelta | None = None,
        deliver_after: datetime | str | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        group_key: str | None = None,
        immediate: bool = False,
    ) -> list[str]:
        if not isinstance(payloads, list | tuple):
            raise InvalidInput(f"queue: payloads must be a list, not {type(payloads).__name__}")
        options = check_options(delay, deliver_after, priority, max_attempts, None, group_key, immediate)
        texts = [self._encode(payload, f"payloads[{at}]") for at, payload in enumerate(payloads)]
        return self._send(name, texts, options)

    def depth(self, name: str) -> int:
        return self._count(name)[0]

    def depth_pending(self, name: str) -> int:
        return self._count(name)[1]

    def _encode(self, payload: Json, what: str) -> str:
        """Encode now, in script mode: looking at a value may run the author's code."""
        meter = self._run.meter
        try:
            plain = export_value(payload, path=what, meter=meter)
        except ExportError as error:
            raise InvalidPayload(f"queue: {error}", path=what) from None
        text = encode_payload(plain, what=what, max_bytes=self._run.engine().settings.max_payload_bytes)
        meter.charge(len(text))
        return text

    def _send(self, name: str, texts: list[str], options: Options) -> list[str]:
        run = self._run
        with run.meter.host():
            engine = run.engine()
            queue_name = check_queue_name(name)
            run.make_room(len(texts))
            messages = [self._message(queue_name, text, options) for text in texts]
            if options.immediate:
                run.unit.count_committed(len(messages))
                ids = engine.world.send_now(run.job.app_id, messages) if messages else []
            else:
                ids = [run.unit.record(message) for message in messages]
        return [str(message_id) for message_id in ids]

    def _message(self, queue_name: str, text: str, options: Options) -> NewMessage:
        run = self._run
        return NewMessage(
            cast("MessageId", uuid7()),
            queue_name,
            text,
            options.delay,
            options.deliver_after,
            options.priority,
            options.max_attempts,
            options.dedup_key,
            options.group_key,
            # a queue is no recursion: only triggers and invokes deepen a chain, so that a handler may send to itself
            run.job.trigger_depth,
            run.root_id,
            run.parent_id(),
            run.job.request_id,
        )

    def _count(self, name: str) -> tuple[int, int]:
        run = self._run
        with run.meter.host():
            queue_name = check_queue_name(name)
            waiting, due = run.engine().world.count_depth(run.job.app_id, queue_name)
            own_waiting, own_due = run.unit.count_waiting(queue_name)
        return waiting + own_waiting, due + own_due


class RetryBridge:
    """`retry`: attempts run in the caller's thread, under its meter."""

    __slots__ = ("_run",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"policy", "on_codes", "run"})

    policy = staticmethod(retry.policy)
    on_codes = staticmethod(retry.on_codes)

    def __init__(self, run: Run) -> None:
        self._run = run

    def run(self, policy: retry.Policy, fn: Callable[[], T]) -> T:
        policy = retry.check_policy(policy, "run")
        if not callable(fn):
            raise RetryError(f"retry: run needs a function to call, not {type(fn).__name__}")
        unit = self._run.unit
        attempt = 1
        while True:
            mark = unit.mark()
            try:
                return fn()
            except Exception as error:
                unit.take_back(mark)
                if attempt >= policy.max_attempts or not _matches(policy, error):
                    raise
                self._wait(policy, attempt, error)
            except BaseException:
                unit.take_back(mark)
                raise
            attempt += 1

    def _wait(self, policy: retry.Policy, attempt: int, error: Exception) -> None:
        seconds = compute_backoff(attempt, policy.backoff, policy.base_ms, policy.jitter_pct) / 1000
        meter = self._run.meter
        left = meter.remaining()
        if seconds >= left:
            raise RetryError(
                f"retry: no time for attempt {attempt + 1} of {policy.max_attempts}: it would start in {seconds:.3g} s "
                f"and the deadline is in {left:.3g} s; attempt {attempt} failed: {_text(error)}"
            ) from error
        self._run.engine()
        meter.sleep(seconds)


def _matches(policy: retry.Policy, error: Exception) -> bool:
    if not policy.on_codes:
        return True
    text = _text(error)
    return any(code in text for code in policy.on_codes)


def _text(error: Exception) -> str:
    message = error_message(error)
    return f"{error_type(error)}: {message}" if message else error_type(error)


class LogBridge:
    """`log`: any value can be logged, nothing that is logged can fail the handler."""

    __slots__ = ("_run",)
    _sandbox_attrs_: ClassVar[frozenset[str]] = frozenset({"debug", "info", "warning", "error"})

    def __init__(self, run: Run) -> None:
        self._run = run

    def debug(self, message: object, /, **fields: object) -> None:
        self._add("debug", message, fields)

    def info(self, message: object, /, **fields: object) -> None:
        self._add("info", message, fields)

    def warning(self, message: object, /, **fields: object) -> None:
        self._add("warning", message, fields)

    def error(self, message: object, /, **fields: object) -> None:
        self._add("error", message, fields)

    def _add(self, level: LogLevel, message: object, fields: dict[str, object]) -> None:
        run = self._run
        run.meter.check()
        logs = run.logs()
        if logs.is_full():
            return
        text = message if type(message) is str else safe_str(message)
        shown = {name: self._field(value) for name, value in fields.items()}
        size_bytes = sum(map(len, shown)) + sum(map(_size, shown.values()))
        logs.add(level, text, clean_json(shown), size_bytes, run.callee_id)

    def _field(self, value: object) -> Json:
        try:
            return export_value(value, path="field", meter=self._run.meter)
        except (ExportError, LimitError):
            return safe_repr(value)


def _size(value: Json) -> int:
    """Return about how many bytes a value takes as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, list):
        return sum(map(_size, value)) + len(value) + 2
    if isinstance(value, dict):
        return sum(len(name) + _size(item) + 4 for name, item in value.items()) + 2
    return len(str(value))
