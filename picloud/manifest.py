"""An app as a folder: `picloud.toml` beside the scripts, read into one record and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from picloud.backoff import SHAPES
from picloud.config import suggest
from picloud.cron_spec import CronTriggerSpec
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.errors import InvalidInput, InvalidManifest, InvalidName, ScriptInvalid, ScriptsInvalid
from picloud.field_checks import RETRY_RANGES
from picloud.mail_spec import EmailTriggerSpec
from picloud.manifest_cron import check_crons, read_crons
from picloud.manifest_dead_letters import check_dead_letters, read_dead_letters
from picloud.manifest_email import check_emails, read_emails
from picloud.manifest_faults import check_keys as _check_keys
from picloud.manifest_faults import check_script as _check_script
from picloud.manifest_faults import fail as _fail
from picloud.manifest_faults import find_pointer as _pointer
from picloud.manifest_faults import read_tables
from picloud.manifest_faults import show as _shown
from picloud.manifest_queues import QueueSpec, check_queues, read_queues
from picloud.names import check_app_name, check_queue_name, check_script_name
from picloud.route_rules import NO_RULES, RULES, RouteRules, read_rules
from picloud.routes import METHODS, parse_pattern
from picloud.types import RecordMode

FILE_NAME = "picloud.toml"
MAX_SCRIPT_BYTES = 128 * 1024
"""The engine compiles no longer source."""
MAX_MANIFEST_BYTES = 1024 * 1024
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)

_RANGES: dict[str, tuple[int, int]] = {
    "visibility_timeout_secs": (1, 43_200),
    **RETRY_RANGES,
    "batch_size": (1, 10_000),
    "concurrency": (1, 64),
}
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:\d{1,5})?\Z")
_SETTINGS = ("enabled", "retry_backoff", *_RANGES)


@dataclass(frozen=True, slots=True)
class QueueTriggerSpec:
    """Which script consumes which queue. `settings` holds only what was written: the rest has its default."""

    queue: str
    script: str
    settings: Mapping[str, int | str | bool]


@dataclass(frozen=True, slots=True)
class HttpTriggerSpec:
    """Which script answers which method and path."""

    method: str
    path: str
    script: str
    enabled: bool = True
    rules: RouteRules = NO_RULES

    @property
    def name(self) -> str:
        """What tells it apart from the app's other routes."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an app is to consist of: its scripts by name, and its triggers."""

    app: str
    scripts: Mapping[str, str]
    """Source by name."""
    queue_triggers: tuple[QueueTriggerSpec, ...] = ()
    http_triggers: tuple[HttpTriggerSpec, ...] = ()
    http_hosts: tuple[str, ...] = ()
    """Where its scripts may send requests to."""
    folder: Path | None = None
    """Where it was read from."""
    cron_triggers: tuple[CronTriggerSpec, ...] = ()
    record_executions: RecordMode | None = None
    """Which executions are recorded; None: as it is."""
    record_sample_rate: float | None = None
    queues: tuple[QueueSpec, ...] = ()
    """Settings of queues; one that is not here keeps what it has."""
    dead_letter_triggers: tuple[DeadLetterTriggerSpec, ...] = ()
    email_triggers: tuple[EmailTriggerSpec, ...] = ()

    @property
    def addresses(self) -> dict[str, EmailTriggerSpec]:
        """Email triggers by the address that works on every node."""
        return {f"{spec.name}@{self.app}": spec for spec in self.email_triggers}


def load_manifest(folder: Path) -> Manifest:
    """Read an app folder: `picloud.toml` and the scripts it names, or every *.py file where it names none.

    Raises: InvalidManifest that names the file and the key.
    """
    path = folder / FILE_NAME
    try:
        return _manifest(folder, _read_toml(folder, path))
    except InvalidManifest as error:
        if str(error).startswith(str(folder)):
            raise
        raise InvalidManifest(f"{path}: {error}", pointer=error.pointer) from error


