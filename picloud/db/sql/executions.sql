-- What ran. Every statement finds its partitions by the time in the ids; the functions are those of the migration.

-- name: ensure_partitions
select ensure_execution_partitions(%(days_ahead)s);

-- name: drop_partitions
select drop_execution_partitions(%(older_than_days)s);

-- name: limit_lock_wait
-- For the transaction: making or dropping a partition must not queue up behind a long reader and hold writers up.
select set_config('lock_timeout', '2s', true);

-- name: commit_lazily
-- For the transaction: what ran is not worth a wait for the disk.
select set_config('synchronous_commit', 'off', true);

-- name: copy_executions
copy executions (app_id, script_name, script_version, source, trigger_id, queue_name,
                 id, message_id, started_at, duration_secs, cpu_secs, attempt, trigger_depth,
                 status, log_lines, root_execution_id, parent_execution_id, request_id, error)
from stdin (format binary);

-- name: copy_execution_logs
copy execution_logs (app_id, execution_id, seq, script_name, level, at, message, fields) from stdin (format binary);

-- name: list_record_policies
select id, record_executions, record_sample_rate from apps where record_executions <> 'all';

-- name: list_executions
-- Newest first. The stack of an error is for those who look at one execution.
select id, coalesce(root_execution_id, id) as root_execution_id, parent_execution_id, script_name, script_version,
       source, trigger_id, queue_name, message_id, request_id, attempt, trigger_depth, status, started_at,
       duration_secs, cpu_secs, error - 'stack' as error, log_lines
  from executions
 where app_id = %(app_id)s
   and (%(before)s::uuid is null or id < %(before)s::uuid)
   and (%(since)s::timestamptz is null or id >= execution_id_floor(%(since)s::timestamptz))
   and (%(age_secs)s::float8 is null or id >= execution_id_floor(now() - make_interval(secs => %(age_secs)s::float8)))
   and (%(statuses)s::text[] is null or status = any(%(statuses)s::text[]))
   and (%(script_name)s::text is null or script_name = %(script_name)s::text)
   and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
   and (%(source)s::text is null or source = %(source)s::text)
   and (%(trigger_id)s::uuid is null or trigger_id = %(trigger_id)s::uuid)
   and (%(root_id)s::uuid is null or id = any(array(
         select %(root_id)s::uuid
         union all
         select id from executions where root_execution_id = %(root_id)s::uuid and id >= %(oldest)s::uuid)))
 order by id desc
 limit %(limit)s;

-- name: list_trace
-- An execution and all that it caused, in the order in which they began. A clock of another node may be behind by a
-- little: ids may be older than the root's.
select id, coalesce(root_execution_id, id) as root_execution_id, parent_execution_id, script_name, script_version,
       source, trigger_id, queue_name, message_id, request_id, attempt, trigger_depth, status, started_at,
       duration_secs, cpu_secs, error - 'stack' as error, log_lines
  from executions
 where app_id = %(app_id)s
   and (id = %(root_id)s or (root_execution_id = %(root_id)s and id >= %(oldest)s))
 order by id
 limit %(limit)s;

-- name: get_execution
select id, coalesce(root_execution_id, id) as root_execution_id, parent_execution_id, script_name, script_version,
       source, trigger_id, queue_name, message_id, request_id, attempt, trigger_depth, status, started_at,
       duration_secs, cpu_secs, error, log_lines
  from executions
 where app_id = %(app_id)s and id = %(id)s;

-- name: list_log_lines
-- What one execution logged, in order.
select execution_id, seq, script_name, level, at, message, fields, written_at
  from execution_logs
 where app_id = %(app_id)s and execution_id = %(execution_id)s
 order by seq;

-- name: get_log_horizon
-- Everything written before this moment can be seen: a batch that is being written may be older than one that is done.
select least(now() - interval '100 ms',
             (select min(xact_start) from pg_stat_activity
               where datname = current_database() and application_name = %(writer)s)) as horizon;

