"""`[[triggers.cron]]` of an app's manifest: from its tables to what the triggers are to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from picloud.cron_spec import CronTriggerSpec, check_cron_spec
from picloud.manifest_faults import check_keys, check_script, check_spec, fail, map_keys, read_tables

_KEYS = map_keys(CronTriggerSpec)


def read_crons(entries: object) -> Iterator[CronTriggerSpec]:
    """Yield the cron triggers of a manifest, not checked yet. Raises: InvalidManifest."""
    for key, entry in read_tables(entries, "triggers.cron"):
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
        check_spec(key, spec, check_cron_spec)
        earlier = seen.setdefault(spec.name, at)
        if earlier != at:
            fail(key, f"the same schedule and target as triggers.cron[{earlier}]: one of them is enough")
