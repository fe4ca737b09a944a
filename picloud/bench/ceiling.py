"""The pull alone, by pgbench: what is left when neither Python nor a handler takes time."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import trio
from psycopg.conninfo import conninfo_to_dict
from uuid_utils.compat import uuid7

from picloud.bench.accounting import CpuAccount
from picloud.bench.feeding import empty, fill
from picloud.bench.measure import Figure
from picloud.bench.node import BenchNode
from picloud.db.arrays import MessageColumns
from picloud.db.binaries import find_binaries
from picloud.db.messages import EPOCH, PRIORITIES
from picloud.db.sqlfile import load
from picloud.errors import EmbeddedPostgresError, InvalidInput
from picloud.types import AppId

BATCH = 500
SETTLED = 0.2
"""Seconds after which the server has taken leave of a client, and the CPU time of its process is in the accounts."""

_ENVIRONMENT = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
}


def find_pgbench() -> Path:
    """Return pgbench: beside the embedded server's programs, or on PATH. Raises: InvalidInput."""
    try:
        beside = find_binaries() / "pgbench"
    except EmbeddedPostgresError:
        beside = Path("pgbench")
    found = str(beside) if beside.exists() else shutil.which("pgbench")
    if found is None:
        raise InvalidInput("no pgbench found beside PostgreSQL's programs or on PATH: --ceiling needs it")
    return Path(found)


async def drain_by_pgbench(node: BenchNode, dsn: str, count: int) -> Figure:
    """Return messages per second of the consumer's own statement, by pgbench with one client; also the server's CPU.

    Raises: InvalidInput.
    """
    program, queue = find_pgbench(), f"ceiling-{uuid7()}"
    await fill(node, queue, count)
    pulls = -(-count // BATCH)
    with tempfile.TemporaryDirectory(prefix="picloud-bench-") as folder:
        script = Path(folder) / "pull.sql"
        script.write_text(pull_script(node.app.id, queue), encoding="utf-8")
        address = {_ENVIRONMENT[key]: str(value) for key, value in conninfo_to_dict(dsn).items() if key in _ENVIRONMENT}
        options = ["--no-vacuum", "--protocol=prepared", "--client=1", f"--transactions={pulls}"]
        options += ["--define=ids={}", "--define=held=0"]
        command = [str(program), *options, f"--file={script}"]
        account = await CpuAccount.open(node)
        done = await trio.run_process(
            command, capture_stdout=True, capture_stderr=True, check=False, env={"PATH": os.defpath, **address}
        )
    await trio.sleep(SETTLED)
    spent = account.per_message(count)
    await empty(node, queue)
    output = (done.stdout + done.stderr).decode(errors="replace")
    rate = re.search(r"tps = ([\d.]+)", output)
    if done.returncode != 0 or rate is None:
        raise InvalidInput(f"pgbench failed: {(output.strip().splitlines() or ['no output'])[-1]}")
    return Figure(
        float(rate[1]) * min(BATCH, count), {name: used for name, used in spent.items() if name == "server_us"}
    )


def pull_script(app_id: AppId, queue: str) -> str:
    """Return `pull_messages` as pgbench's script: what was claimed is acknowledged by the next pull.

    Only its last part differs: ids come back as one value, since pgbench can keep no rows.
    """
    statement = load("messages").pull_messages
    nothing = dict.fromkeys(["causes", *MessageColumns.of([]).literals()], "'{}'")
    values = {
        **nothing,
        "app_id": f"'{app_id}'::uuid",
        "queue_name": f"'{queue}'",
        "ack_ids": ":ids",
        "ack_token": "lpad(:held::text, 32, '0')::uuid",
        "claim_token": "lpad(:token::text, 32, '0')::uuid",
        "limit": str(BATCH),
        "priority_levels": f"'{{{','.join(map(str, PRIORITIES))}}}'",
        "low_waters": f"'{{{','.join([EPOCH.isoformat()] * len(PRIORITIES))}}}'",
        "is_durable": "true",
    }
    claim, _, _ = statement.rpartition("\nselect ")
    text = re.sub(r"%\((\w+)\)s", lambda parameter: values[parameter[1]], claim)
    answer = "select coalesce(array_agg(id), '{}')::text as ids, coalesce(sum(length(payload)), 0) as size from claimed"
    return "\n".join(
        [
            "\\set token random(1, 2000000000)",
            f"{' '.join(text.split())} {answer} \\gset",
            "\\set held :token",
            "",
        ]
    )
