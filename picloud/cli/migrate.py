"""`picloud migrate`: the database's schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from picloud.cli.options import home_option, json_option

if TYPE_CHECKING:
    from picloud.db.migrate import MigrationStatus

_STYLES = {"applied": "green", "pending": "yellow", "edited": "red", "unknown": "red"}


@click.command("migrate", short_help="Bring the database's schema up to date.")
@click.option("--status", "only_status", is_flag=True, help="Only show which migrations are applied.")
@home_option
@json_option
def migrate_command(only_status: bool, home: Path | None, as_json: bool) -> None:
    """Apply the migrations that the database does not have yet. `picloud up` does the same at its start."""
    from picloud.cli.direct import with_connection
    from picloud.cli.screen import print_json
    from picloud.db.migrate import migrate, status

    if only_status:
        _show_status(with_connection(home, status), as_json)
        return
    done = with_connection(home, migrate)
    if as_json:
        print_json({"applied": list(done.applied), "already": done.already})
        return
    for name in done.applied:
        click.echo(f"applied {name}")
    if not done.applied:
        click.echo(f"nothing to do: {done.already} applied already")


def _show_status(migrations: tuple[MigrationStatus, ...], as_json: bool) -> None:
    from picloud.cli.screen import print_json

    if as_json:
        items = [{"name": m.name, "state": m.state, "applied_at": m.applied_at} for m in migrations]
        print_json({"items": items})
        return
    width = max((len(migration.name) for migration in migrations), default=0)
    for migration in migrations:
        at = f"  {migration.applied_at:%Y-%m-%d %H:%M:%S}" if migration.applied_at else ""
        state = click.style(f"{migration.state:<7}", fg=_STYLES.get(migration.state))
        click.echo(f"{migration.name:<{width}}  {state}{at}".rstrip())
