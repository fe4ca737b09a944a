"""What `invoke` checks: how deep, which script, what goes along."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from picloud.engine.logs import clean_text
from picloud.engine.sandbox import ExportError, Meter, export_value
from picloud.engine.world import World
from picloud.errors import InvalidPayload, InvokeError, PayloadTooLarge
from picloud.payload import encode_payload
from picloud.routes import METHODS
from picloud.types import Json, Script

if TYPE_CHECKING:
    from picloud.engine.job import Job

_FUNCTION = re.compile(r"'(\w*function\w*|method|\w+_method|method-wrapper)' object")


def check_depth(depth: int, limit: int) -> None:
    """Refuse a callee at `depth`, past `limit`.

    Raises: InvokeError.
    """
    if depth > limit:
        raise InvokeError(f"invoke: depth limit exceeded (max {limit})")


def resolve(world: World, job: Job, target: str, method: str | None) -> Script:
    """Find the script that `target` names: `name`, `own-app/name`, or a route's path `/path`.

    Raises: InvokeError.
    """
    if type(target) is not str:
        raise InvokeError(f"invoke: target must be a script's name or a route's path, not {type(target).__name__}")
    shown = clean_text(target, 200)
    if method is not None and (type(method) is not str or method.upper() not in METHODS):
        raise InvokeError(f"invoke: unknown method (use one of {', '.join(sorted(METHODS))})")
    if target.startswith("/"):
        return _resolve_route(world, job, target, None if method is None else method.upper(), shown)
    if method is not None:
        raise InvokeError(f"invoke: method is for a route's path ('/{shown}'), '{shown}' is a script's name")
    app, slash, name = target.rpartition("/")
    if slash and app != job.app_name:
        raise InvokeError("invoke: cross-app call refused")
    script = world.find_script(job.app_id, name)
    if script is None:
        raise InvokeError(f"invoke: script '{shown}' not found")
    if script.app_id != job.app_id:
        raise InvokeError("invoke: cross-app call refused")
    return script


def _resolve_route(world: World, job: Job, path: str, method: str | None, shown: str) -> Script:
    script = world.find_route(job.app_id, path, method)
    if script is None:
        raise InvokeError(f"invoke: no route for '{shown}'" + (f" ({method})" if method is not None else ""))
    if script.app_id != job.app_id:
        raise InvokeError("invoke: cross-app call refused")
    return script


def copy_args(args: Json, meter: Meter) -> Json:
    """Return the arguments as JSON data of the callee's own.

    Raises: InvokeError for what JSON cannot carry.
    """
    if args is None:
        return None
    try:
        return export_value(args, path="args", meter=meter)
    except ExportError as error:
        if _FUNCTION.search(str(error)):
            raise InvokeError("invoke: args must not contain functions") from None
        raise InvokeError(f"invoke: {error}") from None


def encode_call(args: Json, caller: str, meter: Meter, max_bytes: int) -> str:
    """Return the event of a later call as JSON text. Raises: InvokeError."""
    body = copy_args(args, meter)
    try:
        text = encode_payload(body, area="invoke", what="args", max_bytes=max_bytes)
    except (InvalidPayload, PayloadTooLarge) as error:
        raise InvokeError(str(error)) from None
    return f'{{"body":{text},"caller":{json.dumps(caller)}}}'
