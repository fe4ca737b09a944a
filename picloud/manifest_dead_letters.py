"""`[[triggers.dead_letter]]` of an app's manifest: from its tables to what the triggers are to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from picloud.dead_letter_spec import DeadLetterTriggerSpec, check_dead_letter_spec
from picloud.errors import InvalidInput, InvalidManifest
from picloud.manifest_faults import check_keys, check_script, fail, find_pointer, show

_KEYS = {"queue" if field.name == "queue_name" else field.name: field.name for field in fields(DeadLetterTriggerSpec)}
"""Field by key: a queue is called the same in all tables of the manifest."""


def read_dead_letters(entries: object) -> Iterator[DeadLetterTriggerSpec]:
    """Yield the dead-letter triggers of a manifest, not checked yet. Raises: InvalidManifest."""
    if not isinstance(entries, list):
        fail("triggers.dead_letter", "must be a list of tables: write [[triggers.dead_letter]], with two brackets")
    for at, entry in enumerate(entries):
        key = f"triggers.dead_letter[{at}]"
        if not isinstance(entry, dict):
            fail(key, f"must be a table, not {show(entry)}")
        check_keys(entry, _KEYS, f"{key}.")
        if "script" not in entry:
            fail(f"{key}.script", "missing")
        yield DeadLetterTriggerSpec(**{_KEYS[name]: value for name, value in entry.items()})


def check_dead_letters(specs: Sequence[DeadLetterTriggerSpec], scripts: Mapping[str, str]) -> None:
    """Check each, that its script is there, and that no two are the same. Raises: InvalidManifest."""
    seen: dict[str, int] = {}
    for at, spec in enumerate(specs):
        key = f"triggers.dead_letter[{at}]"
        check_script(spec.script, f"{key}.script", scripts)
        try:
            check_dead_letter_spec(spec)
        except InvalidInput as error:
            pointer = (error.pointer or "").replace("/queue_name", "/queue", 1)
            raise InvalidManifest(f"{key}: {error}", pointer=find_pointer(key) + pointer) from error
        earlier = seen.setdefault(spec.name, at)
        if earlier != at:
            fail(key, f"the same dead letters and script as triggers.dead_letter[{earlier}]: one of them is enough")
