"""Every error of picloud, one tree.

PicloudError                    base; `code` is stable and snake_case
├─ InvalidInput                 what the caller sent cannot be accepted; the text says what to do
│  ├─ InvalidName               a slug, script or queue name of the wrong form
│  ├─ InvalidPayload            a payload JSON or PostgreSQL cannot carry; `path` names the value
│  ├─ PayloadTooLarge           more bytes than the limit
│  ├─ ScriptInvalid             a script breaks the policy; `faults` lists every fault
│  ├─ ScriptsInvalid            several scripts do; `scripts` holds a ScriptInvalid each
│  ├─ InvalidFields             fields of a request are missing, unknown or out of range; `faults` lists each
│  ├─ MalformedBody             a request's body is not the JSON it should be
│  ├─ UnsupportedMediaType      a request's body says that it is not JSON
│  ├─ InvalidManifest           picloud.toml of an app folder is wrong
│  └─ InvalidSetting            a setting or environment variable is wrong or unknown
├─ NotFound                     no such thing, or not yours to see
│  ├─ AppNotFound · ScriptNotFound · TriggerNotFound · QueueNotFound · MessageNotFound
│  ├─ DeadLetterNotFound · ActorNotFound · SecretNotFound · RouteNotFound · ExecutionNotFound
├─ Conflict                     the wish contradicts what is stored
│  ├─ NameTaken · QueueHasConsumer · RouteTaken · ScriptInUse · AlreadyReplayed
├─ MethodNotAllowed · GateFull  a route does not take the method; no worker thread became free in time
├─ BodyTimeout                  a request's body took too long to arrive
├─ RouteSecretMissing           none of the secrets that a route checks its callers with is set
├─ Unauthorized                 no token, or one that is not known
│  └─ SignatureInvalid          a delivery is not signed with a secret of its route
├─ DatabaseError
│  ├─ DatabaseUnavailable       an outage: retry in place, never a reason to crash an actor
│  ├─ DatabaseMisconfigured     DATABASE_URL cannot work as it is (syntax, password, unknown database)
│  ├─ MigrationError            a migration failed, changed after it was applied, or is newer than this picloud
│  └─ EmbeddedPostgresError     the embedded server cannot be found, started or stopped
├─ ServerError
│  └─ AddressInUse              the port is taken
├─ ClientError                  the command line cannot get what it wants from a node
│  ├─ NodeUnreachable           no answer from the node's address
│  ├─ NodeRefused               the node answered with a problem document; `problem` holds it
│  └─ SendStopped               a file of messages was sent in part; `sent` and `next_line` tell how far
├─ SdkError                     a handler used the SDK in a way that cannot work
│  ├─ InvokeError               the other script cannot be called; the text says why
│  ├─ RetryError                a retry policy is wrong, or no time is left for another attempt
│  ├─ KvError · KvConflict      a key cannot be used as asked; another execution changed it first
│  ├─ SecretError · HttpError   there is no such secret; a request to the outside was refused or failed
│  └─ OutsideHandler            the SDK was called where no handler runs
└─ EngineClosed                 a handler's bridge used after its engine was shut down
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from picloud.types import Fault, FieldFault


class PicloudError(Exception):
    """An error whose text may be shown to a user as it is."""

    code: ClassVar[str] = "error"


class InvalidInput(PicloudError):
    """Say what is wrong with the input and what to write instead."""

    code = "invalid_input"

    def __init__(self, message: str, *, pointer: str | None = None) -> None:
        super().__init__(message)
        self.pointer = pointer
        """JSON pointer of the value in the request's body, where one is known."""


class InvalidName(InvalidInput):
    """The name has the wrong form; the text gives the form."""

    code = "invalid_name"


class InvalidPayload(InvalidInput):
    """A payload that JSON or PostgreSQL cannot carry; the text names the path of the value."""

    code = "invalid_payload"

    def __init__(self, message: str, *, path: str = "payload", pointer: str | None = None) -> None:
        super().__init__(message, pointer=pointer)
        self.path = path


class PayloadTooLarge(InvalidInput):
    """Send less, or put the data elsewhere and send a reference."""

    code = "payload_too_large"


class ScriptInvalid(InvalidInput):
    """The script breaks the policy: `faults` holds all faults, in the order of the source."""

    code = "script_invalid"

    def __init__(self, script: str, faults: Sequence[Fault]) -> None:
        lines = "\n".join(f"  line {f.line}, column {f.column}: {f.message}" for f in faults)
        super().__init__(f"script '{script}' has {len(faults)} fault{'s' if len(faults) != 1 else ''}:\n{lines}")
        self.script = script
        self.faults = tuple(faults)


class ScriptsInvalid(InvalidInput):
    """Several scripts of one deployment break the policy: `scripts` holds an error for each."""

    code = "script_invalid"

    def __init__(self, scripts: Sequence[ScriptInvalid]) -> None:
        super().__init__("\n".join(str(script) for script in scripts))
        self.scripts = tuple(scripts)


class InvalidFields(InvalidInput):
    """Fields of a request cannot be accepted: `faults` holds one for each."""

    code = "invalid_fields"

    def __init__(self, message: str, faults: Sequence[FieldFault]) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class MalformedBody(InvalidInput):
    """The body of a request cannot be read; the text says where."""

    code = "malformed_body"


class UnsupportedMediaType(InvalidInput):
    """Send JSON, with `Content-Type: application/json`."""

    code = "unsupported_media_type"


class InvalidManifest(InvalidInput):
    """An app folder's picloud.toml cannot be used."""

    code = "invalid_manifest"


class InvalidSetting(InvalidInput):
    """A setting has a value that cannot be used, or is not known."""

    code = "invalid_setting"


