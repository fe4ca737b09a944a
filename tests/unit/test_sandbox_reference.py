"""The page of what scripts may use is what the sandbox's tables say. `BLESS=1` writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

from picloud.engine.sandbox.modules import MODULES
from picloud.engine.sandbox.reference import SYNTAX, render_reference

PAGE = Path(__file__).resolve().parents[2] / "picloud" / "sdk" / "SANDBOX.md"


def test_page_is_what_the_tables_say() -> None:
    page = render_reference()
    if os.environ.get("BLESS"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "run this test with BLESS=1"


def test_page_tells_what_is_not_available_and_what_to_do() -> None:
    page = render_reference()
    for title in ("async", "other modules", "eval, exec, open, globals and the like", "names that begin with _"):
        assert f"- {title}: " in page
    for title in ("match", "generators", "dataclasses", "walrus"):
        assert f"- {title}\n" in page
    assert all(f"| `{module}` |" in page for module in MODULES)
    assert len(dict(SYNTAX)) == len(SYNTAX)
