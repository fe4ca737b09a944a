"""picloud migrate, token and db: commands that need no node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from cli_probes import run_cli

from picloud.cli.credentials import Credentials, read_credentials, save_credentials
from picloud.db.connection import connect
from picloud.db.migrate import load_migrations
from picloud.db.tokens import check_token

NAMES = [migration.name for migration in load_migrations()]


@pytest.fixture
def no_schema(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DATABASE_URL", empty_database)
    return empty_database


@pytest.fixture
def schema(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DATABASE_URL", database)
    return database


@pytest.mark.usefixtures("no_schema")
def test_migrate_applies_what_is_pending_and_the_second_time_nothing(tmp_path: Path) -> None:
    home = ["--data-dir", str(tmp_path)]
    pending = json.loads(run_cli("migrate", "--status", "--json", *home).out)["items"]
    assert pending == [{"name": name, "state": "pending", "applied_at": None} for name in NAMES]
    assert run_cli("migrate", *home).out.splitlines() == [f"applied {name}" for name in NAMES]
    assert run_cli("migrate", *home).out == f"nothing to do: {len(NAMES)} applied already\n"
    assert json.loads(run_cli("migrate", "--json", *home).out) == {"applied": [], "already": len(NAMES)}
    lines = run_cli("migrate", "--status", *home).out.splitlines()
    assert [line.split()[:2] for line in lines] == [[name, "applied"] for name in NAMES]


def check(dsn: str, token: str) -> str:
    async def ask() -> str:
        conn = await connect(dsn)
        try:
            return await check_token(conn, token)
        finally:
            await conn.close()

    return trio.run(ask)


def test_a_token_made_in_the_database_is_valid(schema: str, tmp_path: Path) -> None:
    ran = run_cli("token", "create", "laptop", "--data-dir", str(tmp_path))
    assert ran.code == 0
    assert ran.err == "keep it: it is not stored and cannot be shown again\n"
    assert check(schema, ran.out.strip()) == "laptop"
    assert read_credentials(tmp_path) is None


def test_a_saved_token_replaces_the_lost_one(schema: str, tmp_path: Path) -> None:
    save_credentials(tmp_path, url="http://127.0.0.1:9", token="pc_lost")
    ran = run_cli("token", "create", "laptop", "--save", "--json", "--data-dir", str(tmp_path))
    token = json.loads(ran.out)["token"]
    assert read_credentials(tmp_path) == Credentials("http://127.0.0.1:9", token)


@pytest.mark.usefixtures("no_schema")
def test_a_token_without_a_schema_says_what_to_run(tmp_path: Path) -> None:
    ran = run_cli("token", "create", "laptop", "--data-dir", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "Error: the database has no schema yet: run `picloud migrate` or `picloud up` first\n"


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
def test_a_token_needs_a_name_that_can_be_read(name: str, tmp_path: Path) -> None:
    ran = run_cli("token", "create", name, "--data-dir", str(tmp_path))
    assert (ran.code, ran.err) == (1, "Error: token: a name is 1 to 100 printable characters\n")


@pytest.mark.parametrize("command", ["start", "stop", "status", "psql"])
def test_with_a_database_of_its_own_the_embedded_server_is_not_used(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:secret@db.example/shop")
    ran = run_cli("db", command, "--data-dir", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert "DATABASE_URL is set (postgresql://me@db.example/shop): the embedded PostgreSQL is not used" in ran.err
    assert "secret" not in ran.err


def test_the_embedded_server_starts_stays_and_stops(reachable_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    home = ["--data-dir", str(reachable_dir)]
    assert json.loads(run_cli("db", "status", "--json", *home).out)["state"] == "absent"
    assert "run: start it with `picloud db start`" in run_cli("db", "psql", *home).err
    try:
        begun = json.loads(run_cli("db", "start", "--json", *home).out)
        assert (begun["state"], begun["kept"], begun["in_use"]) == ("running", True, False)
        assert run_cli("migrate", *home).code == 0
        status = json.loads(run_cli("db", "status", "--json", *home).out)
        assert (status["pid"], status["state"]) == (begun["pid"], "running")
    finally:
        assert run_cli("db", "stop", *home).out == "stopped\n"
    assert run_cli("db", "stop", *home).out == "no server was running\n"
    assert json.loads(run_cli("db", "status", "--json", *home).out)["state"] == "stopped"
