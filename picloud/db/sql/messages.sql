-- The queue's statements. Every state transition is one statement guarded by (id, claim token); zero rows means that
-- the lease was lost, which is a normal result.

-- name: insert_messages
-- Insert messages of one app; one row back per message, in order: its id (the earlier message's id where the dedup
-- key was taken), whether it is new, and in how many seconds it is due. The id is null where the earlier message was
-- committed after this statement began: ask find_dedup_id.
with new as (
  select n.*, row_number() over (partition by n.queue_name, n.dedup_key order by n.ord) as nth
    from unnest(%(ids)s::uuid[], %(queue_names)s::text[], %(payloads)s::text[], %(delays)s::float8[],
                %(deliver_afters)s::timestamptz[], %(priorities)s::smallint[], %(max_attempts)s::int[],
                %(dedup_keys)s::text[], %(group_keys)s::text[], %(trigger_depths)s::int[],
                %(root_execution_ids)s::uuid[], %(parent_execution_ids)s::uuid[],
                %(request_ids)s::text[])
         with ordinality as n(id, queue_name, payload, delay, deliver_after, priority, max_attempts,
                              dedup_key, group_key, trigger_depth, root_execution_id,
                              parent_execution_id, request_id, ord)
), names as (
  select distinct queue_name from new
), known as (
  insert into queues (app_id, name)
  select %(app_id)s, n.queue_name from names n
   where not exists (select from queues q where q.app_id = %(app_id)s and q.name = n.queue_name)
   order by n.queue_name
  on conflict do nothing
), consumers as (
  select d.queue_name, t.retry_max_attempts
    from queue_trigger_details d
    join triggers t on t.id = d.trigger_id
   where t.app_id = %(app_id)s and d.queue_name in (select queue_name from names)
), settings as (
  -- all messages of a fifo queue are one group
  select name as queue_name, fifo, default_max_attempts from queues
   where app_id = %(app_id)s and (fifo or default_max_attempts is not null) and name in (select queue_name from names)
), inserted as (
  insert into queue_messages (id, app_id, queue_name, payload, deliver_after, priority, max_attempts,
                              dedup_key, group_key, trigger_depth, root_execution_id,
                              parent_execution_id, request_id)
  select n.id, %(app_id)s, n.queue_name, n.payload::jsonb,
         coalesce(n.deliver_after, now() + make_interval(secs => coalesce(n.delay, 0))), coalesce(n.priority, 0),
         coalesce(n.max_attempts, o.default_max_attempts, c.retry_max_attempts, 3), n.dedup_key,
         case when o.fifo then '' else n.group_key end, coalesce(n.trigger_depth, 0), n.root_execution_id,
         n.parent_execution_id, n.request_id
    from new n
    left join consumers c using (queue_name)
    left join settings o using (queue_name)
   where n.dedup_key is null or n.nth = 1
   -- in the order of the keys: two batches with the same keys would wait for each other otherwise
   order by n.queue_name, n.dedup_key, n.ord
  on conflict (app_id, queue_name, dedup_key) where dedup_key is not null do nothing
  returning id, queue_name, dedup_key, deliver_after
)
select coalesce(i.id, twin.id, earlier.id) as id,
       i.id is not null as inserted,
       extract(epoch from i.deliver_after - now())::float8 as due_in
  from new n
  left join inserted i on i.id = n.id
  left join inserted twin on n.dedup_key is not null and twin.queue_name = n.queue_name and twin.dedup_key = n.dedup_key
  left join queue_messages earlier
         on n.dedup_key is not null and i.id is null and twin.id is null
        and earlier.app_id = %(app_id)s and earlier.queue_name = n.queue_name and earlier.dedup_key = n.dedup_key
 order by n.ord;

-- name: insert_alike_messages
-- Insert many messages of one queue that differ in nothing but their payloads: the bulk of all bulk sending.
with known as (
  insert into queues (app_id, name)
  select %(app_id)s, %(queue_name)s
   where not exists (select from queues where app_id = %(app_id)s and name = %(queue_name)s)
  on conflict do nothing
), rules as (
  select coalesce(q.default_max_attempts, c.retry_max_attempts) as max_attempts, q.fifo
    from (select) one
    left join queues q on q.app_id = %(app_id)s and q.name = %(queue_name)s
    left join lateral (
      select t.retry_max_attempts
        from queue_trigger_details d
        join triggers t on t.id = d.trigger_id
       where t.app_id = %(app_id)s and d.queue_name = %(queue_name)s) c on true
)
insert into queue_messages (id, app_id, queue_name, payload, deliver_after, priority, max_attempts, group_key,
                            trigger_depth, root_execution_id, parent_execution_id, request_id)
