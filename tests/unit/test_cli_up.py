"""picloud up: what a started node says, and what it leaves for the other commands."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path

import pytest
from cli_probes import Ran, run_cli, shown, terminal

from picloud.cli.credentials import Credentials, read_credentials
from picloud.cli.entry import NodeInfo, NodeOptions
from picloud.cli.up import print_welcome
from picloud.config import Settings
from picloud.db.deployment import DeploymentDiff
from picloud.db.deployment_plan import DeploymentEntry, FieldChange
from picloud.manifest import Manifest, load_manifest

URL = "http://127.0.0.1:8080"
TOKEN = "pc_" + "t" * 43
DIFF = DeploymentDiff(
    "shop",
    False,
    (
        DeploymentEntry("create", "app", "shop"),
        DeploymentEntry("update", "script", "triage", (FieldChange("version", 3, 4),)),
        DeploymentEntry("delete", "script", "old"),
        DeploymentEntry("create", "trigger", "orders", (FieldChange("script", None, "triage"),)),
        DeploymentEntry("unchanged", "trigger", "mail"),
    ),
)


@pytest.fixture
def app_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "my shop"
    folder.mkdir()
    (folder / "picloud.toml").write_text(
        '[app]\nname = "shop"\n[[triggers.queue]]\nqueue = "orders"\nscript = "triage"\n'
    )
    (folder / "triage.py").write_text("def handle(event, ctx):\n    return None\n")
    return folder


def started(
    home: Path, *args: str, token: str | None = TOKEN, deployed: DeploymentDiff | None = None, smtp: str | None = None
) -> Ran:
    def run_node(settings: Settings, options: NodeOptions) -> int:
        options.announce(NodeInfo(URL, token, settings.home, "embedded PostgreSQL 18.6", deployed, 4711, smtp))
        return 0

    return run_cli("up", *args, "--data-dir", str(home), run_node=run_node)


def test_the_credentials_are_left_for_the_other_commands(tmp_path: Path) -> None:
    assert started(tmp_path / "home").code == 0
    assert read_credentials(tmp_path / "home") == Credentials(URL, TOKEN)
    started(tmp_path / "home", token=None)
    assert read_credentials(tmp_path / "home") == Credentials(URL, TOKEN)


def test_the_token_is_shown_at_the_first_start_only(tmp_path: Path) -> None:
    first = started(tmp_path)
    assert f"Token     {TOKEN}  keep it: it is shown only this once" in first.out
    assert "Token" not in started(tmp_path, token=None).out


def test_where_mails_are_received_is_shown_or_that_nobody_receives_them(tmp_path: Path, app_dir: Path) -> None:
    home, where = tmp_path / "home", "smtp://127.0.0.1:2525"
    assert f"  Mail      {where}\n" in started(home, smtp=where).out
    assert json.loads(started(home, "--json", smtp=where).out)["smtp"] == where
    assert "Mail" not in started(home, str(app_dir)).out
    with (app_dir / "picloud.toml").open("a") as manifest:
        manifest.write('[[triggers.email]]\nname = "orders"\nscript = "triage"\n')
    assert "  Mail      none  the app has email triggers: set PICLOUD_SMTP_PORT" in started(home, str(app_dir)).out
    assert f"  Mail      {where}\n" in started(home, str(app_dir), smtp=where).out


def test_a_file_that_is_no_terminal_gets_plain_text(tmp_path: Path) -> None:
    assert "\x1b" not in started(tmp_path, deployed=DIFF).out


def test_json_is_one_object(tmp_path: Path, app_dir: Path) -> None:
    values = json.loads(started(tmp_path / "home", str(app_dir), "--json", deployed=DIFF).out)
    deployed = values.pop("deployed")
    assert values == {
        "url": URL,
        "smtp": None,
        "token": TOKEN,
        "home": str(tmp_path / "home"),
        "database": "embedded PostgreSQL 18.6",
        "pid": 4711,
    }
    assert (deployed["app"], deployed["changed"], len(deployed["entries"])) == ("shop", True, 5)


def test_the_node_gets_settings_and_the_manifest(tmp_path: Path, app_dir: Path) -> None:
    seen: list[tuple[Settings, NodeOptions]] = []

    def run_node(settings: Settings, options: NodeOptions) -> int:
        seen.append((settings, options))
        return 0

    run_cli("up", str(app_dir), "--data-dir", str(tmp_path), "--host", "::1", "--port", "0", run_node=run_node)
    settings, options = seen[0]
    assert (settings.home, settings.host, settings.port) == (tmp_path, "::1", 0)
    assert options.manifest == load_manifest(app_dir)


def test_a_bad_manifest_fails_before_anything_starts(tmp_path: Path) -> None:
    ran = run_cli("up", str(tmp_path / "nowhere"), "--data-dir", str(tmp_path))
    assert (ran.code, ran.err) == (1, f"Error: {tmp_path}/nowhere: no such folder\n")


def test_an_unknown_setting_fails_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PICLOUD_PROT", "1")
    ran = run_cli("up", "--data-dir", str(tmp_path))
    assert ran.err == "Error: unknown setting PICLOUD_PROT in the environment (did you mean 'PICLOUD_PORT'?)\n"


def test_credentials_that_cannot_be_written_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "client.json").mkdir()
    ran = started(tmp_path)
    assert ran.code == 0
    assert ran.err == f"Warning: cannot write {tmp_path}/client.json: Is a directory\n"


def commands_of(lines: list[str]) -> list[str]:
    start = next(at for at, line in enumerate(lines) if line.startswith("Try next"))
    return [line.strip() for line in lines[start:] if line.startswith("  ")]


def test_what_to_try_can_be_copied_into_another_terminal(tmp_path: Path, app_dir: Path) -> None:
    (app_dir / "payloads.jsonl").write_text("1\n")
    commands = [shlex.split(line) for line in commands_of(started(tmp_path, str(app_dir)).out.splitlines())]
    where = ["--data-dir", str(tmp_path)]
    assert commands == [
        ["picloud", "send", "shop", "orders", f"@{app_dir}/payloads.jsonl", *where],
        ["picloud", "queues", "shop", *where],
        ["picloud", "dead", "shop", *where],
        ["picloud", "tree", "--watch", *where],
    ]


def test_without_payloads_a_message_is_made_up(tmp_path: Path, app_dir: Path) -> None:
    first = shlex.split(commands_of(started(tmp_path, str(app_dir)).out.splitlines())[0])
    assert first[3:5] == ["orders", '{"hello": "world"}']


@pytest.mark.parametrize("width", [30, 44, 80, 200])
def test_no_width_breaks_what_is_to_be_copied(width: int, tmp_path: Path) -> None:
    file = io.StringIO()
    info = NodeInfo(URL, TOKEN, tmp_path, "embedded PostgreSQL 18.6", DIFF, 1)
    print_welcome(terminal(file, width), info, Manifest("shop", {}), program=".venv/bin/picloud")
    lines = shown(file)
    assert f"  URL       {URL}" in lines
    assert f"  Token     {TOKEN}  keep it: it is shown only this once" in lines
    assert commands_of(lines)[-1] == f".venv/bin/picloud tree --watch --data-dir {tmp_path}"


def test_the_deployment_is_shown_line_by_line(tmp_path: Path) -> None:
    file = io.StringIO()
    info = NodeInfo(URL, None, tmp_path, "embedded PostgreSQL 18.6", DIFF, 1)
    print_welcome(terminal(file, 80), info, Manifest("shop", {}), program="picloud")
    lines = shown(file)
    at = next(at for at, line in enumerate(lines) if line.startswith("  App "))
    assert lines[at : at + 6] == [
        "  App       shop  2 created, 1 updated, 1 deleted, 1 unchanged",
        "            + app     shop",
        "            ~ script  triage  version 3 → 4",
        "            - script  old",
        "            + trigger orders  script triage",
        "",
    ]
