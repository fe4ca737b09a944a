"""picloud: self-hosted functions and durable queues on one Python process and one PostgreSQL.

Reader's map: `app` wires everything; `actors` is what runs; `db` is what survives; `engine` runs handlers;
`http` is the admin API; `cli` is the command line; `sdk` is what a handler imports.
"""

from picloud.version import __version__

__all__ = ["__version__"]
