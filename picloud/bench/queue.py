"""The queue suite: how fast messages come in and go out, how soon, and what that depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from uuid_utils.compat import uuid7

from picloud.bench.ceiling import drain_by_pgbench
from picloud.bench.claiming import FLOOD_QUEUE, claim_backlog, claim_pinned
from picloud.bench.crowd import BUSY, Crowd
from picloud.bench.draining import SENDERS, drain, drain_unrecorded, enqueue
from picloud.bench.feeding import CPU_5MS, ENQUEUE_ONE, NOOP, SLEEP_50MS
from picloud.bench.invoking import invoke_async
from picloud.bench.latency import fairness, idle_latency
from picloud.bench.measure import Case, Figure, Run
from picloud.bench.node import BenchNode
from picloud.bench.peers import Peer
from picloud.bench.sending import BULK, CLIENTS, send_in_bulk, send_singly
from picloud.bench.soak import QUEUE, Soak
from picloud.db.triggers import QueueTriggerSettings

SOAK_RATE = 3000
SLEEPERS = 16


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """What the suite is run with."""

    messages: int
    seconds: float
    """How long to watch: the open snapshot, the soak."""
    peers: tuple[str, ...] = ()
    ceiling: bool = False
    plot: Path | None = None
    """Where the soak's charts go, as SVG."""


def queue_cases(node: BenchNode, dsn: str, options: QueueOptions) -> list[Case]:
    """Return the cases of the suite, each on queues of its own."""
    return [
        *_drains(node, dsn, options),
        *_enqueues(node, dsn, options),
        *_waits(node, options),
        *_claims(node, dsn, options),
        *_long_ones(node, options),
    ]


def _drains(node: BenchNode, dsn: str, options: QueueOptions) -> list[Case]:
    count = options.messages
    params = {"messages": count}
    slow, sleeping = min(count, 400), min(count, 640)
    rivals: dict[str, Run] = {"unrecorded": partial(drain_unrecorded, node, "noop", NOOP, count)}
    rivals |= {name: Peer(name, dsn, count).drain for name in options.peers}
    if options.ceiling:
        rivals["ceiling"] = partial(drain_by_pgbench, node, dsn, count)
    noop = partial(drain, node, "noop", NOOP, count)
    one = partial(drain, node, "enqueue-one", ENQUEUE_ONE, count)
    busy = partial(drain, node, "cpu-5ms", CPU_5MS, slow)
    asleep = partial(drain, node, "sleep-50ms", SLEEP_50MS, sleeping, concurrency=SLEEPERS)
    return [
        Case("drain-noop", "msg/s", noop, params, rivals),
        Case("drain-enqueue-one", "msg/s", one, params),
        Case("drain-cpu-5ms", "msg/s", busy, {"messages": slow}),
        Case("drain-sleep-50ms", "msg/s", asleep, {"messages": sleeping, "concurrency": SLEEPERS}),
        Case("invoke-async", "rows/s", partial(invoke_async, node, count), params),
    ]


def _enqueues(node: BenchNode, dsn: str, options: QueueOptions) -> list[Case]:
    count = options.messages
    singles = min(count, 2000)
    batched = {"messages": 5 * count, "batch": 1000, "senders": SENDERS}
    single = partial(enqueue, node, singles, batch=1, senders=1)
    batch = partial(enqueue, node, 5 * count, batch=1000, senders=SENDERS)
    return [
        Case("enqueue-single", "msg/s", single, {"messages": singles}),
        Case("enqueue-batch", "msg/s", batch, batched),
        Case(
            "enqueue-http-single",
            "msg/s",
            partial(send_singly, node, dsn, singles),
            {"messages": singles, "clients": CLIENTS},
        ),
        Case("enqueue-http-bulk", "msg/s", partial(send_in_bulk, node, dsn, count), {"messages": count, "batch": BULK}),
    ]


def _waits(node: BenchNode, options: QueueOptions) -> list[Case]:
    few, flood, singles = min(options.messages, 200), min(options.messages, 10_000), min(options.messages, 20)
    near = partial(idle_latency, node, few, from_other_node=False)
    far = partial(idle_latency, node, few, from_other_node=True)
    return [
        Case("latency-idle", "ms", near, {"messages": few}),
        Case("latency-idle-other-node", "ms", far, {"messages": few}),
        Case("fairness", "ms", partial(fairness, node, flood, singles), {"flood": flood, "messages": singles}),
    ]


def _claims(node: BenchNode, dsn: str, options: QueueOptions) -> list[Case]:
    backlog, queues = 50 * options.messages, max(20, min(1000, options.messages // 20))
    crowd = Crowd(node, queues, options.messages)
    return [
        Case("many-queues", "µs", crowd.many, {"queues": queues, "busy": BUSY}, {"cost": crowd.few}),
        Case("claim-backlog", "ms", partial(claim_backlog, dsn, backlog), {"backlog": backlog}, is_long=True),
        Case(
            "claim-pinned-xmin",
            "kept",
            partial(_pinned, node, options.seconds),
            {"seconds": options.seconds},
            is_long=True,
        ),
    ]


def _long_ones(node: BenchNode, options: QueueOptions) -> list[Case]:
    params = {"rate": SOAK_RATE, "seconds": options.seconds}
    return [Case("soak", "ms", partial(_soak, node, options), params, is_long=True)]


async def _pinned(node: BenchNode, seconds: float) -> Figure:
    queue = f"{FLOOD_QUEUE}-{uuid7()}"
    trigger = await node.bind("pinned", NOOP, queue, QueueTriggerSettings())
    try:
        return await claim_pinned(node, queue, seconds)
    finally:
        await node.switch(trigger, on=False)


async def _soak(node: BenchNode, options: QueueOptions) -> Figure:
    trigger = await node.bind("soak", NOOP, QUEUE, QueueTriggerSettings())
    soak = Soak(node, rate=SOAK_RATE, seconds=options.seconds, plot=options.plot)
    node.listeners.append(soak.note_outcomes)
    try:
        return await soak.run()
    finally:
        node.listeners.remove(soak.note_outcomes)
        await node.switch(trigger, on=False)
