"""`[[triggers.cron]]` of an app's manifest: from its tables to what the triggers are to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from picloud.cron_spec import CronTriggerSpec, check_cron_spec
from picloud.errors import InvalidInput, InvalidManifest
from picloud.manifest_faults import check_keys, check_script, fail, find_pointer, show

_KEYS = {"queue" if field.name == "queue_name" else field.name: field.name for field in fields(CronTriggerSpec)}
"""Field by key: a queue is called the same in all tables of the manifest."""


def read_crons(entries: object) -> Iterator[CronTriggerSpec]:
    """Yield the cron triggers of a manifest, not checked yet. Raises: InvalidManifest."""
    if not isinstance(entries, list):
        fail("triggers.cron", "must be a list of tables: write [[triggers.cron]], with two brackets")
    for at, entry in enumerate(entries):
        key = f"triggers.cron[{at}]"
        if not isinstance(entry, dict):
            fail(key, f"must be a table, not {show(entry)}")
        check_keys(entry, _KEYS, f"{key}.")
        if "schedule" not in entry:
            fail(f"{key}.schedule", "missing: write five fields such as '0 2 * * *', or a word such as '@hourly'")
        yield CronTriggerSpec(**{_KEYS[name]: value for name, value in entry.items()})


def check_crons(specs: Sequence[CronTriggerSpec], scripts: Mapping[str, str]) -> None:
    """Check each, that its script is there, and that no two are the same. Raises: InvalidManifest."""
    seen: dict[str, int] = {}
    for at, spec in enumerate(specs):
        key = f"triggers.cron[{at}]"
        if spec.script is not None:
            check_script(spec.script, f"{key}.script", scripts)
        try:
            check_cron_spec(spec)
        except InvalidInput as error:
            pointer = (error.pointer or "").replace("/queue_name", "/queue", 1)
            raise InvalidManifest(f"{key}: {error}", pointer=find_pointer(key) + pointer) from error
        earlier = seen.setdefault(spec.name, at)
        if earlier != at:
            fail(key, f"the same schedule and target as triggers.cron[{earlier}]: one of them is enough")
