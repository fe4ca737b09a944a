"""The database: everything that survives.

Reader's map: `connection` and `pool` speak to PostgreSQL on Trio, `thread` from handler threads; `outage` decides what
an error means; `embedded` runs our own server; `migrate` brings the schema up to date; `sqlfile` reads the named
statements of `sql/`; every other module is one group of tables.
"""
