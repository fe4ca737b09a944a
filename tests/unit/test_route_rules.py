"""Rules of routes in picloud.toml: read, refused with the key that is wrong, and written back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from picloud.errors import InvalidManifest
from picloud.manifest import load_manifest
from picloud.route_rules import GITHUB, NO_RULES, read_rules

ROUTE = '[app]\nname = "shop"\n[[triggers.http]]\npath = "/in"\nscript = "a"\n'


def load(folder: Path, rules: str) -> object:
    (folder / "a.py").write_text("def handle(event, ctx): pass\n")
    (folder / "picloud.toml").write_text(ROUTE + rules)
    return load_manifest(folder).http_triggers[0].rules


def test_rules_are_read_from_the_route(tmp_path: Path) -> None:
    assert load(tmp_path, "") is NO_RULES
    rules = load(tmp_path, 'auth = "signature"\nsignature = "github"\nsecrets = ["new", "old"]')
    assert rules == read_rules({"auth": "signature", "signature": "github", "secrets": ["new", "old"]})
    written_out = (
        'auth = "signature"\nsecrets = ["new", "old"]\n'
        'signature = { header = "X-Hub-Signature-256", algorithm = "sha256", encoding = "hex", prefix = "sha256=" }'
    )
    assert load(tmp_path, written_out) == rules


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ('auht = "token"', r"triggers.http\[0\].auht: unknown key \(did you mean 'auth'\?\)"),
        ('auth = "tokens"', r"triggers.http\[0\].auth: "),
        ("cors = { origins = ['*'], credentials = true }", r"triggers.http\[0\].cors: credentials cannot go with"),
        ("cors = { origin = ['*'] }", r"triggers.http\[0\].cors.origin"),
        ('auth = "signature"\nsecrets = ["k"]', r"triggers.http\[0\]"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(tmp_path: Path, rules: str, fault: str) -> None:
    with pytest.raises(InvalidManifest, match=fault):
        load(tmp_path, rules)


def test_what_is_written_back_reads_as_the_same() -> None:
    rules = {
        "auth": "signature",
        "signature": "github",
        "secrets": ["a"],
        "cors": {"origins": ["https://a.example"], "methods": ["PUT"], "headers": [], "max_age": 1},
    }
    read = read_rules(rules)
    assert (read.signature, read.to_json()) == (GITHUB, rules)
    assert read_rules(read.to_json()) == read
    other = read_rules({"auth": "signature", "signature": {"header": "X-Sign"}, "secrets": ["a"]})
    assert other.to_json()["signature"] == {"header": "X-Sign"}
