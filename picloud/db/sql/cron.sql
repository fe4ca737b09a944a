-- Cron triggers, and the times they fired for.

-- name: insert_cron_trigger
with made as (
  insert into triggers (id, app_id, script_id, kind, enabled, retry_max_attempts, retry_backoff, retry_base_ms)
  values (%(id)s, %(app_id)s, %(script_id)s, 'cron', %(enabled)s, %(retry_max_attempts)s, %(retry_backoff)s,
          %(retry_base_ms)s)
  returning id
)
insert into cron_trigger_details (trigger_id, schedule, timezone, payload, queue_name, catch_up, catch_up_limit,
                                  next_fire_at)
select id, %(schedule)s, %(timezone)s, %(payload)s::jsonb, %(queue_name)s, %(catch_up)s, %(catch_up_limit)s,
       %(next_fire_at)s
  from made;

-- name: update_cron_trigger
-- The next time is set anew only where the schedule is: what is due and not yet fired for is not lost by other changes.
with changed as (
  update triggers
     set script_id = %(script_id)s, enabled = %(enabled)s, retry_max_attempts = %(retry_max_attempts)s,
         retry_backoff = %(retry_backoff)s, retry_base_ms = %(retry_base_ms)s, updated_at = clock_timestamp()
   where id = %(id)s and app_id = %(app_id)s and kind = 'cron'
  returning id
)
update cron_trigger_details d
   set schedule = %(schedule)s, timezone = %(timezone)s, payload = %(payload)s::jsonb, queue_name = %(queue_name)s,
       catch_up = %(catch_up)s, catch_up_limit = %(catch_up_limit)s,
       next_fire_at = case when %(is_rescheduled)s then %(next_fire_at)s::timestamptz else d.next_fire_at end
  from changed c
 where d.trigger_id = c.id
returning d.trigger_id;

-- name: list_cron_triggers
select t.id, t.app_id, t.script_id, s.name as script_name, d.queue_name, d.schedule, d.timezone, d.payload,
       d.catch_up, d.catch_up_limit, t.enabled, t.retry_max_attempts, t.retry_backoff, t.retry_base_ms,
       d.next_fire_at, d.last_fired_at, t.created_at, t.updated_at
  from triggers t
  join cron_trigger_details d on d.trigger_id = t.id
  left join scripts s on s.id = t.script_id
 where t.app_id = %(app_id)s
   and (%(after)s::uuid is null or t.id > %(after)s::uuid)
   and (%(id)s::uuid is null or t.id = %(id)s::uuid)
 order by t.id
 limit %(limit)s;

-- name: tell_time
-- The database's clock: the only one that says what is due.
select clock_timestamp();

-- name: claim_due_triggers
-- Take due triggers until the transaction ends; those that another node has are its own. A node that stops in the middle
-- loses them soon. `set_config` is evaluated once, before the rows are read.
with guarded as materialized (
  select set_config('idle_in_transaction_session_timeout', %(patience_ms)s::text, true)
)
select d.trigger_id, t.app_id, t.script_id, t.retry_max_attempts, d.schedule, d.timezone, d.payload, d.queue_name,
       d.catch_up, d.catch_up_limit, d.next_fire_at, d.last_fired_at, statement_timestamp() as now
  from cron_trigger_details d
  join triggers t on t.id = d.trigger_id
  join apps a on a.id = t.app_id
 where (select count(*) from guarded) = 1
   and d.next_fire_at <= statement_timestamp() and t.enabled
   and not d.trigger_id = any(%(except_ids)s::uuid[])
 order by d.next_fire_at
 -- what the rows of a fire refer to is held as well: whoever changes or deletes it now holds it first and waits for us
 for update of d skip locked
 for key share of t, a skip locked
 limit %(limit)s;

-- name: insert_cron_fires
-- What was fired for before is left out: one fire per time in the whole cluster.
insert into cron_fires (trigger_id, scheduled_for, delivery_id)
select f.trigger_id, f.scheduled_for, f.delivery_id
  from unnest(%(trigger_ids)s::uuid[], %(scheduled_fors)s::timestamptz[], %(delivery_ids)s::uuid[])
       as f(trigger_id, scheduled_for, delivery_id)
 order by f.trigger_id, f.scheduled_for
on conflict on constraint cron_fires_once do nothing
returning delivery_id;

-- name: insert_cron_deliveries
insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts)
select d.id, d.app_id, 'cron', d.trigger_id, d.script_id, d.event::jsonb, d.max_attempts
  from unnest(%(ids)s::uuid[], %(app_ids)s::uuid[], %(trigger_ids)s::uuid[], %(script_ids)s::uuid[],
              %(events)s::text[], %(max_attempts)s::int[])
       as d(id, app_id, trigger_id, script_id, event, max_attempts);

-- name: advance_cron_triggers
update cron_trigger_details d
   set next_fire_at = n.next_fire_at,
       last_fired_at = case when n.has_fired then statement_timestamp() else d.last_fired_at end
  from unnest(%(ids)s::uuid[], %(next_fire_ats)s::timestamptz[], %(have_fired)s::bool[])
       as n(trigger_id, next_fire_at, has_fired)
 where d.trigger_id = n.trigger_id;

-- name: find_next_due
-- In how many seconds the next trigger is due, below zero when it is overdue; no row where there is none.
select extract(epoch from d.next_fire_at - statement_timestamp())::float8
  from cron_trigger_details d
  join triggers t on t.id = d.trigger_id
 where d.next_fire_at is not null and t.enabled and not d.trigger_id = any(%(except_ids)s::uuid[])
 order by d.next_fire_at
 limit 1;

-- name: prune_cron_fires
-- A trigger's next time only moves forward: old rows have done their work.
delete from cron_fires
 where ctid = any(array(select ctid from cron_fires
                         where fired_at < now() - make_interval(secs => %(older_than)s) limit %(limit)s));
