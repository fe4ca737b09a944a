"""The commands that ask a node: what they send, and what they show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_probes import Ran, Request, ScriptedNode, render, run_cli, scripted_node

from picloud.cli.tree import render_tree

LETTER = {
    "id": "0193814c-7c9e-7000-8000-000000000001",
    "source": "queue",
    "op": "receive",
    "queue_name": "orders",
    "trigger_id": None,
    "script": "triage",
    "event": {"payload": {"sku": "ä"}, "attempt": 2},
    "reason": "attempts_exhausted",
    "error": {
        "type": "KeyError",
        "message": "'sku'\nsecond line",
        "line": 7,
        "source": "sku = order['sku']",
        "stack": [{"script": "triage", "line": 7, "function": "handle", "source": "sku = order['sku']"}],
    },
    "attempts": 2,
    "enqueued_at": "2026-01-01T00:00:00Z",
    "died_at": "2026-01-01T00:00:01Z",
    "resolved_at": None,
    "resolution": None,
    "resolved_by": None,
    "resolution_note": None,
    "replay_message_id": None,
}
AS_OF = "2026-12-01T09:00:00Z"
SINCE = datetime(2026, 12, 1, 8, tzinfo=UTC)


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as node:
        node.answers["GET /apps"] = listing({"id": "1", "name": "shop", "created_at": "2026-01-01T00:00:00Z"})
        yield node


def listing(*items: Any) -> tuple[int, Any]:
    return 200, {"items": list(items), "next_cursor": None}


def run(node: ScriptedNode, *args: str, stdin: str = "") -> Ran:
    return run_cli(*args, *node.options(), stdin=stdin.encode())


def asked(node: ScriptedNode) -> list[tuple[str, str, Any]]:
    return [(request.method, request.path, request.body) for request in node.requests]


def queue(name: str, **values: Any) -> dict[str, Any]:
    counts = {"ready": 0, "delayed": 0, "claimed": 0, "dead": 0, "oldest_ready_age_secs": None, "consumer": None}
    return {"name": name, **counts, **values}


# --- queues and lists


def test_queues_of_one_app(node: ScriptedNode) -> None:
    consumer = {"trigger_id": "1", "script": "triage", "enabled": False}
    orders = queue("orders", ready=12, dead=1, oldest_ready_age_secs=75.2, consumer=consumer)
    node.answers["GET /apps/shop/queues"] = listing(orders, queue("mail"))
    assert run(node, "queues", "shop").out.splitlines() == [
        "QUEUE   READY  DELAYED  CLAIMED  DEAD  OLDEST  CONSUMER",
        "orders     12        0        0     1  1m 15s  triage (disabled)",
        "mail        0        0        0     0       -  -",
    ]


def test_queues_of_all_apps_name_the_app(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/queues"] = listing(queue("orders"))
    assert run(node, "queues").out.splitlines()[1].split()[:2] == ["shop", "orders"]
    items = json.loads(run(node, "queues", "--json").out)["items"]
    assert items == [{"app": "shop", **queue("orders")}]


def test_no_queue_is_a_sentence(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/queues"] = listing()
    assert run(node, "queues", "shop").out == "no queues yet: a queue appears with its first message or trigger\n"
    assert json.loads(run(node, "queues", "shop", "--json").out) == {"items": []}


def test_apps_scripts_and_triggers(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/scripts"] = listing(
        {"id": "1", "name": "triage", "version": 3, "source_sha256": "ab" * 32, "updated_at": "2026-01-01T00:00:00Z"}
    )
    trigger = {"id": "77", "kind": "queue", "queue_name": "orders", "script": "triage", "enabled": True}
    settings = {"retry_max_attempts": 3, "retry_backoff": "linear", "retry_base_ms": 200, "visibility_timeout_secs": 30}
    node.answers["GET /apps/shop/triggers"] = listing({**trigger, **settings, "last_fired_at": None})
    node.answers["GET /apps/shop/triggers/http"] = listing()
    assert run(node, "apps").out.splitlines()[1].startswith("shop  ")
    assert run(node, "scripts", "shop").out.splitlines()[1].split()[:2] == ["triage", "3"]
    node.answers["GET /apps/shop/triggers/cron"] = listing()
    node.answers["GET /apps/shop/triggers/dead_letter"] = listing()
    node.answers["GET /apps/shop/triggers/email"] = listing()
    row = run(node, "triggers", "shop").out.splitlines()[1]
    assert row.split() == ["orders", "triage", "yes", *["3", "×", "linear", "200", "ms", "30", "s", "never", "77"]]
    rules = {"auth": "signature", "secrets": ["key"], "signature": "github", "cors": {"origins": ["*"]}}
    route = {"id": "78", "kind": "http", "method": "POST", "path": "/in", "script": "triage", "enabled": False}
    node.answers["GET /apps/shop/triggers/http"] = listing({**route, **rules})
    shown = run(node, "triggers", "shop").out.splitlines()
    assert shown[1] == row
    assert shown[4].split() == ["POST", "/in", "triage", "no", "signature", "github", "key", "*", "78"]
    listed = json.loads(run(node, "triggers", "shop", "--json").out)["items"]
    assert [item["kind"] for item in listed] == ["queue", "http"]


def test_triggers_show_when_schedules_fire_next(node: ScriptedNode) -> None:
    cron = {"id": "78", "kind": "cron", "schedule": "0 2 * * *", "timezone": "Europe/Berlin", "script": "report"}
    more = {"queue_name": None, "catch_up": "all", "catch_up_limit": 7, "enabled": True, "last_fired_at": None}
    runs = {**cron, **more, "next_fire_at": "2199-07-01T00:00:00Z"}
    sends = {**runs, "id": "79", "script": None, "queue_name": "jobs", "next_fire_at": None, "enabled": False}
    node.answers["GET /apps/shop/triggers"] = listing()
    node.answers["GET /apps/shop/triggers/http"] = listing()
    node.answers["GET /apps/shop/triggers/cron"] = listing(runs, sends)
    node.answers["GET /apps/shop/triggers/dead_letter"] = listing()
    node.answers["GET /apps/shop/triggers/email"] = listing()
    header, *rows = run(node, "triggers", "shop").out.splitlines()
    assert header.split() == ["SCHEDULE", "ZONE", "RUNS", "NEXT", "IN", "CATCH-UP", "FIRED", "ID"]
    assert "0 2 * * *  Europe/Berlin  report      Mon 2199-07-01 02:00 CEST" in rows[0]
    assert rows[0].endswith("all, 7 at most  never  78")
    assert rows[1].split()[6:9] == ["queue", "jobs", "disabled"]
    assert json.loads(run(node, "triggers", "shop", "--json").out) == {"items": [runs, sends]}
    node.answers["GET /apps/shop/triggers/cron"] = listing()
    assert run(node, "triggers", "shop").out == "no triggers in this app\n"


def test_triggers_show_addresses(node: ScriptedNode) -> None:
    for kind in ("", "/http", "/cron", "/dead_letter"):
        node.answers[f"GET /apps/shop/triggers{kind}"] = listing()
    retry = {"retry_max_attempts": 3, "retry_backoff": "linear", "retry_base_ms": 10}
    mail = {"id": "77", "kind": "email", "address": "orders@shop", "script": "read", "enabled": False, **retry}
    node.answers["GET /apps/shop/triggers/email"] = listing(mail)
    lines = run(node, "triggers", "shop").out.splitlines()
    assert lines[0].split()[:2] == ["ADDRESS", "SCRIPT"]
    assert lines[1].split()[:3] == ["orders@shop", "read", "no"]


def test_triggers_show_which_dead_letters_a_script_hears_of(node: ScriptedNode) -> None:
    retry = {"retry_max_attempts": 3, "retry_backoff": "linear", "retry_base_ms": 200}
    every = {"id": "78", "kind": "dead_letter", "source": None, "queue_name": None, "script": "mourn", "enabled": True}
    some = {**every, "id": "79", "source": "queue", "queue_name": "jobs"}
    for kind in ("", "/http", "/cron"):
        node.answers[f"GET /apps/shop/triggers{kind}"] = listing()
    node.answers["GET /apps/shop/triggers/dead_letter"] = listing({**every, **retry}, {**some, **retry})
    node.answers["GET /apps/shop/triggers/email"] = listing()
    rows = [line.split() for line in run(node, "triggers", "shop").out.splitlines()]
    assert rows[1] == ["any", "source", "mourn", "yes", "3", "×", "linear", "200", "ms", "78"]
    assert rows[2][:3] == ["queue", "jobs", "mourn"]


def test_cron_next_shows_the_day_on_which_the_clock_skips_the_time() -> None:
    ran = run_cli("cron", "next", "30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2027-03-27", "--count", "2")
    assert ran.out.splitlines() == [
        "Sat 2027-03-27 02:30 CET  2027-03-27T01:30Z",
        "Sun 2027-03-28 03:00 CEST  2027-03-28T01:00Z",
    ]
    ran = run_cli("cron", "next", "@hourly", "--after", "2027-03-27T00:30Z", "--count", "1", "--json")
    assert json.loads(ran.out)["next_fires"] == ["2027-03-27T01:00:00Z"]
    assert len(run_cli("cron", "next", "*/5 * * * *").out.splitlines()) == 5
    bad = run_cli("cron", "next", "0 25 * * *")
    assert (bad.code, "the hour '25'" in bad.err) == (1, True)
    assert "did you mean 'Europe/Berlin'" in run_cli("cron", "next", "@daily", "--timezone", "europe/berlin").err
    assert run_cli("cron", "next", "@daily", "--after", "noon").code == 2


# --- messages


MESSAGE = {
    "id": "0193814c-7c9e-7000-8000-000000000002",
    "queue_name": "orders",
    "state": "delayed",
    "payload": {"sku": "ä"},
    "attempt": 1,
    "max_attempts": 3,
    "priority": 5,
    "dedup_key": None,
    "enqueued_at": "2026-01-01T00:00:00Z",
    "deliver_after": "2026-01-01T00:00:00Z",
    "claimed_at": None,
}


def test_messages_of_a_queue_are_listed_and_shown(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/queues/orders/messages"] = listing(MESSAGE, MESSAGE)
    lines = run(node, "messages", "shop", "orders", "--state", "delayed", "--limit", "1").out.splitlines()
    assert lines[0].split() == ["ID", "STATE", "PRIORITY", "TRIES", "SENT", "PAYLOAD"]
    assert lines[1].split()[:4] == [MESSAGE["id"], "delayed", "5", "1/3"]
    assert lines[1].endswith('{"sku": "ä"}')
    assert len(lines) == 2
    assert node.requests[0].query["state"] == ["delayed"]
    node.answers[f"GET /apps/shop/queues/orders/messages/{MESSAGE['id']}"] = (200, MESSAGE)
    assert json.loads(run(node, "messages", "show", "shop", "orders", str(MESSAGE["id"])).out) == MESSAGE
    node.answers["GET /apps/shop/queues/orders/messages"] = listing()
    assert run(node, "messages", "shop", "orders").out == "no messages\n"


def test_messages_are_deleted_promoted_and_requeued(node: ScriptedNode) -> None:
    for name in ("a", "b"):
        node.answers[f"DELETE /apps/shop/queues/orders/messages/{name}"] = (204, None)
        node.answers[f"POST /apps/shop/queues/orders/messages/{name}/promote"] = (200, MESSAGE)
    node.answers["POST /apps/shop/queues/orders/messages/a/requeue"] = (200, MESSAGE)
    assert run(node, "messages", "delete", "shop", "orders", "a", "b").out == "deleted 2 messages\n"
    assert json.loads(run(node, "messages", "promote", "shop", "orders", "a", "--json").out) == {"promoted": 1}
    assert run(node, "messages", "requeue", "shop", "orders", "a").out == "requeued 1 message\n"
    assert [method for method, _, _ in asked(node)] == ["DELETE", "DELETE", "POST", "POST"]
    node.answers["POST /apps/shop/queues/orders/messages/c/requeue"] = (409, {"code": "conflict", "detail": "not held"})
    assert run(node, "messages", "requeue", "shop", "orders", "c").err == "Error: not held\n"


# --- running


def test_running_executions_are_listed_and_cancelled(node: ScriptedNode) -> None:
    execution = {
        "id": "0193814c-7c9e-7000-8000-000000000003",
        "node_id": "n1",
        "script": "triage",
        "source": "queue",
        "queue_name": "orders",
        "message_id": "m1",
        "started_at": "2026-01-01T00:00:00Z",
        "cancelling": True,
    }
    node.answers["GET /apps/shop/executions/running"] = listing(execution)
    line = run(node, "running").out.splitlines()[1]
    assert line.split()[:4] == ["shop", execution["id"], "triage", "(cancelling)"]
    node.answers["GET /apps/shop/executions/running"] = listing()
    assert run(node, "running", "shop").out == "nothing runs\n"
    answer = {"execution_id": "x", "status": "requested", "discard": True}
    node.answers["POST /apps/shop/executions/x/cancel"] = (202, answer)
    done = run(node, "cancel", "shop", "x", "--discard")
    assert done.out == "requested: x ends at its next tick, its message is discarded\n"
    assert node.requests[-1].body == {"discard": True}
    assert json.loads(run(node, "cancel", "shop", "x", "--json").out) == answer
    assert node.requests[-1].body == {"discard": False}


# --- dead letters


def test_dead_with_an_app_lists(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/dead_letters"] = listing(LETTER)
    for words in (["dead", "shop"], ["dead", "list", "shop"]):
        header, row = run(node, *words).out.splitlines()
        assert header.split() == ["ID", "QUEUE", "TRIES", "DIED", "ERROR"]
        assert row.startswith(f"{LETTER['id']}  orders      2  ")
        assert row.endswith("  KeyError: 'sku' (line 7)")


def test_the_list_is_cut_at_its_limit_and_asks_for_one_queue(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/dead_letters"] = listing(LETTER, LETTER, LETTER)
    ran = run(node, "dead", "shop", "--queue", "orders", "--limit", "2", "--json")
    assert len(json.loads(ran.out)["items"]) == 2
    assert node.requests[0].query["queue_name"] == ["orders"]


def test_without_an_app_all_apps_are_listed(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/dead_letters"] = listing(LETTER)
    assert run(node, "dead").out.splitlines()[1].startswith("shop  0193814c-")
    node.answers["GET /apps/shop/dead_letters"] = listing()
    assert run(node, "dead").out == "no dead letters\n"


def test_a_lease_that_expired_has_no_error_to_show(node: ScriptedNode) -> None:
    node.answers["GET /apps/shop/dead_letters"] = listing({**LETTER, "error": None, "reason": "lease_expired"})
    assert run(node, "dead", "shop").out.splitlines()[1].endswith("  lease expired")


def test_one_dead_letter_is_shown_whole(node: ScriptedNode) -> None:
    node.answers[f"GET /apps/shop/dead_letters/{LETTER['id']}"] = (200, LETTER)
    out = run(node, "dead", "show", "shop", LETTER["id"]).out
    assert out.splitlines()[:4] == [
        f"id        {LETTER['id']}",
        "queue     orders",
        "script    triage",
        "reason    attempts exhausted, 2 attempts",
    ]
    assert "KeyError: 'sku'\nsecond line\n  triage, line 7, in handle\n    sku = order['sku']\n" in out
    assert out.endswith('payload\n{\n  "sku": "ä"\n}\n')
    assert json.loads(run(node, "dead", "show", "shop", LETTER["id"], "--json").out) == LETTER


def test_named_letters_are_replayed_one_by_one(node: ScriptedNode) -> None:
    for name in ("a", "b"):
        replayed = {"dead_letter_id": name, "message_id": "m", "queue_name": "orders"}
        node.answers[f"POST /apps/shop/dead_letters/{name}/replay"] = (200, replayed)
    assert run(node, "dead", "replay", "shop", "a", "b").out == "replayed 2 dead letters\n"
    assert [path for _, path, _ in asked(node)] == [f"/apps/shop/dead_letters/{name}/replay" for name in ("a", "b")]


def replay_of(total: int) -> Callable[[Request], tuple[int, Any]]:
    """An API with so many dead letters; those that die again meanwhile are younger than `as_of`."""
    left = total

    def replay(request: Request) -> tuple[int, Any]:
        nonlocal left
        count = min(left, request.body["limit"]) if "died_before" in request.body or left == total else 1000
        left -= count
        return 200, {"items": [{"dead_letter_id": "x"}] * count, "replayed": count, "as_of": AS_OF}

    return replay


def test_replay_all_ends_even_when_what_it_replays_dies_again(node: ScriptedNode) -> None:
    node.answers["POST /apps/shop/dead_letters/replay"] = replay_of(2300)
    ran = run(node, "dead", "replay", "shop", "--all", "--queue", "orders", "--json")
    assert json.loads(ran.out)["replayed"] == 2300
    first = {"queue_name": "orders", "limit": 1000}
    rest = {**first, "died_before": AS_OF}
    assert [body for _, _, body in asked(node)] == [first, rest, rest]


def test_replay_at_a_rate_into_another_queue_spreads_over_all_batches(node: ScriptedNode) -> None:
    node.answers["POST /apps/shop/dead_letters/replay"] = replay_of(1200)
    words = ["--all", "--rate", "50", "--to", "later", "--error", "KeyError", "--since", "2026-12-01T08:00:00+00:00"]
    assert run(node, "dead", "replay", "shop", *words).out == "replayed 1,200 dead letters\n"
    bodies = [body for _, _, body in asked(node)]
    assert [(body["per_second"], body["delay"]) for body in bodies] == [(50, 0), (50, 20)]
    assert {(body["to_queue"], body["error_type"]) for body in bodies} == {("later", "KeyError")}
    assert all(datetime.fromisoformat(body["died_after"]) == SINCE for body in bodies)
    del node.requests[:]
    node.answers["POST /apps/shop/dead_letters/a/replay"] = (200, {"dead_letter_id": "a"})
    node.answers["POST /apps/shop/dead_letters/b/replay"] = (200, {"dead_letter_id": "b"})
    assert run(node, "dead", "replay", "shop", "a", "b", "--rate", "2").code == 0
    assert [body for _, _, body in asked(node)] == [{}, {"delay": 0.5}]


def test_a_time_that_is_none_is_refused(node: ScriptedNode) -> None:
    ran = run(node, "dead", "shop", "--since", "yesterday")
    assert (ran.code, node.requests) == (2, [])
    assert "neither a duration such as 2h nor a time" in ran.err


@pytest.mark.parametrize("words", [["shop"], ["shop", "a", "--all"], ["shop", "a", "--queue", "orders"]])
def test_replay_wants_ids_or_all(node: ScriptedNode, words: list[str]) -> None:
    ran = run(node, "dead", "replay", *words)
    assert (ran.code, node.requests) == (2, [])


def test_discard_resolves_reopen_takes_it_back_and_delete_deletes(node: ScriptedNode) -> None:
    node.answers["PATCH /apps/shop/dead_letters/a"] = (200, LETTER)
    node.answers["DELETE /apps/shop/dead_letters/a"] = (204, None)
    assert run(node, "dead", "discard", "shop", "a", "--note", "a test").out == "discarded 1 dead letter\n"
    assert run(node, "dead", "reopen", "shop", "a").out == "reopened 1 dead letter\n"
    assert run(node, "dead", "delete", "shop", "a").out == "deleted 1 dead letter\n"
    assert [(method, body) for method, _, body in asked(node)] == [
        ("PATCH", {"resolution": "discarded", "note": "a test"}),
        ("PATCH", {"resolution": None}),
        ("DELETE", None),
    ]
    node.answers["PATCH /apps/shop/dead_letters/b"] = (404, {"code": "dead_letter_not_found", "detail": "no letter b"})
    ran = run(node, "dead", "discard", "shop", "b")
    assert (ran.code, ran.out, ran.err) == (1, "", "Error: no letter b\n")


# --- deploy


@pytest.fixture
def app_dir(tmp_path: Path) -> Path:
    (tmp_path / "picloud.toml").write_text(
        '[app]\nname = "shop"\n[[triggers.queue]]\nqueue = "orders"\nscript = "triage"\nbatch_size = 7\n'
        '[[queues]]\nname = "orders"\nfifo = true\n'
    )
    (tmp_path / "triage.py").write_text("def handle(event, ctx):\n    return 'ä'\n")
    return tmp_path


def diff(*entries: tuple[str, str, str], dry_run: bool = False) -> dict[str, Any]:
    records = [{"action": action, "kind": kind, "name": name, "changes": []} for action, kind, name in entries]
    changed = any(action != "unchanged" for action, _, _ in entries)
    return {"app": "shop", "dry_run": dry_run, "changed": changed, "entries": records}


def test_deploy_sends_the_folder_and_shows_the_diff(node: ScriptedNode, app_dir: Path) -> None:
    entries = [("unchanged", "app", "shop"), ("create", "script", "triage"), ("delete", "trigger", "mail")]
    node.answers["POST /apps/shop/deploy"] = (200, diff(*entries))
    ran = run(node, "deploy", str(app_dir))
    assert ran.out.splitlines() == ["+ script  triage", "- trigger mail", "shop: 1 created, 1 deleted"]
    assert node.requests[0].body == {
        "scripts": {"triage": "def handle(event, ctx):\n    return 'ä'\n"},
        "triggers": {
            "queue": [{"queue": "orders", "script": "triage", "batch_size": 7}],
            "http": [],
            "cron": [],
            "dead_letter": [],
            "email": [],
        },
        "queues": [{"name": "orders", "fifo": True}],
        "http_hosts": [],
        "record_executions": None,
        "record_sample_rate": None,
        "dry_run": False,
    }


def test_deploy_again_says_that_there_is_nothing_to_change(node: ScriptedNode, app_dir: Path) -> None:
    entries = [("unchanged", "app", "shop"), ("unchanged", "script", "triage"), ("unchanged", "trigger", "orders")]
    node.answers["POST /apps/shop/deploy"] = (200, diff(*entries))
    assert run(node, "deploy", str(app_dir)).out == "shop: nothing to change (1 script, 1 trigger)\n"


def test_a_dry_run_says_so(node: ScriptedNode, app_dir: Path) -> None:
    node.answers["POST /apps/shop/deploy"] = (200, diff(("create", "app", "shop"), dry_run=True))
    ran = run(node, "deploy", str(app_dir), "--dry-run")
    assert ran.out.splitlines() == ["+ app     shop", "shop: 1 created (dry run: nothing was changed)"]
    assert node.requests[0].body["dry_run"] is True


def test_a_deployment_that_the_policy_refuses_lists_every_fault(node: ScriptedNode, app_dir: Path) -> None:
    faults = [
        {"detail": "import of os is not allowed", "pointer": "/scripts/triage", "line": 1, "column": 1},
        {"detail": "no while", "pointer": "/scripts/triage", "line": 2, "column": 5},
    ]
    problem = {"code": "script_invalid", "status": 422, "detail": "2 faults", "errors": faults}
    node.answers["POST /apps/shop/deploy"] = (422, problem)
    ran = run(node, "deploy", str(app_dir))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        "Error: 2 faults",
        "  /scripts/triage, line 1, column 1: import of os is not allowed",
        "  /scripts/triage, line 2, column 5: no while",
    ]
    assert json.loads(run(node, "deploy", str(app_dir), "--json").err)["errors"] == faults


# --- tree


def actor(name: str, status: str = "running", **values: Any) -> dict[str, Any]:
    base = {"id": name, "type": "worker", "status": status, "restart_count": 0, "uptime_secs": 61.0, "children": None}
    return {**base, **values}


TREE = actor(
    "picloud",
    type="supervisor",
    strategy="rest_for_one",
    counts={"specs": 3},
    children=[
        actor("database", health={"state": "degraded", "error": "connection refused\nin full"}),
        actor(
            "consumers",
            type="supervisor",
            strategy="one_for_one",
            counts={"specs": 2},
            children=[
                actor("shop/orders", restart_count=2, details={"in_flight": 3, "rate": 1234.5678, "last": None}),
                actor(
                    "shop/mail",
                    "parked",
                    uptime_secs=None,
                    last_exit={"reason": "error", "error_type": "KeyError", "message": "'x'"},
                ),
            ],
        ),
        actor("server", type="supervisor", counts={"specs": 1}, strategy="one_for_one"),
    ],
)


def test_the_tree_shows_each_actor_in_its_place(node: ScriptedNode) -> None:
    node.answers["GET /supervisor"] = (200, TREE)
    assert run(node, "tree").out.splitlines() == [
        "● picloud  rest_for_one  up 1m 1s",
        "├── ● database  degraded  up 1m 1s",
        "│     connection refused",
        "├── ● consumers  one_for_one  up 1m 1s",
        "│   ├── ● shop/orders  2 restarts  up 1m 1s  in_flight 3  rate 1.23e+03",
        "│   └── ● shop/mail  parked",
        "│         KeyError: 'x'",
        "└── ● server  one_for_one  1 actor  up 1m 1s",
    ]
    assert json.loads(run(node, "tree", "--json").out) == TREE


def test_path_and_depth_go_to_the_node(node: ScriptedNode) -> None:
    node.answers["GET /supervisor"] = (200, TREE)
    run(node, "tree", "--path", "/picloud/consumers", "--depth", "1")
    assert node.requests[0].query == {"path": ["/picloud/consumers"], "depth": ["1"]}


@pytest.mark.parametrize("width", [24, 40, 80])
def test_a_narrow_terminal_gets_one_line_for_each_actor(width: int) -> None:
    lines = render(render_tree(TREE), width=width)
    assert len(lines) == 8
    assert all(len(line) <= width for line in lines)


def test_what_is_wrong_has_a_colour_of_its_own() -> None:
    lines = render(render_tree(TREE), width=200, colour=True)
    for name, colour in (("database", "1;33"), ("shop/mail", "1;31"), ("shop/orders", "32")):
        line = next(line for line in lines if name in line)
        assert f"\x1b[{colour}m● " in line


def test_watch_prints_one_line_of_json_after_the_other_until_the_node_goes(node: ScriptedNode) -> None:
    answers = iter([(200, TREE)] * 3 + [(503, {"code": "gone", "detail": "the node is going"})])
    node.answers["GET /supervisor"] = lambda request: next(answers)
    ran = run(node, "tree", "--watch", "--interval", "0.1", "--json")
    assert ran.code == 1
    assert [json.loads(line) for line in ran.out.splitlines()] == [TREE, TREE]
    assert json.loads(ran.err)["detail"] == "the node is going"


def test_queue_is_paused_resumed_and_purged(node: ScriptedNode) -> None:
    for what in ("pause", "resume"):
        node.answers[f"POST /apps/shop/queues/orders/{what}"] = (200, {})
    node.answers["POST /apps/shop/queues/orders/purge"] = (200, {"purged": 12})
    assert "paused orders of shop" in run(node, "queues", "pause", "shop", "orders").out
    assert run(node, "queues", "resume", "shop", "orders").out == "resumed orders of shop\n"
    refused = run(node, "queues", "purge", "shop", "orders", "--state", "ready", stdin="mail\n")
    assert (refused.code, "nothing was dropped" in refused.err) == (2, True)
    assert len(node.requests) == 2
    purged = run(node, "queues", "purge", "shop", "orders", "--state", "ready", stdin="orders\n")
    assert purged.out.endswith("dropped 12 ready messages of orders\n")
    assert node.requests[-1].body == {"state": "ready"}
    assert run(node, "queues", "purge", "shop", "orders", "--state", "dead", "--yes").code == 0


def test_secret_is_read_from_standard_input_and_never_shown(node: ScriptedNode) -> None:
    node.answers["PUT /apps/shop/secrets/key"] = (204, None)
    node.answers["GET /apps/shop/secrets"] = listing({"name": "key", "updated_at": "2026-12-01T12:00:00Z"})
    node.answers["DELETE /apps/shop/secrets/key"] = (204, None)
    set_ = run(node, "secrets", "set", "shop", "key", stdin="s3cret\n")
    assert set_.out == "set key of shop\n"
    assert node.requests[0].body == {"value": "s3cret"}
    listed = run(node, "secrets", "list", "shop")
    assert "key" in listed.out
    assert "s3cret" not in set_.out + set_.err + listed.out
    assert run(node, "secrets", "delete", "shop", "key").out == "deleted key of shop\n"


def test_rules_of_a_queue_are_set(node: ScriptedNode) -> None:
    answer = {"fifo": True, "max_in_flight": 3, "rate_per_second": None}
    node.answers["PATCH /apps/shop/queues/orders"] = (200, answer)
    ran = run(node, "queues", "set", "shop", "orders", "--fifo", "--max-in-flight", "3", "--rate", "none")
    assert ran.out == "orders of shop: fifo, at most in flight 3\n"
    assert node.requests[0].body == {"fifo": True, "max_in_flight": 3, "rate_per_second": None}
    assert run(node, "queues", "set", "shop", "orders").code == 2
    node.answers["PATCH /apps/shop/queues/orders"] = (200, {**answer, "message_retention_secs": 5400})
    kept = run(node, "queues", "set", "shop", "orders", "--retention", "90m", "--dead-retention", "none")
    assert kept.out == "orders of shop: fifo, at most in flight 3, messages kept 1h 30m\n"
    assert node.requests[-1].body == {"message_retention_secs": 5400, "dead_retention_secs": None}
    long = run(node, "queues", "set", "shop", "orders", "--retention", "soon")
    assert (long.code, "neither a time such as 12h nor 'none'" in long.err) == (2, True)
    wrong = run(node, "queues", "set", "shop", "orders", "--rate", "fast")
    assert (wrong.code, "neither a number nor 'none'" in wrong.err) == (2, True)