-- name: list_log_before
-- The log of an app, the last written first: lines, and failures after the lines of their execution.
with lines as (
  select execution_id, seq, script_name, level, at, message, fields, written_at
    from execution_logs l
   where app_id = %(app_id)s and written_at < %(horizon)s
     and (%(written_at)s::timestamptz is null
          or (written_at, execution_id, seq) < (%(written_at)s::timestamptz, %(execution_id)s::uuid, %(seq)s::int))
     and (%(script_name)s::text is null or script_name = %(script_name)s::text)
     and level = any(%(levels)s::text[])
     and (%(statuses)s::text[] is null
          or exists (select from executions e where e.app_id = l.app_id and e.id = l.execution_id
                        and e.status = any(%(statuses)s::text[])))
   order by written_at desc, execution_id desc, seq desc
   limit %(limit)s
), failures as (
  -- 2147483647: a failure comes after all lines of its execution
  select id, script_name, started_at, duration_secs, status, error, written_at
    from executions
   where app_id = %(app_id)s and status <> 'ok' and written_at < %(horizon)s
     and (%(written_at)s::timestamptz is null or written_at <= %(written_at)s::timestamptz)
     and (%(written_at)s::timestamptz is null
          or (written_at, id, 2147483647) < (%(written_at)s::timestamptz, %(execution_id)s::uuid, %(seq)s::int))
     and (%(script_name)s::text is null or script_name = %(script_name)s::text)
     and 'error' = any(%(levels)s::text[])
     and (%(statuses)s::text[] is null or status = any(%(statuses)s::text[]))
   order by written_at desc, id desc
   limit %(limit)s
)
select execution_id, seq, script_name, level, at, message, fields, written_at, null::text as status, null::jsonb as error
  from lines
union all
select id, 2147483647, script_name, 'error', started_at + make_interval(secs => duration_secs), '', null, written_at,
       status, error
  from failures
 order by written_at desc, execution_id desc, seq desc
 limit %(limit)s;

-- name: list_log_after
-- The same the other way round: what was written after a line, the first written first.
with lines as (
  select execution_id, seq, script_name, level, at, message, fields, written_at
    from execution_logs l
   where app_id = %(app_id)s and written_at < %(horizon)s
     and (written_at, execution_id, seq) > (%(written_at)s::timestamptz, %(execution_id)s::uuid, %(seq)s::int)
     and (%(script_name)s::text is null or script_name = %(script_name)s::text)
     and level = any(%(levels)s::text[])
     and (%(statuses)s::text[] is null
          or exists (select from executions e where e.app_id = l.app_id and e.id = l.execution_id
                        and e.status = any(%(statuses)s::text[])))
   order by written_at, execution_id, seq
   limit %(limit)s
), failures as (
  select id, script_name, started_at, duration_secs, status, error, written_at
    from executions
   where app_id = %(app_id)s and status <> 'ok' and written_at < %(horizon)s
     and written_at >= %(written_at)s::timestamptz
     and (written_at, id, 2147483647) > (%(written_at)s::timestamptz, %(execution_id)s::uuid, %(seq)s::int)
     and (%(script_name)s::text is null or script_name = %(script_name)s::text)
     and 'error' = any(%(levels)s::text[])
     and (%(statuses)s::text[] is null or status = any(%(statuses)s::text[]))
   order by written_at, id
   limit %(limit)s
)
select execution_id, seq, script_name, level, at, message, fields, written_at, null::text as status, null::jsonb as error
  from lines
union all
select id, 2147483647, script_name, 'error', started_at + make_interval(secs => duration_secs), '', null, written_at,
       status, error
  from failures
 order by written_at, execution_id, seq
 limit %(limit)s;

-- name: amend_executions
update executions e
   set status = a.status, error = coalesce(a.error::jsonb, e.error), written_at = now()
  from unnest(%(app_ids)s::uuid[], %(ids)s::uuid[], %(statuses)s::text[], %(errors)s::text[])
       as a(app_id, id, status, error)
 where e.app_id = a.app_id and e.id = a.id;
