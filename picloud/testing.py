"""Run handlers in plain pytest, without a server or a database; with the fixture `picloud_app`, which pytest finds.

    def test_an_order_is_priced(picloud_app):
        app = picloud_app("examples/shop")
        app.kv["rate"] = 2
        done = app.run("order", {"sku": "a", "email": "a@example.com"})
        assert done.value == {"ok": True}
        assert done.sent("emails") == [{"to": "a@example.com", "total": 84}]

The code runs in the same sandbox as on a node; queues, keys and secrets are plain attributes of the app.
"""

from __future__ import annotations

import json
import mimetypes
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from picloud.engine import (
    CronEvent,
    DeadLetterEvent,
    EmailEvent,
    Engine,
    EngineSettings,
    Event,
    HttpEvent,
    InvokeEvent,
    Job,
    Outcome,
    QueueEvent,
)
from picloud.engine.http_client import HttpRequest, HttpRules
from picloud.key_values import apply_write
from picloud.mail_event import make_event
from picloud.mail_parsing import parse_mail
from picloud.manifest import HttpTriggerSpec, Manifest, load_manifest
from picloud.payload import MAX_PAYLOAD_BYTES, encode_payload
from picloud.routes import RouteTable, parse_pattern
from picloud.sdk.http import HttpResponse
from picloud.sdk.response import Response
from picloud.types import AppId, Json, KvEntry, LogLine, MessageId, NewMessage, Script, ScriptError, ScriptId

Answer = Callable[[HttpRequest], HttpResponse]


class HandlerFailed(AssertionError):
    """The handler raised or was stopped; `error` has the type, message and line."""

    def __init__(self, error: ScriptError) -> None:
        where = "" if error.line is None else f" (line {error.line})"
        super().__init__(f"{error.type}: {error.message}{where}")
        self.error = error


@dataclass(frozen=True, slots=True)
class Done:
    """What one execution returned and asked for."""

    value: Json
    """The returned value, or a Response's body."""
    response: Response | None
    error: ScriptError | None
    messages: tuple[NewMessage, ...]
    invocations: tuple[tuple[str, Json], ...]
    """Of `invoke_async`: script and arguments."""
    logs: tuple[LogLine, ...]

    def sent(self, queue: str) -> list[Json]:
        """Return the payloads of what was sent to a queue, in order."""
        return [json.loads(message.payload) for message in self.messages if message.queue_name == queue]


