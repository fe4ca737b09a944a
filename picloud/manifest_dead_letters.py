"""`[[triggers.dead_letter]]` of an app's manifest: from its tables to what the triggers are to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from picloud.dead_letter_spec import DeadLetterTriggerSpec, check_dead_letter_spec
from picloud.manifest_faults import check_keys, check_script, check_spec, fail, map_keys, read_tables

_KEYS = map_keys(DeadLetterTriggerSpec)


def read_dead_letters(entries: object) -> Iterator[DeadLetterTriggerSpec]:
    """Yield the dead-letter triggers of a manifest, not checked yet. Raises: InvalidManifest."""
    for key, entry in read_tables(entries, "triggers.dead_letter"):
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
        check_spec(key, spec, check_dead_letter_spec)
        earlier = seen.setdefault(spec.name, at)
        if earlier != at:
            fail(key, f"the same dead letters and script as triggers.dead_letter[{earlier}]: one of them is enough")
