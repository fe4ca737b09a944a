"""What ran, on its way into the database: bounded, counted, and chosen as the app wants it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from actor_probes import make_message, outcome

from picloud.actors.recording import MAX_AMENDMENTS, Recording
from picloud.engine import Outcome
from picloud.types import AppId, ExecutionId, LogLine, RecordPolicy, ScriptError

FAILURE = ScriptError("ValueError", "no", 3, "raise ValueError('no')")
LINE = LogLine("info", "x" * 1000)


def ran(*, logs: int = 0, **more: Any) -> Outcome:
    return outcome(make_message(), logs=(LINE,) * logs, **more)


def of_app(app: UUID, one: Outcome, **more: Any) -> Outcome:
    return one._replace(job=one.job._replace(app_id=AppId(app), **more))


def counts(recording: Recording) -> tuple[int, int, int]:
    figures = recording.figures()
    return figures.buffered, figures.executions_dropped, figures.logs_dropped


def test_log_lines_are_dropped_first_and_executions_only_when_there_is_no_room_at_all() -> None:
    recording = Recording(max_bytes=10_000)
    recording([ran(logs=4)])
    assert counts(recording) == (1, 0, 0)
    # past half of the room: the execution stays, its lines go
    recording([ran(logs=4)])
    assert counts(recording) == (2, 0, 4)
    recording([ran() for _ in range(20)])
    assert counts(recording) == (22, 0, 4)
    recording([ran() for _ in range(40)])
    assert counts(recording) == (22, 40, 4)
    assert recording.figures().buffered_bytes <= 10_000


def test_what_is_being_written_counts_until_it_is_written() -> None:
    recording = Recording(max_bytes=1000)
    recording([ran() for _ in range(4)])
    taken = recording.take(1)
    assert [chunk.execution_count for chunk in taken] == [4]
    assert recording.take(1) == []
    recording([ran() for _ in range(4)])
    assert counts(recording) == (4, 4, 0)
    recording.release(taken, written=True)
    recording([ran() for _ in range(4)])
    assert counts(recording) == (4, 4, 0)


def test_what_was_refused_counts_as_dropped() -> None:
    recording = Recording(max_bytes=100_000)
    recording([ran(logs=2), ran(logs=1)])
    recording.release(recording.take(100_000), written=False)
    assert counts(recording) == (0, 2, 3)
    assert recording.figures().buffered_bytes == 0


def test_batches_are_taken_in_order_and_up_to_a_size() -> None:
    recording = Recording(max_bytes=1_000_000)
    for count in (1, 2, 3):
        recording([ran() for _ in range(count)])
    first = recording.take(1)
    assert [chunk.execution_count for chunk in first] == [1]
    assert [chunk.execution_count for chunk in recording.take(1_000_000)] == [2, 3]


def test_app_that_records_errors_keeps_what_failed_or_was_cancelled() -> None:
    recording = Recording(max_bytes=100_000)
    app = UUID(int=7)
    recording.policies = {AppId(app): RecordPolicy("errors")}
    recording([of_app(app, ran()), of_app(app, ran(error=FAILURE)), of_app(app, ran(cancelled=True)), ran()])
    assert counts(recording) == (3, 0, 0)


def test_sample_is_decided_by_the_root_so_that_a_trace_is_whole() -> None:
    recording = Recording(max_bytes=10_000_000)
    app = UUID(int=7)
    recording.policies = {AppId(app): RecordPolicy("sampled", 0.25)}
    roots = [ran() for _ in range(2000)]
    recording([of_app(app, root) for root in roots])
    kept = recording.figures().buffered
    assert 380 < kept < 620
    # what the roots caused: kept for the same ones, wherever it runs
    recording([of_app(app, ran(), root_execution_id=ExecutionId(root.execution_id)) for root in roots])
    assert recording.figures().buffered == 2 * kept
    recording([of_app(app, ran(error=FAILURE)) for _ in range(10)])
    assert recording.figures().buffered == 2 * kept + 10


def test_rates_at_the_ends_keep_all_and_nothing() -> None:
    app = UUID(int=7)
    for rate, kept in ((0.0, 0), (1.0, 50)):
        recording = Recording(max_bytes=1_000_000)
        recording.policies = {AppId(app): RecordPolicy("sampled", rate)}
        recording([of_app(app, ran()) for _ in range(50)])
        assert recording.figures().buffered == kept


def test_corrections_are_kept_up_to_a_number() -> None:
    recording = Recording(max_bytes=1000)
    for number in range(MAX_AMENDMENTS + 5):
        recording.amend(AppId(UUID(int=7)), ExecutionId(UUID(int=number)), "error", FAILURE)
    taken = recording.take_amendments()
    assert (len(taken), taken[0].execution_id, taken[0].error["type"]) == (MAX_AMENDMENTS, UUID(int=5), "ValueError")
    assert recording.take_amendments() == []
