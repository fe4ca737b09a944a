"""Real clients of routes: GitHub's deliveries replayed with their signature, curl, urllib, httpx and browser forms."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from node_process import HANG_LIMIT, ROOT, NodeProcess, run_cli, wait_until

EXAMPLE = ROOT / "examples" / "webhook-to-queue"
REAL_EVENTS = ROOT.parent / "shared" / "data" / "github-webhooks" / "events.jsonl"
SECRET = "it's a secret"
ECHO = """
def handle(event, ctx):
    return {"body": event.body, "query": event.query_all, "cookie": event.headers.get("cookie")}
"""


@pytest.fixture(scope="module")
def node() -> Iterator[NodeProcess]:
    folder = Path(tempfile.mkdtemp(prefix="picloud-test-"))
    folder.chmod(0o711)
    try:
        with NodeProcess(folder / "home", str(EXAMPLE)) as started:
            with started.client() as client:
                body = {"scripts": {"echo": ECHO}, "triggers": {"http": [{"path": "/", "script": "echo"}]}}
                client.post("/api/v1/apps/echo/deploy", json=body).raise_for_status()
            yield started
    finally:
        shutil.rmtree(folder)


def load_sender() -> ModuleType:
    """The example's own sender: urllib."""
    spec = importlib.util.spec_from_file_location("deliver", EXAMPLE / "tools" / "deliver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def totals(node: NodeProcess) -> dict[str, int]:
    with node.client() as client:
        counted: dict[str, int] = client.get("/fn/webhook-to-queue/totals").json()
    return counted


def test_deliveries_are_taken_once_they_can_be_checked_and_counted_once(node: NodeProcess) -> None:
    assert "the secret 'github' is not set" in node.log.read_text()
    deliver, url = load_sender().deliver, f"{node.credentials['url']}/fn/webhook-to-queue/github"
    lines = [json.loads(line) for line in (EXAMPLE / "deliveries.jsonl").read_text().splitlines()]
    with pytest.raises(urllib.error.HTTPError) as refused:
        deliver(url, SECRET, lines[0]["event"], lines[0]["payload"])
    assert refused.value.code == 503
    refused.value.close()

    done = run_cli("secrets", "set", "webhook-to-queue", "github", home=node.home, stdin=SECRET + "\n")
    assert done.returncode == 0, done.stderr
    for _ in range(2):
        statuses = [deliver(url, SECRET, line["event"], line["payload"]) for line in lines]
        assert statuses == [200] + [202] * (len(lines) - 1)
    with pytest.raises(urllib.error.HTTPError) as refused:
        deliver(url, "another", lines[1]["event"], lines[1]["payload"])
    assert refused.value.code == 401
    refused.value.close()
    expected = Counter(line["event"] for line in lines if line["event"] != "ping")
    wait_until(lambda: totals(node) == expected, HANG_LIMIT, lambda: (totals(node), expected))


@pytest.mark.skipif(not REAL_EVENTS.is_file(), reason="the real payloads are not beside the repository")
def test_real_deliveries_are_all_taken(node: NodeProcess) -> None:
    done = run_cli("secrets", "set", "webhook-to-queue", "github-next", home=node.home, stdin="next\n")
    assert done.returncode == 0, done.stderr
    before = Counter(totals(node))
    lines = [json.loads(line) for line in REAL_EVENTS.read_text().splitlines()]
    with httpx.Client(base_url=node.credentials["url"]) as client:
        for number, line in enumerate(lines):
            body = json.dumps(line["payload"]).encode()
            signature = hmac.new(b"next", body, hashlib.sha256).hexdigest()
            headers = {
                "X-GitHub-Event": line["event"],
                "X-GitHub-Delivery": f"real-{number}",
                "X-Hub-Signature-256": f"sha256={signature}",
                "Content-Type": "application/json",
            }
            answer = client.post("/fn/webhook-to-queue/github", content=body, headers=headers)
            assert answer.status_code == (200 if line["event"] == "ping" else 202), answer.text
    expected = before + Counter(line["event"] for line in lines if line["event"] != "ping")
    wait_until(lambda: totals(node) == expected, HANG_LIMIT, lambda: (totals(node), expected))


def curl(*args: str) -> Any:
    done = subprocess.run(["curl", "-sS", *args], capture_output=True, text=True, timeout=HANG_LIMIT, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl(node: NodeProcess, tmp_path: Path) -> None:
    url = f"{node.credentials['url']}/fn/echo/"
    assert curl(url, "-d", "a=1&b=x+y")["body"] == {"a": "1", "b": "x y"}
    assert curl(url, "--json", '{"a": 1}')["body"] == {"a": 1}
    assert curl(f"{url}?q=1&q=2", "-X", "POST", "-b", "c=1; d=2") == {
        "body": None, "query": {"q": ["1", "2"]}, "cookie": "c=1; d=2",
    }  # fmt: skip
    # more than a kilobyte: curl waits for a 100
    large = tmp_path / "large.txt"
    large.write_text("x" * 300_000)
    assert len(curl(url, "-H", "Content-Type: text/plain", "--data-binary", f"@{large}")["body"]) == 300_000
    assert (
        len(curl(url, "-H", "Content-Type: text/plain", "-H", "Transfer-Encoding: chunked", "-d", f"@{large}")["body"])
        == 300_000
    )
    form = curl(url, "-F", "name=Zoë", "-F", f"file=@{large};type=text/plain")["body"]
    assert (form["name"], form["file"]["filename"], form["file"]["size"]) == ("Zoë", "large.txt", 300_000)
    assert curl("--http2-prior-knowledge", url, "--json", "[1]")["body"] == [1]


BROWSER_FORM = (
    b"------WebKitFormBoundaryAbC\r\n"
    b'Content-Disposition: form-data; name="name"\r\n\r\nZo\xc3\xab\r\n'
    b"------WebKitFormBoundaryAbC\r\n"
    b'Content-Disposition: form-data; name="file"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n'
    b"------WebKitFormBoundaryAbC--\r\n"
)
"""As Chrome sends it, no file being chosen."""


def test_forms_of_browsers_and_urllib(node: NodeProcess) -> None:
    url = f"{node.credentials['url']}/fn/echo/"
    headers = {"Content-Type": "multipart/form-data; boundary=----WebKitFormBoundaryAbC"}
    with urllib.request.urlopen(urllib.request.Request(url, BROWSER_FORM, headers)) as answer:
        body = json.load(answer)["body"]
    assert (body["name"], body["file"]["filename"], body["file"]["size"]) == ("Zoë", "", 0)
    with urllib.request.urlopen(url, b"name=Zo%C3%AB&ok=on&note=a%0D%0Ab") as answer:
        assert json.load(answer)["body"] == {"name": "Zoë", "ok": "on", "note": "a\r\nb"}