def check_manifest(manifest: Manifest) -> None:
    """Check names, settings, and that every trigger finds its script and has its queue for itself.

    Raises: InvalidManifest; its `pointer` leads to the value ("/triggers/queue/0/script").
    """
    _check_name(check_app_name, manifest.app, "app.name", "/app/name")
    for name in manifest.scripts:
        _check_name(check_script_name, name, "scripts", f"/scripts/{name}")
    seen: dict[str, int] = {}
    for at, trigger in enumerate(manifest.queue_triggers):
        _check_trigger(trigger, at, manifest.scripts)
        if trigger.queue in seen:
            _fail(
                f"triggers.queue[{at}].queue",
                f"queue '{trigger.queue}' has a consumer already: triggers.queue[{seen[trigger.queue]}]",
            )
        seen[trigger.queue] = at
    _check_routes(manifest)
    check_crons(manifest.cron_triggers, manifest.scripts)
    check_dead_letters(manifest.dead_letter_triggers, manifest.scripts)
    _check_recording(manifest)
    check_queues(manifest.queues)
    check_emails(manifest.email_triggers, manifest.scripts)
    for at, host in enumerate(manifest.http_hosts):
        if not isinstance(host, str) or not _HOST.match(host):
            _fail(
                f"app.http_hosts[{at}]",
                f"must be a host such as api.example.com, *.example.com or localhost:8080, not {_shown(host)}",
            )


def _check_recording(manifest: Manifest) -> None:
    mode, rate = manifest.record_executions, manifest.record_sample_rate
    if mode is not None and mode not in RECORD_MODES:
        _fail("app.record_executions", f"must be one of {', '.join(RECORD_MODES)}, not {_shown(mode)}")
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1):
        _fail("app.record_sample_rate", f"must be a share from 0 to 1, such as 0.05, not {_shown(rate)}")


def check_scripts(manifest: Manifest, compile_script: Callable[[str, str], object]) -> None:
    """Compile every script, so that all faults of all scripts are told at once.

    Raises: ScriptInvalid for one bad script, ScriptsInvalid for more.
    """
    bad: list[ScriptInvalid] = []
    for name, source in manifest.scripts.items():
        try:
            compile_script(name, source)
        except ScriptInvalid as error:
            error.pointer = "/scripts/" + name.replace("~", "~0").replace("/", "~1")
            bad.append(error)
    if len(bad) == 1:
        raise bad[0]
    if bad:
        raise ScriptsInvalid(bad)


def _manifest(folder: Path, document: Mapping[str, Any]) -> Manifest:
    _check_keys(document, ("app", "scripts", "triggers", "queues"), "")
    app = _table(document, "app", "app")
    _check_keys(app, ("name", "http_hosts", "record_executions", "record_sample_rate"), "app.")
    if "name" not in app:
        _fail("app.name", 'missing: write [app] and name = "my-app"')
    triggers = _table(document, "triggers", "triggers")
    _check_keys(triggers, ("queue", "http", "cron", "dead_letter", "email"), "triggers.")
    queue_triggers = tuple(_read_triggers(triggers.get("queue", [])))
    http_triggers = tuple(_read_routes(triggers.get("http", [])))
    crons = tuple(read_crons(triggers.get("cron", [])))
    queues = tuple(read_queues(document.get("queues", [])))
    emails = tuple(read_emails(triggers.get("email", [])))
    hosts = app.get("http_hosts", [])
    if not isinstance(hosts, list):
        _fail("app.http_hosts", f"must be a list of hosts, not {_shown(hosts)}")
    scripts = dict(_read_scripts(folder, document))
    manifest = Manifest(
        app["name"],
        scripts,
        queue_triggers,
        http_triggers,
        tuple(hosts),
        folder,
        crons,
        app.get("record_executions"),
        app.get("record_sample_rate"),
        queues,
        tuple(read_dead_letters(triggers.get("dead_letter", []))),
        emails,
    )
    check_manifest(manifest)
    return manifest


def _read_toml(folder: Path, path: Path) -> dict[str, Any]:
    if not folder.exists():
        raise InvalidManifest(f"{folder}: no such folder")
    if not folder.is_dir():
        raise InvalidManifest(f"{folder}: not a folder: give the folder that holds {FILE_NAME}")
    try:
        return tomllib.loads(_read_text(path, MAX_MANIFEST_BYTES))
    except FileNotFoundError:
        raise InvalidManifest(f"{folder}: no {FILE_NAME} in this folder: is it an app?") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidManifest(f"not valid TOML: {error}") from error


