"""A node's life from outside: first start, warm start, shutdown, and everything that can be wrong at start."""

from __future__ import annotations

import os
import pwd
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from node_process import NodeProcess, clean_environment, run_cli, wait_until

APP = """
[app]
name = "life"

[[triggers.queue]]
queue = "jobs"
script = "work"
"""


@pytest.fixture
def app_folder(reachable_dir: Path) -> Path:
    folder = reachable_dir / "app"
    folder.mkdir()
    (folder / "picloud.toml").write_text(APP)
    (folder / "work.py").write_text("def handle(event, ctx):\n    return event.payload\n")
    return folder


def is_running(pid: int) -> bool:
    """A zombie that nobody reaps does not run."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.startswith("Z")


def assert_clear_error(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    """One clear line, no traceback of ours."""
    assert done.returncode == 1, done
    assert "Traceback" not in done.stdout + done.stderr
    for text in texts:
        assert text in done.stderr


def test_first_start_shows_a_token_once_and_later_starts_do_not(reachable_dir: Path, app_folder: Path) -> None:
    node = NodeProcess(reachable_dir / "home", str(app_folder))
    with node:
        token = node.credentials["token"]
        assert token.startswith("pc_")
        assert token in node.log.read_text()
        assert node.stop() == 0
    shown = len(node.log.read_text())
    with node:
        assert node.credentials["token"] == token
        assert "pc_" not in node.log.read_text()[shown:]
        assert node.get("/apps")["items"][0]["name"] == "life"
        assert node.stop() == 0


def test_data_folder_keeps_no_plain_token_for_the_server(reachable_dir: Path, app_folder: Path) -> None:
    with NodeProcess(reachable_dir / "home", str(app_folder)) as node:
        mode = (node.home / "client.json").stat().st_mode & 0o777
        assert mode == 0o600
        response = httpx.get(f"{node.credentials['url']}/api/v1/apps", headers={"Authorization": "Bearer pc_wrong"})
        assert response.status_code == 401
        assert response.headers["content-type"].startswith("application/problem+json")


def test_stop_leaves_no_process_behind(reachable_dir: Path, app_folder: Path) -> None:
    with NodeProcess(reachable_dir / "home", str(app_folder)) as node:
        postmaster = node.postmaster_pid()
        assert node.stop() == 0
    assert not is_running(postmaster)


def test_two_nodes_share_a_data_folder_and_the_last_one_out_stops_the_database(
    reachable_dir: Path, app_folder: Path
) -> None:
    home = reachable_dir / "home"
    with NodeProcess(home, str(app_folder)) as first:
        postmaster = first.postmaster_pid()
        with NodeProcess(home) as second:
            assert first.postmaster_pid() == postmaster
            assert first.stop() == 0
            assert is_running(postmaster)
            assert second.get("/apps")["items"][0]["name"] == "life"
            assert second.stop() == 0
    assert not is_running(postmaster)


def test_shutdown_ends_though_a_client_stopped_reading(reachable_dir: Path, app_folder: Path) -> None:
    home = reachable_dir / "home"
    env = {"PICLOUD_DRAIN_SECS": "2", "PICLOUD_SEND_TIMEOUT": "3"}
    with NodeProcess(home, str(app_folder), env=env) as node:
        payloads = [{"payload": "x" * 200_000} for _ in range(60)]
        with node.client() as client:
            client.post("/api/v1/apps/life/queues/big/messages", json={"messages": payloads}).raise_for_status()
        url = httpx.URL(node.credentials["url"])
        with socket.create_connection((url.host, url.port)) as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.sendall(
                b"GET /api/v1/apps/life/queues/big/messages?limit=60 HTTP/1.1\r\nHost: x\r\n"
                b"Authorization: Bearer " + node.credentials["token"].encode() + b"\r\n\r\n"
            )
            assert stalled.recv(100)
            assert node.stop() == 0


def test_second_signal_ends_a_busy_node_and_gives_its_message_back(reachable_dir: Path, app_folder: Path) -> None:
    (app_folder / "work.py").write_text("import time\ndef handle(event, ctx):\n    time.sleep(60)\n")
    home = reachable_dir / "home"
    env = {"PICLOUD_EXECUTION_TIMEOUT_SECS": "120"}
    node = NodeProcess(home, str(app_folder), env=env)
    with node:
        assert run_cli("send", "life", "jobs", '{"n": 1}', home=home).returncode == 0
        wait_until(lambda: node.queues("life")["jobs"]["claimed"] == 1, 20)
        assert node.process is not None
        node.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "draining" in node.log.read_text(), 20)
        assert node.stop() == 0
    (app_folder / "work.py").write_text("def handle(event, ctx):\n    return event.attempt\n")
    with node:
        wait_until(lambda: node.queues("life")["jobs"]["ready"] + node.queues("life")["jobs"]["claimed"] == 0, 20)
        assert node.queues("life")["jobs"]["dead"] == 0


def test_busy_port_is_a_clear_error(reachable_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_cli("up", "--port", str(port), home=reachable_dir / "home")
    assert_clear_error(done, str(port), "in use")


def test_unknown_setting_is_a_clear_error_with_a_hint(reachable_dir: Path) -> None:
    done = run_cli("up", home=reachable_dir / "home", env={"PICLOUD_DRAIN_SEC": "1"})
    assert_clear_error(done, "PICLOUD_DRAIN_SEC", "did you mean", "PICLOUD_DRAIN_SECS")


@pytest.mark.parametrize(
    ("dsn", "text"),
    [
        ("postgresql://nobody:secret@127.0.0.1:1/none", "127.0.0.1"),
        ("this is not a dsn", "DATABASE_URL"),
    ],
)
def test_wrong_database_url_is_a_clear_error_without_the_password(reachable_dir: Path, dsn: str, text: str) -> None:
    env = {"DATABASE_URL": dsn, "PICLOUD_DATABASE_PATIENCE": "0"}
    done = run_cli("up", "--port", "0", home=reachable_dir / "home", env=env)
    assert_clear_error(done, text)
    assert "secret" not in done.stdout + done.stderr


def test_database_url_means_that_the_embedded_server_is_never_started(database: str, reachable_dir: Path) -> None:
    with NodeProcess(reachable_dir / "home", env={"DATABASE_URL": database}) as node:
        assert not (node.home / "pg").exists()
        assert node.stop() == 0


def interpreter_is_reachable() -> bool:
    return all(p.stat().st_mode & 0o001 for p in Path(sys.executable).resolve().parents)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a folder of somebody else's")
@pytest.mark.skipif(not interpreter_is_reachable(), reason="the interpreter is out of another user's reach")
def test_data_folder_of_another_user_is_a_clear_error(reachable_dir: Path) -> None:
    home = reachable_dir / "home"
    home.mkdir(mode=0o700)
    os.chown(home, pwd.getpwnam("daemon").pw_uid, -1)
    nobody = pwd.getpwnam("nobody")
    done = subprocess.run(
        [sys.executable, "-m", "picloud", "up", "--port", "0", "--data-dir", str(home)],
        capture_output=True,
        text=True,
        env=clean_environment(HOME="/nonexistent"),
        cwd="/",
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=(),
        timeout=60,
        check=False,
    )
    assert_clear_error(done, str(home))


def test_policy_faults_stop_the_start_and_name_all_of_them(reachable_dir: Path, app_folder: Path) -> None:
    faulty = "import os\n\ndef handle(event, ctx):\n    eval('1')\n    return event.__class__\n"
    (app_folder / "work.py").write_text(faulty)
    done = run_cli("up", str(app_folder), "--port", "0", home=reachable_dir / "home")
    assert_clear_error(done)
    assert re.search(r"line 1\b", done.stderr)
    assert re.search(r"line 4\b", done.stderr)
    assert re.search(r"line 5\b", done.stderr)
