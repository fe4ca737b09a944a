"""`[[triggers.email]]` in an app's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from picloud.errors import InvalidManifest
from picloud.mail_spec import EmailTriggerSpec
from picloud.manifest import Manifest, load_manifest
from picloud.testing import load_app

HANDLER = "def handle(event, ctx):\n    return [event.recipient, event.subject, event.text]\n"


def load(folder: Path, lines: str) -> Manifest:
    (folder / "picloud.toml").write_text(f'[app]\nname = "shop"\n\n[[triggers.email]]\n{lines}\n')
    (folder / "read.py").write_text(HANDLER)
    return load_manifest(folder)


def test_an_address_is_bound_to_a_script(tmp_path: Path) -> None:
    lines = (
        'name = "orders"\nscript = "read"\nretry_max_attempts = 5\n[[triggers.email]]\nname = "help"\nscript = "read"'
    )
    assert load(tmp_path, lines).email_triggers == (
        EmailTriggerSpec("orders", "read", retry_max_attempts=5),
        EmailTriggerSpec("help", "read"),
    )


@pytest.mark.parametrize(
    ("lines", "fault", "pointer"),
    [
        ('script = "read"', r"email\[0\].name: missing", "/triggers/email/0/name"),
        ('name = "a"', r"email\[0\].script: missing", "/triggers/email/0/script"),
        ('name = "a"\nscript = "raed"', r"no script 'raed' \(did you mean 'read'\?\)", "/triggers/email/0/script"),
        ('name = "A b"\nscript = "read"', "invalid name 'A b'", "/triggers/email/0/name"),
        ('name = 7\nscript = "read"', "invalid name of type int", "/triggers/email/0/name"),
        ('name = "a"\nscript = "read"\nenabled = 1', "must be true or false", "/triggers/email/0/enabled"),
        ('name = "a"\nscript = "read"\nadress = "x"', "unknown key", "/triggers/email/0/adress"),
        (
            'name = "a"\nscript = "read"\nretry_backoff = "linaer"',
            r"must be one of exponential, linear, constant, not 'linaer' \(did you mean 'linear'\?\)",
            "/triggers/email/0/retry_backoff",
        ),
        (
            'name = "a"\nscript = "read"\n[[triggers.email]]\nname = "a"\nscript = "read"',
            r"'a' has a trigger already: triggers.email\[0\]",
            "/triggers/email/1/name",
        ),
    ],
)
def test_a_fault_names_its_place(tmp_path: Path, lines: str, fault: str, pointer: str) -> None:
    with pytest.raises(InvalidManifest, match=fault) as caught:
        load(tmp_path, lines)
    assert caught.value.pointer == pointer


def test_a_mail_to_the_app_runs_its_script_in_a_test(tmp_path: Path) -> None:
    load(tmp_path, 'name = "orders"\nscript = "read"')
    app = load_app(tmp_path)
    try:
        assert app.receive("orders", "hi", subject="Order 7").value == ["orders@shop", "Order 7", "hi\n"]
        with pytest.raises(LookupError, match="no email trigger 'order'"):
            app.receive("order")
    finally:
        app.close()