class App:
    """An app in memory: its scripts, and what they keep and reach. Failed executions leave nothing.

    `queues` holds payloads by queue, `kv` values by key, `secrets` texts by name; all may be changed by a test.
    """

    def __init__(self, manifest: Manifest, *, timeout: float = 5.0) -> None:
        self.name = manifest.app
        self.queues: dict[str, list[Json]] = defaultdict(list)
        self.kv: dict[str, Json] = {}
        self.secrets: dict[str, str] = {}
        self.now: datetime | None = None
        """What scripts see as the time, with a time zone; None: the real one."""
        self.later: list[tuple[str, Json]] = []
        """What `invoke_async` asked for: script and arguments."""
        self.answer_http: Answer = _refuse_http
        """What `http.request` gets for a request; hosts are not checked."""
        self.manifest = manifest
        self.id = cast("AppId", uuid7())
        self.scripts = {name: self._script(name, source) for name, source in manifest.scripts.items()}
        self._routes: RouteTable[HttpTriggerSpec] = RouteTable()
        for route in manifest.http_triggers:
            self._routes.add(route.method, parse_pattern(route.path), route)
        self._world = _World(self)
        self.engine = Engine(EngineSettings(timeout_secs=timeout), self._world)
        self.engine.http = _AppHttp(self)
        self.engine.clock = lambda: time.time() if self.now is None else self.now.timestamp()

    def run(self, script: str, event: Event | Json = None, *, check: bool = True, request_id: str = "test") -> Done:
        """Run a script with an event, or with the payload of a message, and apply what it asked for.

        Raises: HandlerFailed, unless `check` is False; KeyError for an unknown script; ScriptInvalid.
        """
        stored = self.scripts[script]
        job = Job(
            self.id,
            self.name,
            self.engine.compile(stored.name, stored.source),
            stored.version,
            event if isinstance(event, Event) else queue_event(event),
            request_id=request_id,
        )
        (outcome,) = self.engine.run_slice([job], slice_secs=60.0)
        if outcome.error is not None and check:
            raise HandlerFailed(outcome.error)
        return self._apply(outcome)

    def deliver(self, queue: str, *, check: bool = True) -> list[Done]:
        """Run the queue's script for each message that waits now, once each; those that fail stay in the queue.

        Raises: HandlerFailed, unless `check` is False; LookupError for a queue without a trigger.
        """
        scripts = [trigger.script for trigger in self.manifest.queue_triggers if trigger.queue == queue]
        if not scripts:
            raise LookupError(f"no trigger for queue '{queue}' in picloud.toml")
        waiting, self.queues[queue] = self.queues[queue], []
        done = []
        for payload in waiting:
            one = self.run(scripts[0], queue_event(payload, queue=queue), check=check)
            if one.error is not None:
                self.queues[queue].append(payload)
            done.append(one)
        return done

    def request(self, method: str, path: str, *, json: Json = None, check: bool = True, **more: Any) -> Done:
        """Run the script bound to a route. Raises: HandlerFailed, unless `check` is False; LookupError for no route."""
        for match in self._routes.find(path):
            if method in match.routes:
                route, pattern = match.routes[method]
                event = http_event(method, path, json=json, params=match.params(pattern), **more)
                return self.run(route.script, event, check=check)
        raise LookupError(f"no route for {method} {path} in picloud.toml")

    def fire(self, target: str, scheduled_for: datetime | None = None, *, check: bool = True) -> list[Done]:
        """Do what the schedules of a script or queue do at one time: run the script, or send the message.

        `scheduled_for` has a time zone; None: now. Scripts see it as the clock of the trigger's time zone shows it.
        Raises: HandlerFailed, unless `check` is False; LookupError for no schedule.
        """
        moment = scheduled_for or self.now or datetime.now(UTC)
        crons = [cron for cron in self.manifest.cron_triggers if target in (cron.script, cron.queue_name)]
        if not crons:
            raise LookupError(f"no schedule for '{target}' in picloud.toml")
        done = []
        for cron in crons:
            if cron.script is None:
                self.queues[target].append(json.loads(encode_payload(cron.payload)))
            else:
                local = moment.astimezone(cron.parse().zone)
                event = cron_event(datetime.fromisoformat(local.isoformat()), cron.payload)
                done.append(self.run(target, event, check=check))
        return done

    def receive(self, name: str, text: str = "", *, check: bool = True, **more: Any) -> Done:
        """Run the script bound to the address `name@app`; `more` is what `email_event` takes.

        Raises: HandlerFailed, unless `check` is False; LookupError for an address without a trigger.
        """
        for trigger in self.manifest.email_triggers:
            if trigger.name == name:
                return self.run(trigger.script, email_event(text, recipient=f"{name}@{self.name}", **more), check=check)
        raise LookupError(f"no email trigger '{name}' in picloud.toml")

    def close(self) -> None:
        """Stop the engine."""
        self.engine.close()

    def _apply(self, outcome: Outcome) -> Done:
        effects = outcome.effects
        for message in effects.messages:
            self.queues[message.queue_name].append(json.loads(message.payload))
        for write in effects.writes:
            text = apply_write(json.dumps(self.kv[write.key]) if write.key in self.kv else None, write)
            if text is None:
                self.kv.pop(write.key, None)
            else:
                self.kv[write.key] = json.loads(text)
        names = {script.id: name for name, script in self.scripts.items()}
        later = tuple((names[one.script_id], json.loads(one.event)["body"]) for one in effects.invocations)
        self.later += later
        return Done(outcome.value, outcome.response, outcome.error, effects.messages, later, outcome.logs)

    def _script(self, name: str, source: str) -> Script:
        return Script(ScriptId(uuid7()), self.id, name, 1, source, "", datetime.now(UTC))


