"""The documents name everything that a user can set, call or meet, and nothing that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from picloud.config import Settings
from picloud.errors import PicloudError

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
TEST_COMMAND = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest"
UP_COMMAND = "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/picloud up examples/github-webhooks"


def test_readme_has_both_commands_and_ci_runs_the_second() -> None:
    assert f"\n{UP_COMMAND}\n" in README
    assert f"\n{TEST_COMMAND}\n" in README
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith(f"\n{TEST_COMMAND}")


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_setting_is_in_the_readme(name: str) -> None:
    variable = "DATABASE_URL" if name == "database_url" else f"PICLOUD_{name.upper()}"
    assert f"| `{variable}` |" in README


def test_readme_names_no_setting_that_is_not_there() -> None:
    known = {f"PICLOUD_{name.upper()}" for name in Settings.model_fields}
    known |= {"PICLOUD_URL", "PICLOUD_TOKEN", "PICLOUD_TEST_CHAOS"}
    assert set(re.findall(r"PICLOUD_[A-Z_]*[A-Z]", README)) <= known


def test_every_error_code_is_in_the_readme() -> None:
    import picloud.http.app  # noqa: F401  (brings in every module that has errors)

    codes = {kind.code for kind in subclasses(PicloudError)}
    assert {code for code in codes if f"| `{code}` |" not in README} == set()


def subclasses(kind: type[PicloudError]) -> Iterator[type[PicloudError]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


class AnyNode:
    """Stands for a node: routes are made without asking it anything."""

    def __getattr__(self, name: str) -> Any:
        return None


def test_every_endpoint_is_in_the_readme() -> None:
    from picloud.http.app import create_app

    missing = []
    for rule in create_app(AnyNode()).url_map.iter_rules():  # type: ignore[arg-type]
        path = re.sub(r"<(?:path:)?(\w+)>", r"{\1}", rule.rule)
        methods = ",".join(sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}))
        if f"| `{methods} {path}` |" not in README:
            missing.append(f"{methods} {path}")
    assert missing == []


def test_every_command_is_in_the_readme() -> None:
    from picloud.cli.commands import SECTIONS

    names = {name for places in SECTIONS.values() for name in places}
    assert {name for name in names if f"`picloud {name}" not in README} == set()


def test_changelog_starts_with_this_version() -> None:
    from picloud.version import __version__

    assert f"## {__version__} " in (ROOT / "CHANGELOG.md").read_text()
