"""All SQL of the runtime, one file per group of tables, read by `picloud.db.sqlfile`."""
