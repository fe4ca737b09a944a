"""All commands and their one-line help, by section; nothing is imported before it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click

from picloud.version import __version__


class Place(NamedTuple):
    """Where a command is, and what it is for."""

    target: str
    summary: str


SECTIONS: dict[str, dict[str, Place]] = {
    "Run a node": {
        "up": Place("picloud.cli.up:up_command", "Start a node, and deploy an app folder."),
        "migrate": Place("picloud.cli.migrate:migrate_command", "Bring the database's schema up to date."),
        "db": Place("picloud.cli.database:db_group", "Start, stop or look into the embedded PostgreSQL."),
        "token": Place("picloud.cli.tokens:token_group", "Make API tokens, straight in the database."),
    },
    "Write and deploy apps": {
        "run": Place("picloud.cli.run:run_command", "Run one handler file here, without a server or a database."),
        "check": Place("picloud.cli.check:check_command", "Check scripts against the sandbox's policy."),
        "deploy": Place("picloud.cli.deploy:deploy_command", "Bring an app to what its folder says."),
        "apps": Place("picloud.cli.listings:apps_command", "List apps."),
        "scripts": Place("picloud.cli.listings:scripts_command", "List an app's scripts."),
        "secrets": Place("picloud.cli.secrets:secrets_group", "Set, list or delete an app's secrets."),
        "triggers": Place("picloud.cli.listings:triggers_command", "List an app's triggers."),
        "cron": Place("picloud.cli.cron:cron_group", "Show when a schedule is due."),
    },
    "Work with queues": {
        "send": Place("picloud.cli.send:send_command", "Send messages to a queue."),
        "queues": Place("picloud.cli.queues:queues_group", "Show what is in the queues; pause, resume or purge one."),
        "messages": Place("picloud.cli.messages:messages_group", "Look at a queue's messages; drop or move one."),
        "dead": Place("picloud.cli.dead:dead_group", "List, show, replay or discard dead letters."),
    },
    "Look inside": {
        "logs": Place("picloud.cli.logs:logs_command", "Show what an app's handlers logged, and how they failed."),
        "trace": Place("picloud.cli.trace:trace_command", "Show what an execution caused, across queues and invokes."),
        "running": Place("picloud.cli.running:running_command", "List executions that run now, on all nodes."),
        "cancel": Place("picloud.cli.running:cancel_command", "Ask a running execution to end."),
        "tree": Place("picloud.cli.tree:tree_command", "Show the supervision tree; live with --watch."),
        "bench": Place("picloud.cli.bench:bench_command", "Measure this machine."),
        "version": Place("picloud.cli.version:version_command", "Show versions."),
    },
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run; their help lines are known before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for places in SECTIONS.values() for name in places]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for places in SECTIONS.values():
            if cmd_name in places:
                module, _, attribute = places[cmd_name].target.partition(":")
                command: click.Command = getattr(import_module(module), attribute)
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            from picloud.config import suggest

            hint = suggest(name, self.list_commands(ctx))
            raise click.UsageError(f"no command '{name}'{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, places in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, place.summary) for name, place in places.items()], col_max=12)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="picloud", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def root(debug: bool) -> None:
    """picloud: your own functions and durable queues, in one process and one PostgreSQL.

    \b
    Start here:
      picloud up examples/github-webhooks
    """
