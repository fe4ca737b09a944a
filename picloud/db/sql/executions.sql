-- What ran. Every statement finds its partitions by the time in the ids; the functions are those of the migration.

-- name: ensure_partitions
select ensure_execution_partitions(%(days_ahead)s);

-- name: drop_partitions
select drop_execution_partitions(%(older_than_days)s);

-- name: limit_lock_wait
-- For the transaction: making or dropping a partition must not queue up behind a long reader and hold writers up.
select set_config('lock_timeout', '2s', true);
