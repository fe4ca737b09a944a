"""The actor runtime: OTP's supervision on Trio, visible from outside. Knows nothing of picloud.

| To read about                                | open                             |
|----------------------------------------------|----------------------------------|
| what a supervisor must know of a child       | spec.py                          |
| one child over its incarnations              | child.py, exits.py               |
| stopping: ask, wait, cancel, report          | stopping.py                      |
| strategies over a fixed list of children     | supervisor.py (branch.py)        |
| children that come and go                    | dynamic.py (branch.py)           |
| restart intensity and backoff                | restarts.py                      |
| messages to an actor                         | mailbox.py, wake.py              |
| the tree as JSON, health                     | tree.py (record.py), health.py   |
| what happened, for watchers and the log      | events.py, journal.py            |
"""

from picloud.actors.runtime.dynamic import DynamicSupervisor
from picloud.actors.runtime.errors import (
    ActorNotFound,
    AskTimeout,
    ChildExists,
    ChildNotFound,
    InvalidSpec,
    Killed,
    MailboxBusy,
    MailboxFull,
    MessageLost,
    NeverStarted,
    RestartIntensityExceeded,
    RootHasNoSupervisor,
    RuntimeActorError,
    ShutdownTimeout,
    SupervisorNotRunning,
    TooManyChildren,
)
from picloud.actors.runtime.events import Event, EventStream, Subscription
from picloud.actors.runtime.exits import Exit
from picloud.actors.runtime.health import Health, HealthGauge
from picloud.actors.runtime.journal import ExitReport, Journal, log_report
from picloud.actors.runtime.mailbox import Inbox, Mailbox, MailboxStatistics, Reply
from picloud.actors.runtime.restarts import Backoff
from picloud.actors.runtime.spec import ChildSpec
from picloud.actors.runtime.supervisor import Supervisor
from picloud.actors.runtime.tree import ActorNode, Counts, Figures
from picloud.actors.runtime.wake import WakeMailbox

__all__ = [
    "ActorNode",
    "ActorNotFound",
    "AskTimeout",
    "Backoff",
    "ChildExists",
    "ChildNotFound",
    "ChildSpec",
    "Counts",
    "DynamicSupervisor",
    "Event",
    "EventStream",
    "Exit",
    "ExitReport",
    "Figures",
    "Health",
    "HealthGauge",
    "Inbox",
    "InvalidSpec",
    "Journal",
    "Killed",
    "Mailbox",
    "MailboxBusy",
    "MailboxFull",
    "MailboxStatistics",
    "MessageLost",
    "NeverStarted",
    "Reply",
    "RestartIntensityExceeded",
    "RootHasNoSupervisor",
    "RuntimeActorError",
    "ShutdownTimeout",
    "Subscription",
    "Supervisor",
    "SupervisorNotRunning",
    "TooManyChildren",
    "WakeMailbox",
    "log_report",
]
