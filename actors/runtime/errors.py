"""Every error of the actor runtime, one tree.

RuntimeActorError
├─ InvalidSpec                  a child spec or a supervisor's setting that cannot work (also a ValueError)
├─ ActorNotFound                no actor at that path
├─ RootHasNoSupervisor          nobody above the root can restart it
├─ ChildExists · ChildNotFound · TooManyChildren
├─ SupervisorNotRunning         a command to a supervisor that is not running, or ended before it was done
├─ NeverStarted                 a child returned without calling task_status.started()
├─ Killed                       an incarnation was cancelled by kill_child
├─ ShutdownTimeout              a child did not end in its shutdown time, nor when cancelled
├─ RestartIntensityExceeded     a supervisor gave up
├─ MailboxFull · MailboxBusy
└─ AskTimeout · MessageLost
"""

from __future__ import annotations


class RuntimeActorError(Exception):
    """An error of the actor runtime itself."""


class InvalidSpec(RuntimeActorError, ValueError):
    """The spec or setting contradicts itself or OTP's rules; the text says how."""


class ActorNotFound(RuntimeActorError):
    """No actor of the tree has that path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no actor at {path}")
        self.path = path


class RootHasNoSupervisor(RuntimeActorError):
    """The root is restarted by restarting the process."""


class ChildExists(RuntimeActorError):
    """The supervisor has a child of that id: terminate it first, and wait until it has ended."""


class ChildNotFound(RuntimeActorError):
    """The supervisor has no child of that id: it never had, or the child ended for good."""


class TooManyChildren(RuntimeActorError):
    """The supervisor has `max_children` children."""


class SupervisorNotRunning(RuntimeActorError):
    """Wait until the supervisor has started; while it stops, no command is taken."""


class NeverStarted(RuntimeActorError):
    """The child returned without `task_status.started()`: call it once the child is ready."""


class Killed(RuntimeActorError):
    """The incarnation was cancelled without being asked to stop."""


class ShutdownTimeout(RuntimeActorError):
    """The child shields itself against cancellation for too long: look for a shielded scope without a deadline."""

    def __init__(self, path: str, waited: float) -> None:
        super().__init__(f"{path} has not ended {waited:.1f} s after it was asked to")
        self.path = path
        self.waited = waited


class RestartIntensityExceeded(RuntimeActorError):
    """More restarts than `max_restarts` within `max_seconds`: the supervisor has stopped all its children.

    The text names the child deepest in the tree and its last error.
    """

    def __init__(
        self, path: str, child_id: str, max_restarts: int, max_seconds: float, last_error: Exception | None
    ) -> None:
        if isinstance(last_error, RestartIntensityExceeded):
            why = str(last_error)
        else:
            last = "it returned" if last_error is None else f"{type(last_error).__name__}: {last_error}"
            why = f"{path}/{child_id} failed more than {max_restarts} times in {max_seconds:g} s, last by {last}"
        super().__init__(why)
        self.path = path
        self.child_id = child_id
        self.last_error = last_error


class MailboxFull(RuntimeActorError):
    """The mailbox holds as many messages as it may: send later, or wait with `send`."""


class MailboxBusy(RuntimeActorError):
    """Somebody reads the mailbox: one reader at a time."""


class AskTimeout(RuntimeActorError):
    """No reply came in time. The question may still be answered: to nobody."""


class MessageLost(RuntimeActorError):
    """The actor ended with the question in hand and the mailbox gives it to no further incarnation."""
