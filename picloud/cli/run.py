"""`picloud run`: one handler file in the engine, without a server or a database."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import json_option
from picloud.cli.screen import print_json
from picloud.errors import PicloudError, ScriptInvalid
from picloud.types import Json

if TYPE_CHECKING:
    from picloud.engine import Event, Job, Outcome
    from picloud.types import NewMessage


@click.command("run", short_help="Run one handler file here, without a server or a database.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--event", "event_text", metavar="JSON|@FILE.json|-", default="null", help="The event. Default: null.")
@click.option("--timeout", type=click.FloatRange(0.001, 3600), default=10.0, show_default=True, help="Seconds.")
@json_option
def run_command(file: Path, event_text: str, timeout: float, as_json: bool) -> None:
    """Run the handler in FILE with one event; show its result, its log and what it would send.

    The event is the payload of a queue's message. An object whose "source" is queue, http, invoke, cron or dead_letter
    gives that kind of event, field by field; what is left out has a default. The other scripts of FILE's folder can be
    invoked by name. Nothing is sent anywhere. Exit code 1: the handler failed.

    \b
    picloud run triage.py --event '{"action": "opened"}'
    picloud run triage.py --event '{"source": "queue", "queue": "webhooks", "payload": {}, "attempt": 3}'
    picloud run triage.py --event @event.json --json
    """
    event = _make_event(_read_event(event_text))
    report = _run(file, event, timeout)
    if as_json:
        print_json(report)
    else:
        _show(report)
    if not report["ok"]:
        click.get_current_context().exit(1)


def _read_event(text: str) -> Json:
    from picloud.payload import decode_payload

    data: str | bytes = text
    if text == "-":
        data = sys.stdin.buffer.read()
    elif text.startswith("@"):
        try:
            data = Path(text[1:]).read_bytes()
        except OSError as error:
            raise _bad_event(f"{text[1:]}: {error.strerror}") from None
    try:
        return decode_payload(data, area="", what="event")
    except PicloudError as error:
        raise _bad_event(str(error)) from None


def _make_event(value: Json) -> Event:
    from picloud.engine.event_forms import event_from_json

    try:
        return event_from_json(value)
    except PicloudError as error:
        raise _bad_event(str(error)) from None


def _bad_event(fault: str) -> click.BadParameter:
    return click.BadParameter(fault, param_hint="--event")


def _run(file: Path, event: Event, timeout: float) -> dict[str, Any]:
    from picloud.engine import Engine, EngineSettings, Job
    from picloud.engine.folder import FolderWorld, read_source
    from picloud.engine.sandbox import prepare_process

    prepare_process()
    world = FolderWorld(file.absolute().parent)
    engine = Engine(EngineSettings(timeout_secs=timeout), world)
    try:
        try:
            script = engine.compile(file.stem, read_source(file))
        except ScriptInvalid as error:
            return _refused(error)
        outcome = _run_beside(engine, Job(world.app_id, "local", script, 1, event))
        return _report(outcome, world.sent)
    finally:
        engine.close()


def _run_beside(engine: Any, job: Job) -> Outcome:
    """Run a job on a thread of its own, as a node does: deep recursion needs its stack. Ctrl-C stops the handler."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.extend(engine.run_slice([job], slice_secs=0.0)), name="handler")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        engine.stop_all("interrupted")
        thread.join()
        raise
    return outcomes[0]


def _report(outcome: Outcome, sent: list[NewMessage]) -> dict[str, Any]:
    error = outcome.error
    return {
        "ok": outcome.ok,
        "result": outcome.value,
        "error": None
        if error is None
        else {
            "type": error.type,
            "message": error.message,
            "line": error.line,
            "source": error.source,
            "stack": [
                {"script": frame.script, "line": frame.line, "function": frame.function, "source": frame.source}
                for frame in error.stack
            ],
        },
        "effects": [_effect(message, True) for message in sent] + list(_effects(outcome)),
        "logs": [{"level": line.level, "message": line.message, **_fields(line.fields)} for line in outcome.logs],
        "duration_ms": round(outcome.duration * 1000, 3),
    }


def _fields(fields: Any) -> dict[str, Json]:
    return {"fields": dict(fields)} if fields else {}


def _effects(outcome: Outcome) -> Iterator[dict[str, Json]]:
    for message in outcome.messages:
        yield _effect(message, False)
    for write in outcome.effects.writes:
        what = {"set": {"value": json.loads(write.value or "null")}, "increment": {"by": write.amount}}
        version = {} if write.if_version is None else {"if_version": write.if_version}
        yield {"kind": f"kv.{write.kind}", "key": write.key, **what.get(write.kind, {}), **version}
    for later in outcome.effects.invocations:
        yield {"kind": "invoke_async", "id": str(later.id), "args": json.loads(later.event)["body"]}


def _effect(message: NewMessage, immediate: bool) -> dict[str, Json]:
    effect: dict[str, Json] = {
        "kind": "enqueue",
        "id": str(message.id),
        "queue": message.queue_name,
        "payload": json.loads(message.payload),
        "delay": message.delay or None,
        "deliver_after": message.deliver_after.isoformat() if message.deliver_after else None,
        "priority": message.priority or None,
        "max_attempts": message.max_attempts,
        "dedup_key": message.dedup_key,
        "immediate": immediate or None,
    }
    return {name: value for name, value in effect.items() if value is not None or name == "payload"}


def _refused(error: ScriptInvalid) -> dict[str, Any]:
    """Return the report of a script that breaks the policy."""
    faults = [{"line": fault.line, "column": fault.column, "message": fault.message} for fault in error.faults]
    line = error.faults[0].line if error.faults else None
    problem = {"type": "ScriptInvalid", "message": str(error), "line": line or None, "faults": faults}
    return {"ok": False, "result": None, "error": problem, "effects": [], "logs": [], "duration_ms": 0.0}


def _show(report: dict[str, Any]) -> None:
    for line in report["logs"]:
        fields = "".join(f" {name}={_text(value)}" for name, value in line.get("fields", {}).items())
        click.echo(f"{click.style(line['level'], dim=True)} {line['message']}{click.style(fields, dim=True)}")
    for effect in report["effects"]:
        click.echo(f"→ {_show_effect(effect)}")
    if report["ok"]:
        click.echo(_text(report["result"]))
    else:
        _show_error(report["error"])
    verdict = click.style("ok", fg="green") if report["ok"] else click.style("failed", fg="red")
    click.echo(f"{verdict} in {report['duration_ms']:.1f} ms", err=True)


def _show_effect(effect: dict[str, Json]) -> str:
    is_message = effect["kind"] == "enqueue"
    shown = [click.style(effect["queue"] if is_message else effect["kind"], bold=True)]
    if is_message:
        shown.append(_text(effect["payload"]))
    hidden = ("kind", "id", "queue", "payload") if is_message else ("kind", "id")
    return " ".join([*shown, *(f"{name}={_text(value)}" for name, value in effect.items() if name not in hidden)])


def _show_error(error: dict[str, Any]) -> None:
    label = click.style(error["type"], fg="red", bold=True)
    click.echo(f"{label}: {error['message']}", err=True)
    for frame in error.get("stack", ()):
        click.echo(f"  {frame['script']}.py:{frame['line']} in {frame['function']}", err=True)
        click.echo(f"    {frame['source']}", err=True)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
