"""The schema's history: `0001_name.sql` and on, forward only, one transaction each, run by `picloud.db.migrate`."""
