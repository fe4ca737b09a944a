"""The embedded server: first start, kill -9, stale and reused pids, two processes on one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from picloud.db.embedded import EmbeddedPostgres
from picloud.errors import EmbeddedPostgresError

FAST = {"fsync": "off"}


def postmaster(home: Path) -> int:
    return int((home / "pg" / "postmaster.pid").read_text().splitlines()[0])


def is_running(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.startswith("Z")


def answer(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("select 41 + 1").fetchone()
        assert row is not None
        return int(row[0])


def test_starts_answers_only_with_its_password_and_stops(reachable_dir: Path) -> None:
    server = EmbeddedPostgres(reachable_dir / "home", settings=FAST)
    dsn = server.start()
    assert answer(dsn) == 42
    pid = postmaster(reachable_dir / "home")
    assert (reachable_dir / "home" / "password").stat().st_mode & 0o077 == 0
    wrong = psycopg.conninfo.make_conninfo(dsn, password="wrong")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(wrong)
    assert "password" not in (server.status().dsn or "")
    assert server.stop()
    assert not is_running(pid)
    assert server.status().state == "stopped"


def test_data_survives_kill_nine_and_a_stale_pid_file(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    server = EmbeddedPostgres(home, settings=FAST)
    dsn = server.start()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("create table kept (a int)")
        conn.execute("checkpoint")
    pid = postmaster(home)
    os.kill(pid, signal.SIGKILL)
    while is_running(pid):
        time.sleep(0.01)
    again = EmbeddedPostgres(home, settings=FAST)
    with psycopg.connect(again.start()) as conn:
        assert conn.execute("select count(*) from kept").fetchone() == (0,)
    again.stop()
    server.stop()


def test_pid_file_that_names_another_process_does_not_stop_the_start(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    server = EmbeddedPostgres(home, settings=FAST)
    server.start()
    lines = (home / "pg" / "postmaster.pid").read_text().splitlines()
    server.stop()
    pid_file = home / "pg" / "postmaster.pid"
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    os.chown(pid_file, (home / "pg").stat().st_uid, -1)
    again = EmbeddedPostgres(home, settings=FAST)
    assert answer(again.start()) == 42
    again.stop()


def test_two_processes_share_a_folder_and_the_last_one_out_stops_it(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    first = EmbeddedPostgres(home, settings=FAST)
    first.start()
    pid = postmaster(home)
    code = (
        "import sys; from pathlib import Path; from picloud.db.embedded import EmbeddedPostgres; "
        f"server = EmbeddedPostgres(Path({str(home)!r})); server.start(); print('up', flush=True); "
        "sys.stdin.read(); print(server.stop(), flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "up\n"
        assert postmaster(home) == pid
        assert first.stop() is False
        assert is_running(pid)
        other.stdin.close()
        assert other.stdout.readline() == "True\n"
    assert not is_running(pid)


def test_kept_server_outlives_its_starter_until_it_is_shut_down(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    code = (
        "from pathlib import Path; from picloud.db.embedded import EmbeddedPostgres; "
        f"EmbeddedPostgres(Path({str(home)!r})).start(keep=True)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    server = EmbeddedPostgres(home)
    assert server.status().state == "running"
    assert server.shut_down()
    assert server.status().state == "stopped"


def test_folder_without_a_server_is_absent(reachable_dir: Path) -> None:
    assert EmbeddedPostgres(reachable_dir / "nothing").status().state == "absent"


def test_binaries_that_are_not_there_are_a_clear_error(reachable_dir: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="PICLOUD_PG_BIN"):
        EmbeddedPostgres(reachable_dir / "home", binaries=reachable_dir / "nowhere").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder out of its own server user's reach")
def test_root_is_told_when_the_servers_user_cannot_reach_the_folder(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o700)
    with pytest.raises(EmbeddedPostgresError):
        EmbeddedPostgres(locked / "home").start()
