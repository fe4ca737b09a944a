"""`picloud cron`: try a schedule before it is deployed."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from picloud.cli.options import json_option
from picloud.cli.wording import show_rest


@click.group("cron", short_help="Show when a schedule is due.")
def cron_group() -> None:
    """Schedules. They are made with [[triggers.cron]] in picloud.toml; `picloud triggers APP` lists those of an app."""


@cron_group.command("next", short_help="Show the next times of a schedule.")
@click.argument("schedule")
@click.option("--timezone", default="UTC", show_default=True, metavar="NAME", help="IANA name, such as Europe/Berlin.")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@click.option("--after", metavar="TIME", help="From when on, such as 2027-03-27T00:00. Default: now.")
@json_option
def next_command(schedule: str, timezone: str, count: int, after: str | None, as_json: bool) -> None:
    """Show when SCHEDULE is due, in its time zone and in UTC; no node is asked.

    SCHEDULE is five fields (minute, hour, day of the month, month, day of the week), or one of @hourly, @daily,
    @weekly, @monthly, @yearly. A time that the zone's clock skips comes right after the gap; one that it shows twice
    comes once, unless minute or hour begin with `*`.

    \b
    picloud cron next "0 2 * * *" --timezone Europe/Berlin
    picloud cron next "*/15 9-17 * * MON-FRI" --timezone America/New_York --count 10
    picloud cron next "30 2 * * *" --timezone Europe/Berlin --after 2027-03-27T00:00
    """
    from picloud.cli.screen import print_json
    from picloud.schedules import parse_schedule

    parsed = parse_schedule(schedule, timezone)
    begin = datetime.now(UTC) if after is None else _read_time(after, timezone)
    moments = parsed.list_next(begin, count)
    if as_json:
        local = [parsed.show_local(moment) for moment in moments]
        utc = [moment.isoformat().replace("+00:00", "Z") for moment in moments]
        print_json({"schedule": parsed.text, "timezone": timezone, "next_fires": utc, "local": local})
        return
    for moment in moments:
        text = moment.isoformat()
        rest = "" if after is not None else f"  in {show_rest(text)}"
        click.echo(f"{show_moment(text, timezone)}  {moment:%Y-%m-%dT%H:%M}Z{rest}")


def show_moment(moment: str, timezone: str) -> str:
    """Return an RFC 3339 time as the zone's clock shows it: "Sun 2027-03-28 03:00 CEST"."""
    from picloud.errors import InvalidInput
    from picloud.zones import find_zone

    try:
        local = datetime.fromisoformat(moment).astimezone(find_zone(timezone))
    except InvalidInput:
        # a zone that only the node knows
        local = datetime.fromisoformat(moment).astimezone(UTC)
    return f"{local:%a %Y-%m-%d %H:%M} {local.tzname()}"


def _read_time(text: str, timezone: str) -> datetime:
    from picloud.zones import find_zone

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no time: write one such as 2027-03-27T00:00", param_hint="--after"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=find_zone(timezone))