select n.id, %(app_id)s, %(queue_name)s, n.payload::jsonb, now() + make_interval(secs => %(delay)s::float8),
       %(priority)s, coalesce(%(max_attempts)s::int, r.max_attempts, 3), case when r.fifo then '' end,
       %(trigger_depth)s, %(root_execution_id)s::uuid, %(parent_execution_id)s::uuid, %(request_id)s::text
  from unnest(%(ids)s::uuid[], %(payloads)s::text[]) as n(id, payload)
 cross join rules r;

-- name: find_dedup_id
-- The message that holds a dedup key, if any.
select id from queue_messages where app_id = %(app_id)s and queue_name = %(queue_name)s and dedup_key = %(dedup_key)s;

-- name: pull_messages
-- Acknowledge the previous batch, insert the effects of the handlers that were acknowledged, and claim the next batch.
-- One row per claimed message, or one row with a null id; `acked` counts the acknowledgements that held their lease.
-- A stale acknowledgement finds no row, so its effects join to nothing and are dropped.
with acked as (
  delete from queue_messages
   where id = any(%(ack_ids)s::uuid[]) and claim_token = %(ack_token)s
  returning id
), effects as (
  select e.* from unnest(%(causes)s::uuid[], %(ids)s::uuid[], %(queue_names)s::text[], %(payloads)s::text[],
                         %(delays)s::float8[], %(deliver_afters)s::timestamptz[], %(priorities)s::smallint[],
                         %(max_attempts)s::int[], %(dedup_keys)s::text[], %(group_keys)s::text[],
                         %(trigger_depths)s::int[], %(root_execution_ids)s::uuid[], %(parent_execution_ids)s::uuid[],
                         %(request_ids)s::text[])
         with ordinality as e(cause, id, queue_name, payload, delay, deliver_after, priority, max_attempts,
                              dedup_key, group_key, trigger_depth, root_execution_id,
                              parent_execution_id, request_id, ord)
    join acked a on a.id = e.cause
), names as (
  select distinct queue_name from effects
), known as (
  insert into queues (app_id, name)
  select %(app_id)s, n.queue_name from names n
   where not exists (select from queues q where q.app_id = %(app_id)s and q.name = n.queue_name)
   order by n.queue_name
  on conflict do nothing
), consumers as (
  select d.queue_name, t.retry_max_attempts
    from queue_trigger_details d
    join triggers t on t.id = d.trigger_id
   where t.app_id = %(app_id)s and d.queue_name in (select queue_name from names)
), settings as (
  -- all messages of a fifo queue are one group
  select name as queue_name, fifo, default_max_attempts from queues
   where app_id = %(app_id)s and (fifo or default_max_attempts is not null) and name in (select queue_name from names)
), inserted as (
  insert into queue_messages (id, app_id, queue_name, payload, deliver_after, priority, max_attempts,
                              dedup_key, group_key, trigger_depth, root_execution_id,
                              parent_execution_id, request_id)
  select e.id, %(app_id)s, e.queue_name, e.payload::jsonb,
         coalesce(e.deliver_after, now() + make_interval(secs => coalesce(e.delay, 0))), coalesce(e.priority, 0),
         coalesce(e.max_attempts, o.default_max_attempts, c.retry_max_attempts, 3), e.dedup_key,
         case when o.fifo then '' else e.group_key end, coalesce(e.trigger_depth, 0), e.root_execution_id,
         e.parent_execution_id, e.request_id
    from effects e
    left join consumers c using (queue_name)
    left join settings o using (queue_name)
   order by e.queue_name, e.dedup_key, e.ord
  on conflict (app_id, queue_name, dedup_key) where dedup_key is not null do nothing
), pause as (
  select exists (select from queues where app_id = %(app_id)s and name = %(queue_name)s and paused_at is not null) as is_on
), claimed as (
  update queue_messages q
     set claim_token = %(claim_token)s, claimed_at = now(), attempt = attempt + 1
   where q.id = any(array(
     select m.id
       from unnest(%(priority_levels)s::smallint[], %(low_waters)s::timestamptz[]) with ordinality as p(prio, low, ord)
      cross join lateral (
        select id from queue_messages c
         -- the scalar sub-query makes the acknowledgement run first: without it competing consumers deadlock
         where (select count(*) from acked) >= 0
           and not (select is_on from pause)
           and app_id = %(app_id)s and queue_name = %(queue_name)s and priority = p.prio
           and claim_token is null and deliver_after <= now() and deliver_after >= p.low
           -- of a group only the first, and only while none of it is claimed: a retry that waits holds the others up
           and (group_key is null or not exists (
             select from queue_messages b
              where b.app_id = %(app_id)s and b.queue_name = %(queue_name)s and b.group_key = c.group_key
                -- acknowledged just now, which this statement's snapshot does not show
                and not (b.id = any(%(ack_ids)s::uuid[]) and b.claim_token is not distinct from %(ack_token)s)
                and (b.claim_token is not null or (b.id < c.id and (b.attempt > 0 or b.deliver_after <= now())))))
         order by deliver_after, id
         for update skip locked
         -- the largest batch: the planner goes by it, whatever the parameter is, so that one plan does for
         -- all and none is made anew for each claim of a large table (a millisecond)
         limit 10000) m
      limit (select %(limit)s::int)))
  returning q.id, q.payload::text as payload, q.attempt, q.max_attempts, q.priority, q.enqueued_at, q.deliver_after,
            q.trigger_depth, q.root_execution_id, q.parent_execution_id, q.request_id
)
select c.id, c.payload, c.attempt, c.max_attempts, c.priority, c.enqueued_at, c.deliver_after,
       c.trigger_depth, c.root_execution_id, c.parent_execution_id, c.request_id, a.acked, a.paused, a.lost
  from (select (select count(*)::int from acked) as acked, (select is_on from pause) as paused,
               (select array(select unnest(%(ack_ids)s::uuid[]) except select id from acked)
                 where (select count(*) from acked) < cardinality(%(ack_ids)s::uuid[])) as lost,
               case when not %(is_durable)s then set_config('synchronous_commit', 'off', true) end) a
  left join claimed c on true;

