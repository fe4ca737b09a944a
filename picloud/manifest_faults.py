"""Reading the tables of an app's manifest; what is wrong is an error that names the key and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from picloud.config import suggest
from picloud.errors import InvalidInput, InvalidManifest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


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


def read_tables(entries: object, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of `[[name]]`, each with its key: `name[0]`, … Raises: InvalidManifest."""
    if not isinstance(entries, list):
        fail(name, f"must be a list of tables: write [[{name}]], with two brackets")
    for at, entry in enumerate(entries):
        key = f"{name}[{at}]"
        if not isinstance(entry, dict):
            fail(key, f"must be a table, not {show(entry)}")
        yield key, entry


def map_keys(spec: type[DataclassInstance]) -> dict[str, str]:
    """Return a spec's fields by key of the manifest, where a queue is called the same in all tables."""
    return {"queue" if field.name == "queue_name" else field.name: field.name for field in fields(spec)}


def check_spec(key: str, spec: T, check: Callable[[T], object]) -> None:
    """Have `check` look at a spec, and tell what it refuses as a fault of the manifest. Raises: InvalidManifest."""
    try:
        check(spec)
    except InvalidInput as error:
        pointer = (error.pointer or "").replace("/queue_name", "/queue", 1)
        raise InvalidManifest(f"{key}: {error}", pointer=find_pointer(key) + pointer) from error


def check_script(script: object, key: str, scripts: Mapping[str, str]) -> None:
    if not isinstance(script, str):
        fail(key, f"must be the name of a script, not {show(script)}")
    if script not in scripts:
        known = ", ".join(scripts) or "none"
        hint = suggest(script, scripts) or f" (the app's scripts: {known})"
        fail(key, f"no script '{script}'{hint}")
