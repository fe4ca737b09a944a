"""What is wrong with an app's manifest: an error that names the key and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from picloud.config import suggest
from picloud.errors import InvalidManifest


def fail(key: str, fault: str) -> NoReturn:
    raise InvalidManifest(f"{key}: {fault}", pointer=find_pointer(key))


def find_pointer(key: str) -> str:
    return "/" + key.replace("[", "/").replace("]", "").replace(".", "/")


def show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check_keys(table: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    for name in table:
        if name not in known:
            hint = suggest(name, known) or f" (known: {', '.join(known)})"
            fail(f"{prefix}{name}", f"unknown key{hint}")


def check_script(script: object, key: str, scripts: Mapping[str, str]) -> None:
    if not isinstance(script, str):
        fail(key, f"must be the name of a script, not {show(script)}")
    if script not in scripts:
        known = ", ".join(scripts) or "none"
        hint = suggest(script, scripts) or f" (the app's scripts: {known})"
        fail(key, f"no script '{script}'{hint}")
