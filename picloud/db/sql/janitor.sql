-- What is past its retention, in batches, and what keeps the database from clearing up.

-- name: try_lead
-- For as long as the session lives: one janitor in the whole cluster. Where a proxy lends the sessions (the process that
-- answers is not the one that we connected to) the lock would stay behind in one of them, and nobody would lead again:
-- there everybody leads; two janitors at once are harmless.
select case when pg_backend_pid() = %(backend)s then pg_try_advisory_lock(hashtext('picloud.janitor')) else true end;

-- name: expire_messages
-- Messages that were due for longer than their queue allows become dead letters, never just gone. The index of the
-- claims finds them: a probe for each priority.
with overdue as (
  select m.id, q.message_retention_secs
    from queues q
   cross join generate_series(0, 9) as p(prio)
   cross join lateral (
     select c.id from queue_messages c
      where c.app_id = q.app_id and c.queue_name = q.name and c.priority = p.prio and c.claim_token is null
        and c.deliver_after < now() - make_interval(secs => q.message_retention_secs)
      order by c.deliver_after, c.id
      limit %(limit)s
      for update skip locked) m
   where q.message_retention_secs is not null
   limit %(limit)s
), gone as (
  delete from queue_messages m using overdue o where m.id = o.id returning m.*, o.message_retention_secs
)
insert into dead_letters (id, app_id, source, op, queue_name, script_name, event, reason, error, attempts,
                          enqueued_at, trigger_depth, root_execution_id, request_id)
select g.id, g.app_id, 'queue', 'receive', g.queue_name, null,
       jsonb_build_object('source', 'queue', 'op', 'receive', 'queue', g.queue_name, 'message_id', g.id,
                          'payload', g.payload, 'attempt', g.attempt, 'max_attempts', g.max_attempts,
                          'enqueued_at', g.enqueued_at, 'priority', g.priority)
         || case when g.group_key is null then '{}' else jsonb_build_object('group_key', g.group_key) end,
       'expired',
       jsonb_build_object('type', 'Expired', 'message',
                          'nobody took it within ' || g.message_retention_secs || ' s, the retention of its queue'),
       g.attempt, g.enqueued_at, g.trigger_depth, g.root_execution_id, g.request_id
  from gone g
returning id;

-- name: prune_resolved
-- Dead letters that were resolved long ago; a queue with a retention of its own goes by that.
delete from dead_letters
 where id in (
   select d.id from dead_letters d
    where d.resolved_at < now() - make_interval(secs => %(keep_secs)s)
      and not exists (select from queues q where q.app_id = d.app_id and q.name = d.queue_name
                         and q.dead_retention_secs is not null)
    limit %(limit)s
    for update skip locked);

-- name: prune_dead_letters
-- Of queues that say how long to keep them, resolved or not.
delete from dead_letters
 where id in (
   select d.id from queues q
     join dead_letters d on d.app_id = q.app_id and d.queue_name = q.name
    where q.dead_retention_secs is not null and d.died_at < now() - make_interval(secs => q.dead_retention_secs)
    limit %(limit)s
    for update of d skip locked);

-- name: prune_script_versions
delete from script_versions
 where (script_id, version) in (
   select v.script_id, v.version from script_versions v
     join scripts s on s.id = v.script_id
    where v.version <= s.version - %(keep)s
    limit %(limit)s);

-- name: prune_tokens
-- Tokens that have expired a day ago.
delete from tokens where id in (select id from tokens where expires_at < now() - interval '1 day' limit %(limit)s);

-- name: list_bloated
-- Tables with more dead rows than live ones that were not vacuumed lately.
select relname::text as table_name, n_live_tup as live, n_dead_tup as dead
  from pg_stat_user_tables
 where schemaname = current_schema() and n_dead_tup >= %(least)s and n_dead_tup > n_live_tup
   and coalesce(greatest(last_vacuum, last_autovacuum), '-infinity') < now() - make_interval(secs => %(patience)s)
 order by n_dead_tup desc
 limit 20;

-- name: list_pins
-- What keeps dead rows from being cleared: old transactions, prepared ones, and replication slots.
select 'session' as kind, pid::text as name, coalesce(nullif(application_name, ''), backend_type) as application,
       extract(epoch from clock_timestamp() - xact_start)::float8 as age_secs
  from pg_stat_activity
 where coalesce(backend_xmin, backend_xid) is not null and pid <> pg_backend_pid()
   and (datname = current_database() or datname is null)
   and xact_start < clock_timestamp() - make_interval(secs => %(older_than)s)
union all
select 'prepared transaction', gid, owner::text, extract(epoch from clock_timestamp() - prepared)::float8
  from pg_prepared_xacts
 where database = current_database() and prepared < clock_timestamp() - make_interval(secs => %(older_than)s)
union all
-- they have no age in seconds
select 'replication slot', slot_name::text, coalesce(plugin, slot_type)::text, null::float8
  from pg_replication_slots
 where greatest(age(xmin), age(catalog_xmin)) > %(transactions)s
 order by age_secs desc nulls last
 limit 20;
