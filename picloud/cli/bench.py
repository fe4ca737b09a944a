"""`picloud bench`: measure this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from picloud.bench.measure import Case, Result

SUITES = ("queue", "actors", "engine", "http")


@click.command("bench")
@click.argument("suite", type=click.Choice(SUITES))
@click.option("--case", "names", multiple=True, metavar="NAME", help="Run only this case; may be given more than once.")
@click.option("--messages", type=click.IntRange(1, 10_000_000), default=20_000, show_default=True)
@click.option("--children", type=click.IntRange(1, 1_000_000), default=10_000, show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    help="How long to watch what idles, or to send requests.",
)
@click.option("--runs", type=click.IntRange(1, 100), default=3, show_default=True, help="Counted runs of each case.")
@click.option("--warm-ups", type=click.IntRange(0, 100), default=1, show_default=True, help="Runs before those.")
@click.option(
    "--dsn", help="Use this database instead of a throw-away embedded one. Its picloud tables are written to."
)
@click.option(
    "--peers",
    metavar="NAMES",
    default="",
    help="Also drain by other queues, in turn: pgqueuer,procrastinate (extra `bench`).",
)
@click.option("--ceiling", is_flag=True, help="Also run the consumer's statement by pgbench, in turn.")
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Draw the soak's charts."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench_command(
    suite: str,
    names: tuple[str, ...],
    messages: int,
    children: int,
    seconds: float,
    runs: int,
    warm_ups: int,
    dsn: str | None,
    peers: str,
    ceiling: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Measure SUITE: `queue`, `actors` or `http` on a throw-away database with full durability, `engine` without one.

    Each case runs to warm up, then --runs times in turn with the others; the median counts. Long ones
    (claim-backlog, claim-pinned-xmin, soak) run once, and only where --case names them.
    """
    import trio

    from picloud.bench.measure import report
    from picloud.cli.screen import print_json, stderr, stdout

    started_at = datetime.now(UTC)
    plan = Plan(
        names, runs, messages, children, seconds, None if as_json else stderr().print, warm_ups, peers, ceiling, plot
    )
    if suite == "engine":
        postgres, results = None, trio.run(_run_engine, plan)
    else:
        postgres, results = _run_on_database(plan, suite, dsn)
    if as_json:
        print_json(report(suite, postgres, started_at, results))
    else:
        stdout().print(_table(results))


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cases to run, how often and how large, and where to say so."""

    names: tuple[str, ...]
    runs: int
    messages: int
    children: int
    seconds: float
    say: Callable[[str], None] | None
    warm_ups: int = 1
    peers: str = ""
    ceiling: bool = False
    plot: Path | None = None

    async def measure(self, cases: list[Case]) -> list[Result]:
        """Run the chosen cases. Raises: click.BadParameter for a case that is not known."""
        from picloud.bench.measure import measure

        known = [case.name for case in cases]
        for name in self.names:
            if name not in known:
                raise click.BadParameter(f"no case {name!r} (cases: {', '.join(known)})", param_hint="--case")
        chosen = [case for case in cases if (case.name in self.names if self.names else not case.is_long)]
        return await measure(chosen, runs=self.runs, on_run=self._show, warm_up=self.warm_ups)

    def _show(self, name: str, figure: float) -> None:
        if self.say is not None:
            self.say(f"{name}: {format_figure(figure)}")


def _run_on_database(plan: Plan, suite: str, dsn: str | None) -> tuple[str, list[Result]]:
    """Return the server's version, too."""
    import trio

    from picloud.bench.node import throw_away_database

    with throw_away_database(dsn) as database:
        postgres = trio.run(_read_version, database)
        if suite == "actors":
            return postgres, trio.run(_run_actors, plan, database)
        if suite == "http":
            return postgres, trio.run(_run_http, plan, database)
        return postgres, trio.run(_run_queue, plan, database)


async def _read_version(dsn: str) -> str:
    from picloud.db.connection import connect

    conn = await connect(dsn)
    try:
        return f"{conn.info.server_version // 10000}.{conn.info.server_version % 10000}"
    finally:
        await conn.close()


async def _run_engine(plan: Plan) -> list[Result]:
    from picloud.bench.engine import engine_cases

    return await plan.measure(engine_cases(seconds=plan.seconds))


async def _run_actors(plan: Plan, dsn: str) -> list[Result]:
    from picloud.bench.actors import actor_cases
    from picloud.bench.idle import idle_cases

    idle = idle_cases(dsn, consumers=plan.children, seconds=plan.seconds)
    return await plan.measure([*actor_cases(children=plan.children), *idle])


async def _run_queue(plan: Plan, dsn: str) -> list[Result]:
    from picloud.bench.node import bench_node
    from picloud.bench.peers import check_names
    from picloud.bench.queue import QueueOptions, queue_cases
    from picloud.config import Settings

    options = QueueOptions(plan.messages, plan.seconds, tuple(check_names(plan.peers)), plan.ceiling, plan.plot)
    async with bench_node(dsn, Settings(home=Path.cwd(), log_level="error")) as node:
        return await plan.measure(queue_cases(node, dsn, options))


async def _run_http(plan: Plan, dsn: str) -> list[Result]:
    from picloud.bench.data_plane import http_cases, open_sites

    async with open_sites(dsn) as (node, bare):
        return await plan.measure(http_cases(node, bare, seconds=plan.seconds))


def _table(results: list[Result]) -> object:
    from rich.table import Table

    table = Table("case", "median", "min", "max", "unit", "runs", "also")
    for result in results:
        figures = [format_figure(figure) for figure in (result.value, result.min, result.max)]
        also = [f"{name} {format_figure(figure)}" for name, figure in result.also.items()]
        also += [f"{format_figure(ratio)}x {name}" for name, ratio in result.ratios.items()]
        table.add_row(result.case, *figures, result.unit, str(result.runs), "\n".join(also))
    return table


def format_figure(figure: float) -> str:
    """Four digits that say something: 12,173 and 0.04065."""
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.4g}"
