"""`picloud apps`, `picloud scripts`, `picloud triggers`: small lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from picloud.cli.options import NodeAddress, json_option, node_options
from picloud.cli.table import Column, print_table
from picloud.cli.wording import show_age, show_rest

Items = Sequence[Mapping[str, Any]]
Row = Callable[[Mapping[str, Any]], dict[str, str]]

_QUEUE_COLUMNS = (
    Column("QUEUE", "queue", style="bold", least=10),
    Column("SCRIPT", "script", least=10),
    Column("ENABLED", "enabled", spare=1),
    Column("RETRY", "retry", spare=2),
    Column("TIMEOUT", "timeout", right=True, spare=3),
    Column("FIRED", "fired", spare=4),
    Column("ID", "id", spare=5),
)
_ROUTE_COLUMNS = (
    Column("ROUTE", "route", style="bold", least=10),
    Column("SCRIPT", "script", least=10),
    Column("ENABLED", "enabled", spare=1),
    Column("AUTH", "auth", spare=2),
    Column("ORIGINS", "origins", spare=3),
    Column("ID", "id", spare=4),
)
_CRON_COLUMNS = (
    Column("SCHEDULE", "schedule", style="bold", least=10),
    Column("ZONE", "zone", spare=1, least=10),
    Column("RUNS", "runs", least=10),
    Column("NEXT", "next"),
    Column("IN", "in", right=True),
    Column("CATCH-UP", "catch_up", spare=3),
    Column("FIRED", "fired", spare=2),
    Column("ID", "id", spare=4),
)
_EMAIL_COLUMNS = (
    Column("ADDRESS", "address", style="bold", least=10),
    Column("SCRIPT", "script", least=10),
    Column("ENABLED", "enabled", spare=1),
    Column("RETRY", "retry", spare=2),
    Column("ID", "id", spare=3),
)

_DEAD_LETTER_COLUMNS = (
    Column("DEAD LETTERS OF", "of", style="bold", least=10),
    Column("SCRIPT", "script", least=10),
    Column("ENABLED", "enabled", spare=1),
    Column("RETRY", "retry", spare=2),
    Column("ID", "id", spare=4),
)


@click.command("apps", short_help="List apps.")
@node_options
@json_option
def apps_command(node: NodeAddress, as_json: bool) -> None:
    """List the apps of the node."""
    columns = (Column("APP", "name", style="bold", least=10), Column("CREATED", "created"))
    _list(node, "/apps", columns, _app_row, as_json, "no apps yet: `picloud deploy APP_DIR` makes one")


@click.command("scripts", short_help="List an app's scripts.")
@click.argument("app")
@node_options
@json_option
def scripts_command(app: str, node: NodeAddress, as_json: bool) -> None:
    """List the scripts of APP."""
    from picloud.cli.client import path

    columns = (
        Column("SCRIPT", "name", style="bold", least=10),
        Column("VERSION", "version", right=True),
        Column("UPDATED", "updated"),
        Column("SHA-256", "sha256", spare=1),
    )
    _list(node, path("apps", app, "scripts"), columns, _script_row, as_json, "no scripts in this app")


@click.command("triggers", short_help="List an app's triggers.")
@click.argument("app")
@node_options
@json_option
def triggers_command(app: str, node: NodeAddress, as_json: bool) -> None:
    """List the triggers of APP: which script runs for what. Those of schedules show when they fire next."""
    from picloud.cli.client import path
    from picloud.cli.screen import print_json, stdout

    kinds: tuple[tuple[str, Sequence[Column], Row], ...] = (
        ("", _QUEUE_COLUMNS, _trigger_row),
        ("http", _ROUTE_COLUMNS, _route_row),
        ("cron", _CRON_COLUMNS, _cron_row),
        ("dead_letter", _DEAD_LETTER_COLUMNS, _dead_letter_row),
        ("email", _EMAIL_COLUMNS, _email_row),
    )
    with node.connect() as client:
        found = [list(client.items(path("apps", app, "triggers", *kind.split()))) for kind, _, _ in kinds]
    if as_json:
        print_json({"items": [item for items in found for item in items]})
        return
    if not any(found):
        click.echo("no triggers in this app")
    shown = False
    for (_, columns, row), items in zip(kinds, found, strict=True):
        if items:
            if shown:
                click.echo()
            print_table(stdout(), columns, [row(item) for item in items])
            shown = True


def _list(
    node: NodeAddress,
    path: str,
    columns: Sequence[Column],
    row: Callable[[Mapping[str, Any]], dict[str, str]],
    as_json: bool,
    when_empty: str,
) -> None:
    from picloud.cli.screen import print_json, stdout

    with node.connect() as client:
        items = list(client.items(path))
    if as_json:
        print_json({"items": items})
    elif not items:
        click.echo(when_empty)
    else:
        print_table(stdout(), columns, [row(item) for item in items])


def _app_row(app: Mapping[str, Any]) -> dict[str, str]:
    return {"name": app["name"], "created": f"{show_age(app['created_at'])} ago"}


def _script_row(script: Mapping[str, Any]) -> dict[str, str]:
    return {
        "name": script["name"],
        "version": str(script["version"]),
        "updated": f"{show_age(script['updated_at'])} ago",
        "sha256": script["source_sha256"][:12],
    }


def _dead_letter_row(trigger: Mapping[str, Any]) -> dict[str, str]:
    queue = trigger["queue_name"]
    return {
        "of": trigger["source"] or "any source" if queue is None else f"queue {queue}",
        "script": trigger["script"],
        "enabled": "yes" if trigger["enabled"] else "no",
        "retry": _show_retry(trigger),
        "id": trigger["id"],
    }


def _show_retry(trigger: Mapping[str, Any]) -> str:
    attempts, shape, base = (trigger[f"retry_{name}"] for name in ("max_attempts", "backoff", "base_ms"))
    return f"{attempts} × {shape} {base} ms"


def _trigger_row(trigger: Mapping[str, Any]) -> dict[str, str]:
    return {
        "queue": trigger["queue_name"],
        "script": trigger["script"],
        "enabled": "yes" if trigger["enabled"] else "no",
        "retry": _show_retry(trigger),
        "timeout": f"{trigger['visibility_timeout_secs']} s",
        "fired": _show_fired(trigger),
        "id": trigger["id"],
    }


def _cron_row(trigger: Mapping[str, Any]) -> dict[str, str]:
    from picloud.cli.cron import show_moment

    coming, policy = trigger["next_fire_at"], trigger["catch_up"]
    return {
        "schedule": trigger["schedule"],
        "zone": trigger["timezone"],
        "runs": trigger["script"] or f"queue {trigger['queue_name']}",
        "next": show_moment(coming, trigger["timezone"]) if coming else "never" if trigger["enabled"] else "disabled",
        "in": show_rest(coming),
        "catch_up": policy if policy != "all" else f"all, {trigger['catch_up_limit']} at most",
        "fired": _show_fired(trigger),
        "id": trigger["id"],
    }


def _email_row(trigger: Mapping[str, Any]) -> dict[str, str]:
    return {
        "address": trigger["address"],
        "script": trigger["script"],
        "enabled": "yes" if trigger["enabled"] else "no",
        "retry": _show_retry(trigger),
        "id": trigger["id"],
    }


def _show_fired(trigger: Mapping[str, Any]) -> str:
    fired = trigger["last_fired_at"]
    return f"{show_age(fired)} ago" if fired else "never"


def _route_row(trigger: Mapping[str, Any]) -> dict[str, str]:
    signature = trigger["signature"]
    form = signature if isinstance(signature, str) else (signature or {}).get("header", "")
    return {
        "route": f"{trigger['method']} {trigger['path']}",
        "script": trigger["script"],
        "enabled": "yes" if trigger["enabled"] else "no",
        "auth": " ".join(filter(None, (trigger["auth"], form, ", ".join(trigger["secrets"])))),
        "origins": ", ".join((trigger["cors"] or {}).get("origins", [])),
        "id": trigger["id"],
    }