def _read_scripts(folder: Path, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "scripts" not in document:
        for path in sorted(folder.glob("*.py")):
            yield path.stem, _read_script(path, path.name)
        return
    for name, file in _table(document, "scripts", "scripts").items():
        key = f"scripts.{name}"
        if not isinstance(file, str) or not file:
            _fail(key, f'must be a file name such as "{name}.py", not {_shown(file)}')
        path = folder / file
        if not path.resolve().is_relative_to(folder.resolve()):
            _fail(key, f"{file!r} is outside the app's folder")
        if not path.exists():
            _fail(key, f"no file {file!r} in the folder{suggest(file, [p.name for p in folder.glob('*.py')])}")
        yield name, _read_script(path, key)


def _read_script(path: Path, key: str) -> str:
    try:
        return _read_text(path, MAX_SCRIPT_BYTES)
    except InvalidManifest as error:
        _fail(key, str(error))


def _read_text(path: Path, max_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InvalidManifest(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > max_bytes:
        raise InvalidManifest(f"{path.name} is larger than {max_bytes // 1024} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidManifest(f"{path.name} is not UTF-8 text: line {line}: {error.reason}") from error
    if "\0" in text:
        raise InvalidManifest(f"{path.name} has a NUL character")
    return text


def _read_triggers(entries: Any) -> Iterator[QueueTriggerSpec]:
    for key, entry in read_tables(entries, "triggers.queue"):
        _check_keys(entry, ("queue", "script", *_SETTINGS), f"{key}.")
        for needed in ("queue", "script"):
            if needed not in entry:
                _fail(f"{key}.{needed}", "missing")
        settings = {name: value for name, value in entry.items() if name in _SETTINGS}
        yield QueueTriggerSpec(entry["queue"], entry["script"], settings)


def _read_routes(entries: object) -> Iterator[HttpTriggerSpec]:
    if not isinstance(entries, list):
        _fail("triggers.http", "write each route as a table of its own: [[triggers.http]]")
    for key, entry in read_tables(entries, "triggers.http"):
        _check_keys(entry, ("method", "path", "script", "enabled", *RULES), f"{key}.")
        for needed in ("path", "script"):
            if needed not in entry:
                _fail(f"{key}.{needed}", "missing")
        rules = _read_rules(key, {name: value for name, value in entry.items() if name in RULES})
        method, enabled = entry.get("method", "POST"), entry.get("enabled", True)
        yield HttpTriggerSpec(method, entry["path"], entry["script"], enabled, rules)


def _read_rules(key: str, values: Mapping[str, Any]) -> RouteRules:
    try:
        return read_rules(values)
    except InvalidInput as error:
        raise InvalidManifest(f"{key}.{error}", pointer=_pointer(key) + (error.pointer or "")) from error


def _check_routes(manifest: Manifest) -> None:
    seen: dict[tuple[str, str], int] = {}
    for at, trigger in enumerate(manifest.http_triggers):
        key = f"triggers.http[{at}]"
        if trigger.method not in METHODS:
            _fail(f"{key}.method", f"must be one of {', '.join(METHODS)}, not {_shown(trigger.method)}")
        if not isinstance(trigger.path, str):
            _fail(f"{key}.path", f"must be text, not {_shown(trigger.path)}")
        try:
            pattern = parse_pattern(trigger.path)
        except InvalidInput as error:
            raise InvalidManifest(f"{key}.path: {error}", pointer=_pointer(f"{key}.path")) from error
        if not isinstance(trigger.enabled, bool):
            _fail(f"{key}.enabled", f"must be true or false, not {_shown(trigger.enabled)}")
        _check_script(trigger.script, f"{key}.script", manifest.scripts)
        earlier = seen.setdefault((trigger.method, pattern.key), at)
        if earlier != at:
            _fail(f"{key}.path", f"{trigger.name} is bound already: triggers.http[{earlier}]")


def _check_trigger(trigger: QueueTriggerSpec, at: int, scripts: Mapping[str, str]) -> None:
    key = f"triggers.queue[{at}]"
    _check_name(check_queue_name, trigger.queue, f"{key}.queue")
    _check_script(trigger.script, f"{key}.script", scripts)
    _check_keys(trigger.settings, _SETTINGS, f"{key}.")
    for name, value in trigger.settings.items():
        _check_setting(f"{key}.{name}", name, value)


def _check_setting(key: str, name: str, value: object) -> None:
    if name == "enabled":
        if not isinstance(value, bool):
            _fail(key, f"must be true or false, not {_shown(value)}")
    elif name == "retry_backoff":
        if value not in SHAPES:
            hint = suggest(value, SHAPES) if isinstance(value, str) else ""
            _fail(key, f"must be one of {', '.join(SHAPES)}, not {_shown(value)}{hint}")
    else:
        low, high = _RANGES[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            _fail(key, f"must be a whole number from {low} to {high}, not {_shown(value)}")


def _check_name(check: Any, name: object, key: str, pointer: str | None = None) -> None:
    try:
        check(name)
    except InvalidName as error:
        # the name checks say which kind of name it is, the key says where
        raise InvalidManifest(f"{key}: {error}", pointer=pointer or _pointer(key)) from error


def _table(document: Mapping[str, Any], name: str, key: str) -> Mapping[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        _fail(key, f"must be a table: write [{key}], not {_shown(table)}")
    return table
