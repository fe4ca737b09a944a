"""The example of a saga through the whole process: a dead letter undoes what was done, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from node_process import ROOT, NodeProcess, run_cli, wait_until

EXAMPLE = ROOT / "examples" / "saga"


def test_declined_order_gives_its_goods_back_and_a_replay_charges_nobody(database: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with NodeProcess(home, str(EXAMPLE), env={"DATABASE_URL": database}) as node:
        for queue in ("deliveries", "orders"):
            sent = run_cli("send", "saga", queue, f"@{EXAMPLE / queue}.jsonl", home=home)
            assert sent.returncode == 0, sent.stderr
            # there is something to sell before somebody orders
            wait_until(lambda: look(node, "stock/mug") != {"left": 0}, 30, lambda: node.queues("saga"))
        wait_until(lambda: len(list(node.messages("saga", "mails"))) == 4, 60, lambda: node.queues("saga"))
        ends = {number: look(node, f"orders/{number}")["state"] for number in range(1001, 1005)}
        assert ends == {1001: "charged", 1002: "cancelled", 1003: "charged", 1004: "sold out"}
        assert (look(node, "stock/tea"), look(node, "stock/mug")) == ({"left": 6}, {"left": 1})
        (dead,) = json.loads(run_cli("dead", "saga", "--json", home=home).stdout)["items"]
        assert (dead["source"], dead["queue_name"], dead["attempts"]) == ("queue", "charges", 2)

        assert run_cli("dead", "replay", "saga", "--all", home=home).returncode == 0
        wait_until(lambda: is_idle(node), 30, lambda: node.queues("saga"))
        assert look(node, "orders/1002") == {"id": "1002", "state": "cancelled", "why": "the card was declined"}
        assert look(node, "stock/tea") == {"left": 6}
        assert len(list(node.messages("saga", "mails"))) == 4
        assert json.loads(run_cli("dead", "saga", "--json", home=home).stdout)["items"] == []
        assert node.stop() == 0


def look(node: NodeProcess, path: str) -> Any:
    with node.client() as client:
        response = client.get(f"/fn/saga/{path}")
    assert response.status_code == 200, response.text
    return response.json()


def is_idle(node: NodeProcess) -> bool:
    counts = node.queues("saga")["charges"]
    return counts["ready"] + counts["delayed"] + counts["claimed"] == 0
