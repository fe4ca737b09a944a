"""What an error of psycopg means: an outage to be retried, a wrong DATABASE_URL, or somebody's bug.

Once connected the server's SQLSTATE decides. While connecting libpq gives only text (checked against libpq 18), so the
texts are matched; what is not recognised counts as an outage, since waiting does no harm.
"""

from __future__ import annotations

import re
import socket

import psycopg

from picloud.db.dsn import SYNTAX, parse_dsn, redact_dsn
from picloud.errors import DatabaseError, DatabaseMisconfigured, DatabaseUnavailable

OUTAGE_CLASSES = frozenset({"08", "53"})
"""Connection exceptions; insufficient resources (disk, memory, connections)."""

OUTAGE_STATES = frozenset(
    {
        "25P03",  # idle_in_transaction_session_timeout: this node stood still in the middle of a transaction
        "25P04",  # transaction_timeout
        "57014",  # query_canceled: a statement_timeout of the role, or an administrator; never our own
        "25006",  # read_only_sql_transaction: we are still connected to a demoted primary
        "57P01",  # admin_shutdown
        "57P02",  # crash_shutdown
        "57P03",  # cannot_connect_now: starting up, or in recovery
        "57P05",  # idle_session_timeout
        "58030",  # io_error
    }
)

LOST_STATEMENT_STATES = frozenset({"26000", "42P05"})
"""A prepared statement is not there, or is there already: a proxy gave us another session."""

_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"password authentication failed|no password supplied|SCRAM|SASL",
        "the server refuses the user or its password: correct them in DATABASE_URL",
    ),
    (r'database ".*" does not exist', "the database does not exist: create it, or correct its name in DATABASE_URL"),
    (r'role ".*" does not exist', "the user does not exist: create it, or correct its name in DATABASE_URL"),
    (
        r"pg_hba\.conf|(Peer|Ident|GSSAPI|certificate) authentication failed|not permitted to log in|permission denied",
        "the server does not let this user in from here: check pg_hba.conf and the user's rights",
    ),
    (
        r"SSL was required|SSL error|certificate verify|(root|server) certificate|(certificate|private key) file",
        "TLS cannot be set up: check sslmode and the certificate files in DATABASE_URL",
    ),
    (
        r"invalid response to SSL negotiation|expected authentication request|invalid response to GSSAPI negotiation",
        "what listens there is not PostgreSQL: correct host and port in DATABASE_URL",
    ),
    (r"invalid \S+ value|invalid port number|invalid integer value|could not match \d+", SYNTAX),
    (
        rf"failed to resolve host .*\[Errno {socket.EAI_NONAME}\]",
        "the host name is not known: correct the host in DATABASE_URL",
    ),
)


def is_outage(error: psycopg.Error) -> bool:
    """Tell whether a statement failed since the server is away, going away, or the session became useless."""
    state = error.sqlstate
    if state is None:
        # no answer from the server at all: the socket broke, or the connection was closed before
        return isinstance(error, psycopg.OperationalError) and not isinstance(error, psycopg.errors.PipelineAborted)
    if state in OUTAGE_STATES or state[:2] in OUTAGE_CLASSES:
        return True
    return is_stale_plan(error) or state in LOST_STATEMENT_STATES


def is_stale_plan(error: psycopg.Error) -> bool:
    """Tell whether a prepared statement outlived a migration ("cached plan must not change result type").

    The text is translated by some servers; the C function that raised it is not.
    """
    return error.sqlstate == "0A000" and error.diag.source_function == "RevalidateCachedQuery"


def translate(error: psycopg.Error) -> DatabaseError | None:
    """Return our error for an outage during a statement, None for everything else."""
    if not is_outage(error):
        return None
    if is_stale_plan(error):
        return DatabaseUnavailable("the schema changed under an open connection: try again on a new one")
    if error.sqlstate in LOST_STATEMENT_STATES:
        return DatabaseUnavailable(
            "a proxy between here and the database loses prepared statements: set PICLOUD_DB_PREPARE=false"
        )
    return DatabaseUnavailable(f"the database is not available: {_first_line(error)}")


def translate_connect(error: psycopg.Error, dsn: str) -> DatabaseError:
    """Return our error for a failed attempt to connect; its text never holds the password."""
    text = str(error)
    for pattern, advice in _ADVICE:
        if re.search(pattern, text):
            return DatabaseMisconfigured(
                advice if advice is SYNTAX else f"{advice} ({redact_dsn(dsn)}: {_reason(text, dsn)})"
            )
    if isinstance(error, psycopg.ProgrammingError):
        return DatabaseMisconfigured(SYNTAX)
    return DatabaseUnavailable(f"cannot reach the database at {redact_dsn(dsn)}: {_reason(text, dsn)}")


def _reason(text: str, dsn: str) -> str:
    """The server's or libpq's reason on one line, without libpq's preamble and without the password."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "no reason given")
    line = re.sub(r"^connection (failed|is bad): ", "", line)
    line = re.sub(r"^connection to server .*? failed: ", "", line)
    password = str(parse_dsn(dsn).get("password", ""))
    return line.replace(password, "…") if len(password) > 3 else line  # shorter ones are in any text by chance


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
