-- name: has_table
select to_regclass('schema_migrations') is not null

-- name: create_table
create table if not exists schema_migrations (
  name       text primary key,
  sha256     text not null,
  applied_at timestamptz not null default now()
)

-- name: lock_migrations
-- Wait for other nodes that migrate: until the end of the transaction, which also holds behind a pooling proxy.
select pg_advisory_xact_lock(hashtext('picloud.schema_migrations'))

-- name: lift_time_limits
-- A server's limits for ordinary statements are not meant for a migration.
select set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true)

-- name: list_applied
select name, sha256, applied_at from schema_migrations order by name

-- name: record_migration
insert into schema_migrations (name, sha256) values (%(name)s, %(sha256)s)
