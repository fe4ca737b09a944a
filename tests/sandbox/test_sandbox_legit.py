"""Ordinary scripts give what plain Python gives."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from picloud.engine.sandbox import Limits, Meter, Watchdog, compile_script, export_value, run_script

SCRIPTS = sorted((Path(__file__).parent / "legit").glob("*.py"))


def run_in_sandbox(source: str, name: str) -> Any:
    meter = Meter(Limits())
    compiled = compile_script(source, name)
    watchdog = Watchdog()

    def run() -> Any:
        return export_value(run_script(compiled, meter=meter, args=({}, None)), meter=meter)

    try:
        with watchdog.seat() as seat:
            return seat.run(meter, run)
    finally:
        watchdog.close()


def run_plainly(source: str) -> Any:
    scope: dict[str, Any] = {}
    exec(source, scope)
    return json.loads(json.dumps(scope["handle"]({}, None), default=encode))


def encode(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else list(value)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_gives_what_python_gives(path: Path) -> None:
    source = path.read_text()
    assert run_in_sandbox(source, path.stem) == run_plainly(source)
