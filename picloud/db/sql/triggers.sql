-- name: lock_queue_consumer
-- Serialise the creation of consumers of one queue until the transaction ends.
select pg_advisory_xact_lock(hashtext(%(app_id)s::text || %(queue_name)s::text));

-- name: insert_queue_trigger
with made as (
  insert into triggers (id, app_id, script_id, kind, enabled, retry_max_attempts, retry_backoff, retry_base_ms)
  values (%(id)s, %(app_id)s, %(script_id)s, 'queue', %(enabled)s, %(retry_max_attempts)s, %(retry_backoff)s,
          %(retry_base_ms)s)
  returning id
)
insert into queue_trigger_details (trigger_id, queue_name, visibility_timeout_secs, batch_size, concurrency)
select id, %(queue_name)s, %(visibility_timeout_secs)s, %(batch_size)s, %(concurrency)s from made;

-- name: update_queue_trigger
with changed as (
  update triggers
     set script_id = %(script_id)s, enabled = %(enabled)s, retry_max_attempts = %(retry_max_attempts)s,
         retry_backoff = %(retry_backoff)s, retry_base_ms = %(retry_base_ms)s, updated_at = clock_timestamp()
   where id = %(id)s and app_id = %(app_id)s and kind = 'queue'
  returning id
)
update queue_trigger_details d
   set visibility_timeout_secs = %(visibility_timeout_secs)s, batch_size = %(batch_size)s,
       concurrency = %(concurrency)s
  from changed c
 where d.trigger_id = c.id
returning d.trigger_id;

-- name: fingerprint_queue_triggers
-- Changes whenever a row that list_queue_triggers reads does, but for a trigger's details, which change with their
-- trigger: a sum of the transactions that wrote the rows, since times of commits are not in the order of their clocks.
select concat_ws('/',
  (select concat_ws(':', count(*), sum(xmin::text::bigint)) from triggers where kind = 'queue'),
  (select concat_ws(':', count(*), sum(xmin::text::bigint)) from scripts),
  (select concat_ws(':', count(*), sum(xmin::text::bigint)) from queues),
  (select concat_ws(':', count(*), sum(xmin::text::bigint)) from apps)) as fingerprint;

-- name: list_queue_triggers
-- Queue triggers of one app, or of all; the roster asks for all that are enabled.
select t.id, t.app_id, a.name as app_name, t.script_id, s.name as script_name, s.version as script_version,
       d.queue_name, t.enabled, d.visibility_timeout_secs, t.retry_max_attempts, t.retry_backoff, t.retry_base_ms,
       d.batch_size, d.concurrency, d.last_fired_at, t.created_at, t.updated_at, q.max_in_flight, q.rate_per_second
  from triggers t
  join queue_trigger_details d on d.trigger_id = t.id
  left join queues q on q.app_id = t.app_id and q.name = d.queue_name
  join apps a on a.id = t.app_id
  join scripts s on s.id = t.script_id
 where (%(app_id)s::uuid is null or t.app_id = %(app_id)s::uuid)
   and (%(queue_name)s::text is null or d.queue_name = %(queue_name)s::text)
   and (%(id)s::uuid is null or t.id = %(id)s::uuid)
   and (not %(only_enabled)s or t.enabled)
   and (%(after)s::uuid is null or t.id > %(after)s::uuid)
 order by t.id
 limit %(limit)s;

-- name: find_trigger_kind
select kind from triggers where id = %(id)s and app_id = %(app_id)s;

-- name: lock_trigger
-- Make others wait who want to change the trigger, until the transaction ends.
select id from triggers where id = %(id)s and app_id = %(app_id)s for update;

-- name: delete_trigger
delete from triggers where id = %(id)s and app_id = %(app_id)s returning id;

-- name: touch_queue_trigger
update queue_trigger_details set last_fired_at = now() where trigger_id = %(trigger_id)s;

-- name: insert_dead_letter_trigger
with made as (
  insert into triggers (id, app_id, script_id, kind, enabled, retry_max_attempts, retry_backoff, retry_base_ms)
  values (%(id)s, %(app_id)s, %(script_id)s, 'dead_letter', %(enabled)s, %(retry_max_attempts)s, %(retry_backoff)s,
          %(retry_base_ms)s)
  returning id
)
insert into dead_letter_trigger_details (trigger_id, source, queue_name)
select id, %(source)s, %(queue_name)s from made;

-- name: update_dead_letter_trigger
with changed as (
  update triggers
     set script_id = %(script_id)s, enabled = %(enabled)s, retry_max_attempts = %(retry_max_attempts)s,
         retry_backoff = %(retry_backoff)s, retry_base_ms = %(retry_base_ms)s, updated_at = clock_timestamp()
   where id = %(id)s and app_id = %(app_id)s and kind = 'dead_letter'
  returning id
)
update dead_letter_trigger_details d set source = %(source)s, queue_name = %(queue_name)s
  from changed c
 where d.trigger_id = c.id
returning d.trigger_id;

-- name: list_dead_letter_triggers
select t.id, t.app_id, s.name as script_name, d.source, d.queue_name, t.enabled, t.retry_max_attempts, t.retry_backoff,
       t.retry_base_ms, t.created_at, t.updated_at
  from triggers t
  join dead_letter_trigger_details d on d.trigger_id = t.id
  join scripts s on s.id = t.script_id
 where t.app_id = %(app_id)s
   and (%(after)s::uuid is null or t.id > %(after)s::uuid)
   and (%(id)s::uuid is null or t.id = %(id)s::uuid)
 order by t.id
 limit %(limit)s;

-- name: insert_http_trigger
with made as (
  insert into triggers (id, app_id, script_id, kind, enabled, retry_max_attempts)
  values (%(id)s, %(app_id)s, %(script_id)s, 'http', %(enabled)s, 1)
  returning id, app_id
)
insert into http_trigger_details (trigger_id, app_id, method, path, pattern, rules)
select id, app_id, %(method)s, %(path)s, %(pattern)s, %(rules)s from made;

-- name: update_http_trigger
with changed as (
  update triggers set script_id = %(script_id)s, enabled = %(enabled)s, updated_at = clock_timestamp()
   where id = %(id)s and app_id = %(app_id)s and kind = 'http'
  returning id
)
update http_trigger_details d
   set method = %(method)s, path = %(path)s, pattern = %(pattern)s, rules = %(rules)s
  from changed c
 where d.trigger_id = c.id
returning d.trigger_id;

-- name: list_http_triggers
select t.id, t.app_id, t.script_id, s.name as script_name, d.method, d.path, t.enabled, d.rules, t.created_at,
       t.updated_at
  from triggers t
  join http_trigger_details d on d.trigger_id = t.id
  join scripts s on s.id = t.script_id
 where t.app_id = %(app_id)s
   and (%(after)s::uuid is null or t.id > %(after)s::uuid)
   and (%(id)s::uuid is null or t.id = %(id)s::uuid)
   and (%(method)s::text is null or (d.method = %(method)s and d.pattern = %(pattern)s))
 order by t.id
 limit %(limit)s;

-- name: list_routes
-- What a node serves: the enabled routes of all apps.
select a.name as app_name, t.app_id, t.id as trigger_id, s.name as script_name, d.method, d.path, d.rules
  from triggers t
  join http_trigger_details d on d.trigger_id = t.id
  join scripts s on s.id = t.script_id
  join apps a on a.id = t.app_id
 where t.enabled
 order by t.id;