class _World:
    """What the engine reaches: the app's attributes."""

    def __init__(self, app: App) -> None:
        self._app = app

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        return self._app.scripts.get(name)

    def find_route(self, app_id: AppId, path: str, method: str | None) -> Script | None:
        for match in self._app._routes.find(path):
            for name in (method,) if method is not None else ("POST", "GET"):
                if name in match.routes:
                    return self._app.scripts[match.routes[name][0].script]
        return None

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        waiting = len(self._app.queues[queue_name])
        return waiting, waiting

    def read_key(self, app_id: AppId, key: str) -> KvEntry:
        if key not in self._app.kv:
            return KvEntry()
        text = encode_payload(self._app.kv[key], what=key)
        # any change of the value is another version
        return KvEntry(text, 1 + hash(text) % 2**31)

    def list_keys(self, app_id: AppId, prefix: str, after: str, limit: int) -> list[str]:
        return [key for key in sorted(self._app.kv) if key.startswith(prefix) and key > after][:limit]

    def read_secret(self, app_id: AppId, name: str) -> str | None:
        return self._app.secrets.get(name)

    def list_http_hosts(self, app_id: AppId) -> frozenset[str]:
        return frozenset(self._app.manifest.http_hosts)

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        for message in messages:
            self._app.queues[message.queue_name].append(json.loads(message.payload))
        return [message.id for message in messages]


class _AppHttp:
    """Hands requests to the test instead of the network."""

    def __init__(self, app: App) -> None:
        self._app = app

    def send(self, request: HttpRequest, rules: HttpRules) -> HttpResponse:
        return self._app.answer_http(request)


def _refuse_http(request: HttpRequest) -> HttpResponse:
    raise LookupError(f"the handler asks for {request.method} {request.url}: give the test app an `answer_http`")


def queue_event(
    payload: Json, *, queue: str = "test", attempt: int = 1, max_attempts: int = 3, message_id: UUID | None = None
) -> QueueEvent:
    """Return a message."""
    return QueueEvent(queue, str(message_id or uuid7()), payload, attempt, max_attempts, datetime.now(UTC))


def http_event(
    method: str,
    path: str,
    *,
    json: Json = None,
    text: str | None = None,
    raw: bytes = b"",
    params: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpEvent:
    """Return a request with a JSON, text or binary body."""
    body = json if text is None else text
    data = raw or (b"" if body is None else text.encode() if text is not None else encode_payload(json).encode())
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    every = {name: [value] for name, value in (query or {}).items()}
    return HttpEvent(method, path, params or {}, query or {}, lower, body, data, every)


def invoke_event(args: Json, *, caller: str = "test") -> InvokeEvent:
    """Return what a script that is invoked gets."""
    return InvokeEvent(args, caller)


def cron_event(scheduled_for: datetime, payload: Json = None) -> CronEvent:
    """Return a tick of a schedule."""
    return CronEvent(scheduled_for, payload)


def email_event(
    text: str = "",
    *,
    subject: str = "",
    sender: str = "ann@example.com",
    recipient: str = "test@test",
    html: str | None = None,
    headers: Mapping[str, str] | None = None,
    attachments: Mapping[str, bytes] | None = None,
) -> EmailEvent:
    """Return a mail; `attachments` are files by name. It is written and read again, as if it had been sent."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, recipient, subject
    for name, value in (headers or {}).items():
        mail[name] = value
    mail.set_content(text)
    if html is not None:
        mail.add_alternative(html, subtype="html")
    for name, data in (attachments or {}).items():
        main, _, sub = (mimetypes.guess_type(name)[0] or "application/octet-stream").partition("/")
        mail.add_attachment(data, maintype=main, subtype=sub, filename=name)
    return received_email(mail.as_bytes(), sender=sender, recipient=recipient)


def received_email(raw: bytes, *, sender: str = "ann@example.com", recipient: str = "test@test") -> EmailEvent:
    """Return the mail in a .eml file, as it would arrive."""
    event = make_event(parse_mail(raw), envelope_from=parseaddr(sender)[1], max_bytes=MAX_PAYLOAD_BYTES)
    return EmailEvent.of({**event, "recipient": recipient})


def dead_letter_event(original: Json, error: Json = None, *, attempts: int = 3) -> DeadLetterEvent:
    """Return a new dead letter."""
    return DeadLetterEvent(str(uuid7()), original, error, attempts)


def load_app(folder: str | Path, *, timeout: float = 5.0) -> App:
    """Return the app in a folder with a `picloud.toml`. Close it when done; the fixture does so by itself.

    Raises: InvalidManifest.
    """
    return App(load_manifest(Path(folder)), timeout=timeout)


@pytest.fixture
def picloud_app() -> Iterator[Callable[[str | Path], App]]:
    """Give a function that loads an app folder; all apps are closed at the end of the test."""
    apps: list[App] = []

    def load(folder: str | Path, *, timeout: float = 5.0) -> App:
        apps.append(load_app(folder, timeout=timeout))
        return apps[-1]

    yield load
    for app in apps:
        app.close()