-- name: hold_messages
-- Keep claimed messages from being reclaimed until the transaction ends; a lease that was lost finds no row.
select id from queue_messages where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s for update;

-- name: remove_messages
delete from queue_messages where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s;

-- name: nack_messages
-- Give failed messages back, each after its own wait in milliseconds.
update queue_messages q
   set claim_token = null, claimed_at = null, deliver_after = now() + make_interval(secs => f.wait_ms / 1000.0)
  from unnest(%(ids)s::uuid[], %(waits_ms)s::float8[]) as f(id, wait_ms)
 where q.id = f.id and q.claim_token = %(claim_token)s
returning q.id;

-- name: release_messages
-- Give messages back that were claimed but never tried: the attempt does not count.
update queue_messages
   set claim_token = null, claimed_at = null, attempt = attempt - 1
 where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s
returning id;

-- name: extend_leases
-- Start the lease of running messages anew.
update queue_messages set claimed_at = now()
 where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s
returning id;

-- name: dead_letter_messages
-- Move messages to the dead letters, with the event that the handler saw: their attempts are used up, or somebody had
-- the execution cancelled and wants them gone.
with dead as (
  delete from queue_messages q
   using unnest(%(ids)s::uuid[], %(errors)s::text[]) as f(id, error)
   where q.id = f.id and q.claim_token = %(claim_token)s
  returning q.*, f.error
)
insert into dead_letters (id, app_id, source, op, queue_name, trigger_id, script_name, event, reason, error, attempts,
                          enqueued_at, trigger_depth, root_execution_id, request_id, resolved_at, resolution,
                          resolved_by)
select d.id, d.app_id, 'queue', 'receive', d.queue_name, %(trigger_id)s, %(script_name)s,
       jsonb_build_object('source', 'queue', 'op', 'receive', 'queue', d.queue_name, 'message_id', d.id,
                          'payload', d.payload, 'attempt', d.attempt, 'max_attempts', d.max_attempts,
                          'enqueued_at', d.enqueued_at, 'priority', d.priority)
         || case when d.group_key is null then '{}' else jsonb_build_object('group_key', d.group_key) end,
       case when %(discarded_by)s::text is null then 'attempts_exhausted' else 'cancelled' end,
       d.error::jsonb, d.attempt, d.enqueued_at, d.trigger_depth, d.root_execution_id, d.request_id,
       case when %(discarded_by)s::text is not null then now() end,
       case when %(discarded_by)s::text is not null then 'discarded' end, %(discarded_by)s::text
  from dead d
returning id;

