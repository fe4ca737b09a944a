"""The example of a schedule through the whole process: nights that were missed are reported, each once."""

from __future__ import annotations

import itertools
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg
from node_process import ROOT, NodeProcess, run_cli, wait_until

EXAMPLE = ROOT / "examples" / "nightly-report"
# a little more than three days: the clock may have been changed meanwhile
LOOK_BACK = "update cron_trigger_details set next_fire_at = next_fire_at - interval '74 hours' where queue_name is null"


def test_missed_nights_are_reported_by_the_node_that_finds_them(database: str, tmp_path: Path) -> None:
    home, environment = tmp_path / "home", {"DATABASE_URL": database}
    with NodeProcess(home, str(EXAMPLE), env=environment) as node:
        shown = run_cli("triggers", "nightly-report", "--json", home=home)
        sale, report, reminder = json.loads(shown.stdout)["items"]
        assert (sale["queue_name"], report["script"], reminder["queue_name"]) == ("sales", "report", "reminders")
        # deployed again: nothing changes
        again = run_cli("deploy", str(EXAMPLE), home=home)
        assert "nothing to change (2 scripts, 3 triggers)" in again.stdout, again.stdout + again.stderr
        with psycopg.connect(database, autocommit=True) as conn:
            # as if no node had run for three nights
            conn.execute(LOOK_BACK)
        wait_until(lambda: len(reports(node)) == 3, 60, lambda: (reports(node), node.log.read_text()[-2000:]))
        days = [date.fromisoformat(day) for day in reports(node)]
        assert [later - earlier for earlier, later in itertools.pairwise(days)] == [timedelta(days=1)] * 2
        cron = details(node)
        assert (cron["fired"], cron["left_out"], cron["last_fires"]) == (3, 0, 3)
        assert "reminders" not in node.queues("nightly-report")
        assert node.stop() == 0


def reports(node: NodeProcess) -> list[str]:
    return sorted(message["payload"]["day"] for message in node.messages("nightly-report", "reports"))


def details(node: NodeProcess) -> dict[str, Any]:
    with node.client() as client:
        shown = client.get("/api/v1/supervisor", params={"path": "/picloud/services/cron"}).json()
    found: dict[str, Any] = shown["details"]
    return found
