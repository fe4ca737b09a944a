"""`[[triggers.email]]` of an app's manifest: from its tables to what the triggers are to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from picloud.mail_spec import EmailTriggerSpec, check_email_spec
from picloud.manifest_faults import check_keys, check_script, check_spec, fail, map_keys, read_tables

_KEYS = map_keys(EmailTriggerSpec)


def read_emails(entries: object) -> Iterator[EmailTriggerSpec]:
    """Yield the email triggers of a manifest, not checked yet. Raises: InvalidManifest."""
    for key, entry in read_tables(entries, "triggers.email"):
        check_keys(entry, _KEYS, f"{key}.")
        for needed, what in (("name", "what stands before the @ of the address"), ("script", "the script to run")):
            if needed not in entry:
                fail(f"{key}.{needed}", f"missing: {what}")
        yield EmailTriggerSpec(**entry)


def check_emails(specs: Sequence[EmailTriggerSpec], scripts: Mapping[str, str]) -> None:
    """Check each, that its script is there, and that no two have the same name. Raises: InvalidManifest."""
    seen: dict[str, int] = {}
    for at, spec in enumerate(specs):
        key = f"triggers.email[{at}]"
        check_script(spec.script, f"{key}.script", scripts)
        check_spec(key, spec, check_email_spec)
        earlier = seen.setdefault(spec.name, at)
        if earlier != at:
            fail(f"{key}.name", f"'{spec.name}' has a trigger already: triggers.email[{earlier}]")