class NotFound(PicloudError):
    """No such thing, or not visible to the caller."""

    code = "not_found"


class AppNotFound(NotFound):
    """No app of that name."""

    code = "app_not_found"


class ScriptNotFound(NotFound):
    """The app has no script of that name."""

    code = "script_not_found"


class TriggerNotFound(NotFound):
    """The app has no trigger of that id."""

    code = "trigger_not_found"


class QueueNotFound(NotFound):
    """The app has no queue of that name: it appears with its first message or trigger."""

    code = "queue_not_found"


class MessageNotFound(NotFound):
    """The queue holds no message of that id: it was handled, dead-lettered or never sent."""

    code = "message_not_found"


class DeadLetterNotFound(NotFound):
    """The app has no dead letter of that id."""

    code = "dead_letter_not_found"


class ExecutionNotFound(NotFound):
    """The app has no execution of that id: it was not recorded, or its day was dropped; or it does not run any more."""

    code = "execution_not_found"


class SecretNotFound(NotFound):
    """The app has no secret of that name."""

    code = "secret_not_found"


class RouteNotFound(NotFound):
    """The app has no route for that path, or there is no such app."""

    code = "route_not_found"


class ActorNotFound(NotFound):
    """The supervision tree of this node has no actor at that path."""

    code = "actor_not_found"


class Conflict(PicloudError):
    """The wish contradicts what is stored; the text names the other side."""

    code = "conflict"


class NameTaken(Conflict):
    """The name is in use."""

    code = "name_taken"


class QueueHasConsumer(Conflict):
    """A queue has one consumer; the text names the trigger that holds it."""

    code = "queue_has_consumer"


class RouteTaken(Conflict):
    """A method and path of an app belong to one script; the text names the trigger that holds them."""

    code = "route_taken"


class ScriptInUse(Conflict):
    """A trigger runs the script: delete the trigger first."""

    code = "script_in_use"


class AlreadyReplayed(Conflict):
    """The dead letter was resolved before."""

    code = "already_replayed"


class MethodNotAllowed(PicloudError):
    """The path has a route, but not for that method."""

    code = "method_not_allowed"

    def __init__(self, message: str, allowed: Sequence[str]) -> None:
        super().__init__(message)
        self.allowed = tuple(allowed)


class GateFull(PicloudError):
    """No worker thread became free in time: try again soon."""

    code = "gate_full"


class BodyTimeout(PicloudError):
    """The body of a request did not arrive in time."""

    code = "request_timeout"


class RouteSecretMissing(PicloudError):
    """None of the secrets of the route is set: nothing was run, send it again later."""

    code = "route_secret_missing"


class Unauthorized(PicloudError):
    """Send `Authorization: Bearer pc_…` with a token this server knows."""

    code = "unauthorized"


class SignatureInvalid(Unauthorized):
    """The route takes signed bodies: sign it with a secret of the route, in the header that the text names."""

    code = "signature_invalid"


class DatabaseError(PicloudError):
    """Something about the database."""

    code = "database_error"


class DatabaseUnavailable(DatabaseError):
    """The database cannot be reached or is going down: retry in place with backoff."""

    code = "database_unavailable"


class DatabaseMisconfigured(DatabaseError):
    """Retrying is no use: DATABASE_URL must be corrected."""

    code = "database_misconfigured"


class MigrationError(DatabaseError):
    """The schema cannot be brought to what this version needs."""

    code = "migration_error"


class EmbeddedPostgresError(DatabaseError):
    """The embedded PostgreSQL cannot be found, started or stopped; the text says what to do."""

    code = "embedded_postgres_error"


class ServerError(PicloudError):
    """The HTTP server cannot run."""

    code = "server_error"


class AddressInUse(ServerError):
    """Another process listens on that address: choose another port."""

    code = "address_in_use"


class ClientError(PicloudError):
    """The command line cannot get what it wants from a node."""

    code = "client_error"


class NodeUnreachable(ClientError):
    """No answer from the node's address; `maybe_done` tells that the request may have taken effect."""

    code = "node_unreachable"

    def __init__(self, message: str, *, maybe_done: bool = False) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class NodeRefused(ClientError):
    """The node answered with a problem document (RFC 9457)."""

    code = "node_refused"

    def __init__(self, message: str, problem: dict[str, Any]) -> None:
        super().__init__(message)
        self.problem = problem


class SendStopped(ClientError):
    """A file of messages was sent in part: go on at `next_line` once the cause is corrected."""

    code = "send_stopped"

    def __init__(self, message: str, *, sent: int, next_line: int) -> None:
        super().__init__(message)
        self.sent = sent
        self.next_line = next_line


class EngineClosed(PicloudError):
    """The engine was shut down while a handler still held on to it."""

    code = "engine_closed"


class SdkError(PicloudError):
    """A handler used the SDK in a way that cannot work; the text says what to do."""

    code = "sdk_error"


class InvokeError(SdkError):
    """The other script cannot be called."""

    code = "invoke_error"


class RetryError(SdkError):
    """A retry policy is wrong, or no time is left for another attempt."""

    code = "retry_error"


class KvError(SdkError):
    """A key or a value cannot be used as asked."""

    code = "kv_error"


class KvConflict(KvError):
    """Another execution changed the key first: what the handler did is dropped, and it is run again."""

    code = "kv_conflict"


class SecretError(SdkError):
    """There is no such secret: set it with `picloud secrets set`."""

    code = "secret_error"


class HttpError(SdkError):
    """A request to the outside was refused by the app's rules, or failed on its way."""

    code = "http_error"


class OutsideHandler(SdkError):
    """The SDK works only inside a handler: run the script with `picloud run` or `picloud.testing`."""

    code = "outside_handler"
