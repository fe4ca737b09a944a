"""picloud.manifest: an app folder becomes one checked record, or one clear fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from picloud.cron_spec import CronTriggerSpec
from picloud.db.triggers import QueueTriggerSettings
from picloud.dead_letter_spec import DeadLetterTriggerSpec
from picloud.errors import InvalidManifest
from picloud.manifest import MAX_SCRIPT_BYTES, Manifest, QueueTriggerSpec, check_manifest, load_manifest
from picloud.manifest_queues import QueueSpec
from picloud.types import QueueRules

HANDLER = "def handle(event, ctx):\n    return None\n"
MINIMAL = '[app]\nname = "shop"\n'

WriteApp = Callable[..., Path]


@pytest.fixture
def write_app(tmp_path: Path) -> WriteApp:
    def write(manifest: str | bytes = MINIMAL, **scripts: str | bytes) -> Path:
        folder = tmp_path / "shop"
        folder.mkdir()
        for name, content in {
            "picloud.toml": manifest,
            **{f"{stem}.py": text for stem, text in scripts.items()},
        }.items():
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return write


def test_without_a_scripts_table_every_python_file_is_a_script_named_by_its_stem(write_app: WriteApp) -> None:
    folder = write_app(MINIMAL, triage=HANDLER, score=HANDLER + "# two\n")
    manifest = load_manifest(folder)
    assert manifest == Manifest("shop", {"score": HANDLER + "# two\n", "triage": HANDLER}, folder=folder)


def test_a_scripts_table_names_the_files_and_leaves_the_others_out(write_app: WriteApp) -> None:
    folder = write_app(MINIMAL + '[scripts]\nsort-them = "triage.py"\n', triage=HANDLER, test_triage="assert False")
    assert dict(load_manifest(folder).scripts) == {"sort-them": HANDLER}


def test_a_script_may_lie_in_a_folder_below(write_app: WriteApp) -> None:
    folder = write_app(MINIMAL + '[scripts]\ntriage = "handlers/triage.py"\n')
    (folder / "handlers").mkdir()
    (folder / "handlers" / "triage.py").write_text(HANDLER)
    assert load_manifest(folder).scripts == {"triage": HANDLER}


def test_a_trigger_keeps_only_the_settings_that_were_written(write_app: WriteApp) -> None:
    trigger = '[[triggers.queue]]\nqueue = "orders"\nscript = "triage"\nretry_max_attempts = 2\nenabled = false\n'
    manifest = load_manifest(write_app(MINIMAL + trigger, triage=HANDLER))
    assert manifest.queue_triggers == (
        QueueTriggerSpec("orders", "triage", {"retry_max_attempts": 2, "enabled": False}),
    )


def test_every_setting_of_a_queue_trigger_can_be_written(write_app: WriteApp) -> None:
    defaults = QueueTriggerSettings()
    written = {field.name: getattr(defaults, field.name) for field in fields(QueueTriggerSettings)}
    check_manifest(Manifest("shop", {"triage": HANDLER}, (QueueTriggerSpec("orders", "triage", written),)))


def test_windows_line_ends_and_a_byte_order_mark_are_read(write_app: WriteApp) -> None:
    folder = write_app(
        b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode(), triage=b"\xef\xbb\xbf" + HANDLER.encode()
    )
    assert load_manifest(folder).scripts == {"triage": HANDLER}


DEAD = '[[triggers.dead_letter]]\nscript = "triage"\n'
CRON = '[[triggers.cron]]\nschedule = "0 2 * * *"\nscript = "triage"\n'
ROUTE = '[[triggers.http]]\npath = "/a"\nscript = "triage"\n'
TRIGGER = '[[triggers.queue]]\nqueue = "orders"\nscript = "triage"\n'


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ("", 'app.name: missing: write [app] and name = "my-app"'),
        ("[app", "not valid TOML: Expected ']'"),
        (b'[app]\nname = "\xff"\n', "picloud.toml is not UTF-8 text: line 2: invalid start byte"),
        ("[app]\nname = 3\n", "app.name: app: invalid name of type int"),
        ('[app]\nname = "My App"\n', "app.name: app: invalid name 'My App' (a lower-case letter"),
        ('[app]\nname = "shop"\nversion = 2\n', "app.version: unknown key (known: name, http_hosts, record_"),
        ('[app]\nname = "shop"\nrecord_executions = "some"\n', "must be one of all, errors, sampled, not 'some'"),
        ('[app]\nname = "shop"\nrecord_sample_rate = 2\n', "app.record_sample_rate: must be a share from 0 to 1"),
        ('[app]\nname = "shop"\nrecord_sample_rate = true\n', "app.record_sample_rate: must be a share from 0 to 1"),
        ('app = "shop"\n', "app: must be a table: write [app], not 'shop'"),
        (MINIMAL + "[trigger]\n", "trigger: unknown key (did you mean 'triggers'?)"),
        (MINIMAL + "[triggers.queue]\n", "triggers.queue: must be a list of tables: write [[triggers.queue]]"),
        (MINIMAL + "[triggers]\nqueue = [1]\n", "triggers.queue[0]: must be a table, not 1"),
        (MINIMAL + '[[triggers.queue]]\nscript = "triage"\n', "triggers.queue[0].queue: missing"),
        (
            MINIMAL + TRIGGER + "batchsize = 3\n",
            "triggers.queue[0].batchsize: unknown key (did you mean 'batch_size'?)",
        ),
        (MINIMAL + TRIGGER + "batch_size = 0\n", "batch_size: must be a whole number from 1 to 10000, not 0"),
        (MINIMAL + TRIGGER + "concurrency = true\n", "concurrency: must be a whole number from 1 to 64, not True"),
        (MINIMAL + TRIGGER + "retry_base_ms = 1.5\n", "retry_base_ms: must be a whole number from 1 to 3600000"),
        (MINIMAL + TRIGGER + "enabled = 1\n", "triggers.queue[0].enabled: must be true or false, not 1"),
        (MINIMAL + TRIGGER + 'retry_backoff = "linaer"\n', "not 'linaer' (did you mean 'linear'?)"),
        (
            MINIMAL + TRIGGER + TRIGGER,
            "triggers.queue[1].queue: queue 'orders' has a consumer already: triggers.queue[0]",
        ),
        (MINIMAL + TRIGGER.replace("triage", "triagge"), "no script 'triagge' (did you mean 'triage'?)"),
        (MINIMAL + TRIGGER.replace("orders", "a b"), "triggers.queue[0].queue: queue: invalid queue name 'a b'"),
        (
            MINIMAL + '[scripts]\ntriage = "trage.py"\n',
            "scripts.triage: no file 'trage.py' in the folder (did you mean",
        ),
        (MINIMAL + '[scripts]\ntriage = "../shop.py"\n', "scripts.triage: '../shop.py' is outside the app's folder"),
        (MINIMAL + '[scripts]\ntriage = "/etc/passwd"\n', "scripts.triage: '/etc/passwd' is outside the app's folder"),
        (MINIMAL + "[scripts]\ntriage = 7\n", 'scripts.triage: must be a file name such as "triage.py", not 7'),
        (MINIMAL + '[scripts]\n"a b" = "triage.py"\n', "script: invalid name 'a b'"),
        ('[app]\nname = "shop"\nhttp_hosts = "x"\n', "app.http_hosts: must be a list of hosts, not 'x'"),
        ('[app]\nname = "shop"\nhttp_hosts = ["http://x/"]\n', "app.http_hosts[0]: must be a host such as"),
        (MINIMAL + ROUTE + 'method = "GOT"\n', "triggers.http[0].method: must be one of GET, HEAD"),
        (MINIMAL + ROUTE.replace("/a", "a"), "triggers.http[0].path: route: the path must begin with '/'"),
        (MINIMAL + ROUTE.replace("triage", "none"), "triggers.http[0].script: no script 'none'"),
        (MINIMAL + ROUTE + "enabled = 1\n", "triggers.http[0].enabled: must be true or false, not 1"),
        (MINIMAL + ROUTE + ROUTE, "triggers.http[1].path: POST /a is bound already: triggers.http[0]"),
        (MINIMAL + "[[triggers.http]]\npath = '/a'\n", "triggers.http[0].script: missing"),
        (MINIMAL + "[triggers.cron]\n", "triggers.cron: must be a list of tables: write [[triggers.cron]]"),
        (MINIMAL + '[[triggers.cron]]\nscript = "triage"\n', "triggers.cron[0].schedule: missing: write five fields"),
        (MINIMAL + CRON + "time_zone = 'UTC'\n", "triggers.cron[0].time_zone: unknown key (did you mean 'timezone'?)"),
        (MINIMAL + CRON + "timezone = 'Berlin'\n", "triggers.cron[0]: timezone: no time zone 'Berlin'"),
        (
            MINIMAL + CRON + "timezone = 2\n",
            "triggers.cron[0]: timezone: must be a name such as",
        ),
        (MINIMAL + CRON.replace("0 2", "0 25"), "triggers.cron[0]: schedule: the hour '25' of '0 25 * * *'"),
        (MINIMAL + CRON.replace('"0 2 * * *"', "[1]"), "triggers.cron[0]: schedule: must be text such as"),
        (
            MINIMAL + CRON.replace("triage", "traige"),
            "triggers.cron[0].script: no script 'traige' (did you mean",
        ),
        (MINIMAL + CRON + "queue = 'jobs'\n", "triggers.cron[0]: script: name a script to run or a queue to send to"),
        (MINIMAL + CRON.replace("script = ", "queue = ").replace("triage", "a b"), "triggers.cron[0]: queue: invalid"),
        (
            MINIMAL + CRON + "catch_up = 'al'\n",
            "triggers.cron[0]: catch_up: must be one of skip, one, all, not 'al'",
        ),
        (MINIMAL + CRON + "catch_up_limit = 0\n", "triggers.cron[0]: catch_up_limit: must be a whole number from 1 to"),
        (MINIMAL + CRON + "payload = { at = 2027-01-01 }\n", "triggers.cron[0]: queue: payload"),
        (MINIMAL + "[triggers.dead_letter]\n", "triggers.dead_letter: must be a list of tables"),
        (MINIMAL + "[[triggers.dead_letter]]\n", "triggers.dead_letter[0].script: missing"),
        (
            MINIMAL + DEAD.replace("triage", "traige"),
            "triggers.dead_letter[0].script: no script 'traige' (did you mean",
        ),
        (MINIMAL + DEAD + "queues = 'jobs'\n", "triggers.dead_letter[0].queues: unknown key (did you mean 'queue'?)"),
        (MINIMAL + DEAD + "queue = 'a b'\n", "triggers.dead_letter[0]: queue: invalid queue name 'a b'"),
        (
            MINIMAL + DEAD + "source = 'queues'\n",
            "triggers.dead_letter[0]: source: must be one of queue, invoke, cron, email, not 'queues' (did you mean",
        ),
        (MINIMAL + DEAD + "source = 'cron'\nqueue = 'jobs'\n", "triggers.dead_letter[0]: source: 'cron' has no queues"),
        (MINIMAL + DEAD + "retry_max_attempts = 0\n", "triggers.dead_letter[0]: retry_max_attempts: must be a whole"),
        (MINIMAL + DEAD + "enabled = 1\n", "triggers.dead_letter[0]: enabled: must be true or false, not 1"),
        (MINIMAL + DEAD + DEAD, "triggers.dead_letter[1]: the same dead letters and script as triggers.dead_letter[0]"),
        (MINIMAL + CRON + CRON, "triggers.cron[1]: the same schedule and target as triggers.cron[0]"),
        (MINIMAL + '[scripts]\ntriage = "."\n', "cannot be read: Is a directory"),
    ],
)
def test_a_fault_names_the_file_the_key_and_what_to_write(
    write_app: WriteApp, manifest: str | bytes, expected: str
) -> None:
    folder = write_app(manifest, triage=HANDLER)
    with pytest.raises(InvalidManifest) as caught:
        load_manifest(folder)
    assert str(caught.value).startswith(f"{folder}/picloud.toml: ")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"x = 1\ny = '\xe4'\n", "triage.py is not UTF-8 text: line 2"),
        (b"#" * (MAX_SCRIPT_BYTES + 1), "triage.py is larger than 128 KiB"),
        (b"x = 1\0\n", "triage.py has a NUL character"),
    ],
)
def test_a_script_that_is_no_text_is_refused(write_app: WriteApp, source: bytes, expected: str) -> None:
    with pytest.raises(InvalidManifest, match=expected):
        load_manifest(write_app(MINIMAL, triage=source))


def test_a_link_out_of_the_folder_is_refused(write_app: WriteApp, tmp_path: Path) -> None:
    folder = write_app(MINIMAL + '[scripts]\ntriage = "link.py"\n')
    (tmp_path / "outside.py").write_text(HANDLER)
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(InvalidManifest, match="outside the app's folder"):
        load_manifest(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidManifest, match="nowhere: no such folder"):
        load_manifest(tmp_path / "nowhere")


def test_a_file_in_place_of_the_folder_is_refused(write_app: WriteApp) -> None:
    with pytest.raises(InvalidManifest, match=r"not a folder: give the folder that holds picloud\.toml"):
        load_manifest(write_app() / "picloud.toml")


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidManifest, match=r"no picloud\.toml in this folder"):
        load_manifest(tmp_path)


def test_the_pointer_of_a_fault_leads_to_the_value() -> None:
    spec = QueueTriggerSpec("orders", "nothing", {})
    with pytest.raises(InvalidManifest) as caught:
        check_manifest(Manifest("shop", {"triage": HANDLER}, (spec,)))
    assert caught.value.pointer == "/triggers/queue/0/script"


def test_schedules_of_a_folder_have_their_defaults_and_a_queue_is_named_as_elsewhere(write_app: WriteApp) -> None:
    cron = CRON + '[[triggers.cron]]\nschedule = " @Hourly "\nqueue = "jobs"\npayload = { n = 1 }\nenabled = false\n'
    runs, sends = load_manifest(write_app(MINIMAL + cron, triage=HANDLER)).cron_triggers
    assert runs == CronTriggerSpec("0 2 * * *", script="triage")
    assert (sends.queue_name, sends.payload, sends.enabled) == ("jobs", {"n": 1}, False)
    assert (runs.name, sends.name) == ("0 2 * * * UTC → triage", "@Hourly UTC → queue jobs")


def test_queues_of_a_folder_keep_only_what_was_written(write_app: WriteApp) -> None:
    queues = '[[queues]]\nname = "mail"\nfifo = true\nrate_per_second = 2\nmessage_retention_secs = 60\n'
    (mail,) = load_manifest(write_app(MINIMAL + queues)).queues
    assert mail == QueueSpec("mail", {"fifo": True, "rate_per_second": 2, "message_retention_secs": 60})
    assert mail.rules == QueueRules(fifo=True, rate_per_second=2, message_retention_secs=60)


def test_every_rule_of_a_queue_can_be_written() -> None:
    values = {"fifo": False, "rate_per_second": 0.5}
    settings = {field.name: values.get(field.name, 7) for field in fields(QueueRules)}
    check_manifest(Manifest("shop", {}, queues=(QueueSpec("mail", settings),)))


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ("[queues]", "queues: must be a list of tables: write [[queues]], with two brackets"),
        ("[[queues]]\nfifo = true", "queues[0].name: missing"),
        ("[[queues]]\nname = 'a/b'", "queues[0].name: "),
        ("[[queues]]\nname = 'a'\nfifi = true", "queues[0].fifi: unknown key (did you mean 'fifo'?)"),
        ("[[queues]]\nname = 'a'\nfifo = 1", "queues[0].fifo: must be true or false, not 1"),
        ("[[queues]]\nname = 'a'\nmax_in_flight = 0", "queues[0].max_in_flight: must be a whole number from 1 to"),
        ("[[queues]]\nname = 'a'\nrate_per_second = nan", "queues[0].rate_per_second: must be a number above 0"),
        ("[[queues]]\nname = 'a'\nmessage_retention_secs = 1.5", "queues[0].message_retention_secs: must be a whole"),
        ("[[queues]]\nname = 'a'\n[[queues]]\nname = 'a'", "queues[1].name: queue 'a' is there already: queues[0]"),
    ],
)
def test_a_faulty_queue_names_the_key(write_app: WriteApp, queues: str, expected: str) -> None:
    with pytest.raises(InvalidManifest) as caught:
        load_manifest(write_app(MINIMAL + queues))
    assert expected in str(caught.value)


def test_dead_letter_triggers_of_a_folder_have_their_defaults_and_their_filters(write_app: WriteApp) -> None:
    more = DEAD + 'queue = "jobs"\nretry_max_attempts = 1\n'
    every, some = load_manifest(write_app(MINIMAL + DEAD + more, triage=HANDLER)).dead_letter_triggers
    assert every == DeadLetterTriggerSpec("triage")
    assert some == DeadLetterTriggerSpec("triage", queue_name="jobs", retry_max_attempts=1)
    assert every.name == "dead letters of any source → triage"
    assert some.name == "dead letters of queue jobs → triage"
