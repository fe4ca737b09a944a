"""`picloud run` and `picloud check`: handlers without a server or a database."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner, Result

from picloud.cli.check import check_command
from picloud.cli.run import run_command

TRIAGE = """
    def handle(event, ctx):
        log.info("got", attempt=event.attempt)
        queue.enqueue("issues", event.payload, delay="30s")
        return {"score": invoke("score", event.payload)}
    """
SCORE = "def handle(event, ctx):\n    return event.body['n'] * 2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path, triage=TRIAGE, score=SCORE)
    return tmp_path


def _write(folder: Path, **sources: str) -> None:
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(dedent(source))


def _run(*args: object, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(run_command, [str(arg) for arg in args], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def _report(*args: object, stdin: str | None = None) -> dict[str, Any]:
    result = _run(*args, "--json", stdin=stdin)
    report = json.loads(result.stdout)
    assert result.exit_code == (0 if report["ok"] else 1)
    return dict(report)


def test_run_shows_result_effects_and_logs(folder: Path) -> None:
    report = _report(folder / "triage.py", "--event", '{"n": 4}')
    assert report["duration_ms"] > 0
    (effect,) = report["effects"]
    assert effect.pop("id")
    assert effect == {"kind": "enqueue", "queue": "issues", "payload": {"n": 4}, "delay": 30.0}
    assert {key: report[key] for key in ("ok", "result", "error", "logs")} == {
        "ok": True,
        "result": {"score": 8},
        "error": None,
        "logs": [{"level": "info", "message": "got", "fields": {"attempt": 1}}],
    }


def test_run_reads_the_event_from_a_file_or_standard_input(folder: Path) -> None:
    (folder / "event.json").write_text('{"source": "queue", "payload": {"n": 1}, "attempt": 3}')
    from_file = _report(folder / "triage.py", "--event", f"@{folder / 'event.json'}")
    assert from_file["logs"][0]["fields"] == {"attempt": 3}
    assert _report(folder / "triage.py", "--event", "-", stdin='{"n": 2}')["result"] == {"score": 4}


def test_run_without_an_event_has_a_null_payload(folder: Path) -> None:
    _write(folder, echo="def handle(event, ctx):\n    return [event.payload, ctx.app]")
    assert _report(folder / "echo.py")["result"] == [None, "local"]


def test_run_reports_a_failure_with_its_line(folder: Path) -> None:
    report = _report(folder / "triage.py", "--event", "{}")
    assert report["effects"] == []
    error = report["error"]
    assert (error["type"], error["message"], error["line"]) == ("KeyError", "'n'", 5)
    assert [(frame["script"], frame["line"]) for frame in error["stack"]] == [("triage", 5), ("score", 2)]


def test_run_shows_immediate_effects_of_a_failure(folder: Path) -> None:
    _write(
        folder, late="def handle(event, ctx):\n    queue.enqueue('p', 1, immediate=True)\n    raise ValueError('no')"
    )
    report = _report(folder / "late.py")
    assert [(effect["queue"], effect["immediate"]) for effect in report["effects"]] == [("p", True)]


def test_run_stops_at_the_timeout(folder: Path) -> None:
    _write(folder, spin="def handle(event, ctx):\n    while True:\n        pass")
    report = _report(folder / "spin.py", "--timeout", "0.2")
    assert report["error"]["type"] == "BudgetExceeded"
    assert report["error"]["message"].startswith("ran past 0.2 s (line ")
    assert report["duration_ms"] < 1500


def test_run_lists_the_faults_of_a_script(folder: Path) -> None:
    _write(folder, bad="import os\nimport sys\ndef handle(event, ctx):\n    return 1")
    report = _report(folder / "bad.py")
    assert report["error"]["type"] == "ScriptInvalid"
    assert [fault["line"] for fault in report["error"]["faults"]] == [1, 2]


def test_run_is_readable_without_json(folder: Path) -> None:
    result = _run(folder / "triage.py", "--event", '{"n": 4}')
    assert result.exit_code == 0
    assert "→ issues" in result.stdout
    assert '{"score": 8}' in result.stdout
    failed = _run(folder / "triage.py", "--event", "{}")
    assert failed.exit_code == 1
    assert "KeyError: 'n'" in failed.stderr
    assert "score.py:2 in handle" in failed.stderr
    assert "Traceback" not in failed.output


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        ("{nope", "event is not JSON"),
        ("@/does/not/exist.json", "/does/not/exist.json: No such file or directory"),
        ('{"source": "queue", "payloda": 1}', "event.payloda: unknown field (did you mean 'payload'?)"),
        ('{"a": NaN}', "event is not JSON"),
        ('"\\u0000"', "event has a NUL character"),
    ],
)
def test_run_refuses_a_wrong_event(folder: Path, event: str, fault: str) -> None:
    result = _run(folder / "triage.py", "--event", event)
    assert result.exit_code == 2
    assert fault in result.stderr
    assert "queue:" not in result.stderr


def test_run_refuses_a_file_that_is_not_there(folder: Path) -> None:
    result = _run(folder / "nope.py")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


def test_run_refuses_a_file_that_is_not_text(folder: Path) -> None:
    (folder / "latin.py").write_bytes("# caf\xe9\ndef handle(event, ctx):\n    return 1".encode("latin-1"))
    report = _report(folder / "latin.py")
    assert "not UTF-8 text" in report["error"]["message"]


def _check(folder: Path, *args: str) -> Result:
    result = CliRunner().invoke(check_command, [str(folder), *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_check_of_a_good_folder(folder: Path) -> None:
    result = _check(folder)
    assert (result.exit_code, result.stdout) == (0, "2 scripts: no faults\n")


def test_check_lists_every_fault_of_every_script(folder: Path) -> None:
    _write(
        folder, bad="import os\ndef handle(event, ctx):\n    import sys\n    return 1", worse="def handle(:\n    pass"
    )
    result = _check(folder)
    assert result.exit_code == 1
    places = [line.partition(": ")[0] for line in result.stdout.splitlines()]
    assert [place.rpartition(":")[0] for place in places] == ["bad.py:1", "bad.py:3", "worse.py:1"]
    as_json = json.loads(_check(folder, "--json").stdout)
    assert as_json["ok"] is False
    assert as_json["scripts"] == ["bad", "score", "triage", "worse"]
    assert [(fault["file"], fault["line"]) for fault in as_json["faults"]] == [
        ("bad.py", 1),
        ("bad.py", 3),
        ("worse.py", 1),
    ]


def test_check_finds_files_that_cannot_be_scripts(folder: Path) -> None:
    (folder / "latin.py").write_bytes(b"# \xe9")
    (folder / "two words.py").write_text(SCORE)
    result = _check(folder)
    assert result.exit_code == 1
    assert "latin.py:1:0: not UTF-8 text" in result.stdout
    assert "two words.py: script: invalid name 'two words'" in result.stdout


def test_check_reads_the_manifest_too(folder: Path) -> None:
    (folder / "lib").mkdir()
    _write(folder / "lib", extra="import os\ndef handle(event, ctx):\n    return 1")
    manifest = folder / "picloud.toml"
    manifest.write_text('[app]\nname = "shop"\n[scripts]\nextra = "lib/extra.py"\n')
    result = _check(folder)
    assert result.exit_code == 1
    assert result.stdout.startswith("extra:1:")
    manifest.write_text('[app]\nnam = "shop"\n')
    assert "picloud.toml: app.nam: unknown key (did you mean 'name'?)" in _check(folder).stdout


def test_check_of_an_empty_folder(tmp_path: Path) -> None:
    result = _check(tmp_path)
    assert result.exit_code == 1
    assert "no *.py file in this folder" in result.stdout


def test_run_shows_changes_of_keys_and_scripts_to_run_later(folder: Path) -> None:
    source = """
        def handle(event, ctx):
            kv.set("a", {"n": 1}, if_version=0)
            kv.increment("b", 2)
            kv.delete("c")
            invoke_async("score", {"n": 3})
        """
    _write(folder, keep=source)
    effects = _report(folder / "keep.py")["effects"]
    assert effects.pop().items() >= {"kind": "invoke_async", "args": {"n": 3}}.items()
    assert effects == [
        {"kind": "kv.set", "key": "a", "value": {"n": 1}, "if_version": 0},
        {"kind": "kv.increment", "key": "b", "by": 2},
        {"kind": "kv.delete", "key": "c"},
    ]
    shown = _run(folder / "keep.py").stdout
    assert '→ kv.set key=a value={"n": 1} if_version=0\n→ kv.increment key=b by=2\n→ kv.delete key=c\n' in shown
