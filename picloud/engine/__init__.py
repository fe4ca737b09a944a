"""The engine: runs handlers. It knows no database and no event loop; what it needs of the world is handed to it.

Reader's map: `engine` runs slices of jobs on the threads it is given; `execution` is one script with its event, and
what it invokes; `effects` is what it asks for; `bridges` is the SDK as that execution sees it; `author_errors` says
what went wrong in the author's terms; `sandbox` compiles and runs the code.
"""

from picloud.engine.engine import Engine
from picloud.engine.events import CronEvent, DeadLetterEvent, EmailEvent, Event, HttpEvent, InvokeEvent, QueueEvent
from picloud.engine.job import Call, Cancel, Job, Outcome, RunningExecution
from picloud.engine.sandbox import CompiledScript
from picloud.engine.settings import EngineSettings
from picloud.engine.stored_events import build_event
from picloud.engine.world import EmptyWorld, World

__all__ = [
    "Call",
    "Cancel",
    "CompiledScript",
    "CronEvent",
    "DeadLetterEvent",
    "EmailEvent",
    "EmptyWorld",
    "Engine",
    "EngineSettings",
    "Event",
    "HttpEvent",
    "InvokeEvent",
    "Job",
    "Outcome",
    "QueueEvent",
    "RunningExecution",
    "World",
    "build_event",
]