-- name: reclaim_messages
-- Give back one batch of messages whose lease ran out; those with no attempt left become dead letters, so that a
-- script that kills its node cannot do so for ever. One row per queue with what happened.
with leases as (
  select t.app_id, d.queue_name, d.visibility_timeout_secs, d.trigger_id, s.name as script_name
    from queue_trigger_details d
    join triggers t on t.id = d.trigger_id
    join scripts s on s.id = t.script_id
), expired as (
  select m.id, m.attempt >= m.max_attempts as used_up, l.trigger_id, l.script_name
    from queue_messages m
    left join leases l on l.app_id = m.app_id and l.queue_name = m.queue_name
   where m.claim_token is not null
     and m.claimed_at < now() - make_interval(secs => coalesce(l.visibility_timeout_secs, %(default_timeout_secs)s))
   order by m.claimed_at
   for update of m skip locked
   limit %(limit)s
), released as (
  update queue_messages q set claim_token = null, claimed_at = null, deliver_after = now()
    from expired e
   where q.id = e.id and not e.used_up
  returning q.app_id, q.queue_name
), dead as (
  delete from queue_messages q using expired e
   where q.id = e.id and e.used_up
  returning q.*, e.trigger_id, e.script_name
), buried as (
  insert into dead_letters (id, app_id, source, op, queue_name, trigger_id, script_name, event, reason, error, attempts,
                            enqueued_at, trigger_depth, root_execution_id, request_id)
  select d.id, d.app_id, 'queue', 'receive', d.queue_name, d.trigger_id, d.script_name,
         jsonb_build_object('source', 'queue', 'op', 'receive', 'queue', d.queue_name, 'message_id', d.id,
                            'payload', d.payload, 'attempt', d.attempt, 'max_attempts', d.max_attempts,
                            'enqueued_at', d.enqueued_at, 'priority', d.priority)
           || case when d.group_key is null then '{}' else jsonb_build_object('group_key', d.group_key) end,
         'lease_expired',
         jsonb_build_object('type', 'LeaseExpired', 'message',
                            'the lease ran out on the last attempt: the node died, or the handler held it for too long'),
         d.attempt, d.enqueued_at, d.trigger_depth, d.root_execution_id, d.request_id
    from dead d
  returning app_id, queue_name
)
select app_id, queue_name, sum(released)::int as released, sum(dead)::int as dead
  from (select app_id, queue_name, 1 as released, 0 as dead from released
        union all
        select app_id, queue_name, 0, 1 from buried) done
 group by app_id, queue_name;

-- name: list_due_queues
-- Every queue that holds unclaimed messages, and in how many seconds the first is due (negative: since when).
-- A loose index scan: the cost grows with the number of such queues, not with the number of messages.
with recursive busy as (
  (select app_id, queue_name from queue_messages where claim_token is null order by app_id, queue_name limit 1)
  union all
  select n.app_id, n.queue_name
    from busy b
   cross join lateral (
     select m.app_id, m.queue_name from queue_messages m
      where m.claim_token is null and (m.app_id, m.queue_name) > (b.app_id, b.queue_name)
      order by m.app_id, m.queue_name limit 1) n
)
select b.app_id, b.queue_name, extract(epoch from due.first - now())::float8 as due_in
  from busy b
 cross join lateral (
   select min(f.deliver_after) as first
     from generate_series(0, 9) as p(prio)
    cross join lateral (
      select deliver_after from queue_messages m
       where m.claim_token is null and m.app_id = b.app_id and m.queue_name = b.queue_name and m.priority = p.prio
       order by deliver_after limit 1) f) due
 where due.first is not null
   and not exists (select from queues q where q.app_id = b.app_id and q.name = b.queue_name and q.paused_at is not null);

-- name: list_messages
-- Peek at messages of one state, in id order, without claiming them.
select id, queue_name, payload, attempt, max_attempts, priority, enqueued_at, deliver_after, claimed_at, dedup_key,
       case when claim_token is not null then 'claimed' when deliver_after > now() then 'delayed' else 'ready' end as state
  from queue_messages
 where app_id = %(app_id)s and queue_name = %(queue_name)s
   and (%(after)s::uuid is null or id > %(after)s::uuid)
   and (%(state)s::text is null
        or %(state)s::text = case when claim_token is not null then 'claimed'
                                  when deliver_after > now() then 'delayed' else 'ready' end)
 order by id
 limit %(limit)s;

-- name: get_message
select id, queue_name, payload, attempt, max_attempts, priority, enqueued_at, deliver_after, claimed_at, dedup_key,
       case when claim_token is not null then 'claimed' when deliver_after > now() then 'delayed' else 'ready' end as state
  from queue_messages
 where app_id = %(app_id)s and id = %(id)s;

-- name: promote_message
-- Make a delayed message due now.
update queue_messages set deliver_after = now()
 where app_id = %(app_id)s and id = %(id)s and claim_token is null and deliver_after > now()
returning queue_name;

-- name: requeue_message
-- Take a message from whoever handles it: what that handler asks for will be dropped with its lease.
update queue_messages set claim_token = null, claimed_at = null, deliver_after = now()
 where app_id = %(app_id)s and id = %(id)s and claim_token is not null
returning queue_name;

-- name: purge_messages
-- Drop messages that nobody handles, one batch at a time.
with doomed as (
  select id from queue_messages
   where app_id = %(app_id)s and queue_name = %(queue_name)s and claim_token is null
     and (%(state)s = 'all' or (deliver_after <= now()) = (%(state)s = 'ready'))
   limit %(limit)s
   for update skip locked
)
delete from queue_messages m using doomed d where m.id = d.id;

-- name: delete_message
-- Drop a message that nobody holds.
delete from queue_messages where app_id = %(app_id)s and id = %(id)s and claim_token is null returning id;

-- name: vacuum_messages
vacuum (analyze) queue_messages;
