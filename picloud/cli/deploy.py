"""`picloud deploy`: bring an app to what its folder says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from picloud.cli.options import NodeAddress, json_option, node_options

if TYPE_CHECKING:
    from picloud.manifest import Manifest


@click.command("deploy", short_help="Bring an app to what its folder says.")
@click.argument("app_dir", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@node_options
@json_option
def deploy_command(app_dir: Path, dry_run: bool, node: NodeAddress, as_json: bool) -> None:
    """Deploy the folder APP_DIR: its picloud.toml and scripts.

    Scripts and triggers that are not in the folder are deleted, messages stay. What is equal is left alone, so
    deploying twice changes nothing the second time.
    """
    from picloud.cli.client import path
    from picloud.cli.diff import print_diff, summarise
    from picloud.cli.screen import print_json, stdout
    from picloud.manifest import load_manifest

    manifest = load_manifest(app_dir)
    with node.connect() as client:
        diff = client.post(path("apps", manifest.app, "deploy"), _request(manifest, dry_run))
    if as_json:
        print_json(diff)
        return
    console = stdout()
    print_diff(console, diff)
    note = " (dry run: nothing was changed)" if dry_run and diff["changed"] else ""
    console.print(f"{manifest.app}: {summarise(diff)}{note}", markup=False, soft_wrap=True)
    for warning in diff["warnings"]:
        click.secho(f"warning: {warning}", fg="yellow", err=True)


def _request(manifest: Manifest, dry_run: bool) -> dict[str, Any]:
    triggers = [
        {"queue": trigger.queue, "script": trigger.script, **trigger.settings} for trigger in manifest.queue_triggers
    ]
    routes = [
        {"method": route.method, "path": route.path, "script": route.script, "enabled": route.enabled}
        | route.rules.to_json()
        for route in manifest.http_triggers
    ]
    crons = []
    for cron in manifest.cron_triggers:
        values = asdict(cron)
        crons.append({"queue": values.pop("queue_name"), **values})
    dead_letters = []
    for trigger in manifest.dead_letter_triggers:
        values = asdict(trigger)
        dead_letters.append({"queue": values.pop("queue_name"), **values})
    return {
        "scripts": dict(manifest.scripts),
        "triggers": {
            "queue": triggers,
            "http": routes,
            "cron": crons,
            "dead_letter": dead_letters,
            "email": [asdict(email) for email in manifest.email_triggers],
        },
        "queues": [{"name": queue.name, **queue.settings} for queue in manifest.queues],
        "http_hosts": list(manifest.http_hosts),
        "record_executions": manifest.record_executions,
        "record_sample_rate": manifest.record_sample_rate,
        "dry_run": dry_run,
    }
