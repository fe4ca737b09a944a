-- Events that wait for a script: the outbox has the queue's rules, one row is one delivery.

-- name: pull_deliveries
-- Acknowledge the previous batch, insert the messages of its handlers, and claim the next batch, app by app in turn: an
-- app gets its share of the batch, however much another one has. One row per claimed delivery, with what is needed to
-- run it (the script's app is told, since a row may have been edited), or one row with a null id.
with recursive acked as (
  delete from outbox
   where id = any(%(ack_ids)s::uuid[]) and claim_token = %(ack_token)s
  returning id, app_id
), effects as (
  -- in the app of the row that caused them
  select a.app_id, e.*
    from unnest(%(causes)s::uuid[], %(ids)s::uuid[], %(queue_names)s::text[], %(payloads)s::text[],
                %(delays)s::float8[], %(deliver_afters)s::timestamptz[], %(priorities)s::smallint[],
                %(max_attempts)s::int[], %(dedup_keys)s::text[], %(group_keys)s::text[],
                %(trigger_depths)s::int[], %(root_execution_ids)s::uuid[], %(parent_execution_ids)s::uuid[],
                %(request_ids)s::text[])
         with ordinality as e(cause, id, queue_name, payload, delay, deliver_after, priority, max_attempts,
                              dedup_key, group_key, trigger_depth, root_execution_id,
                              parent_execution_id, request_id, ord)
    join acked a on a.id = e.cause
), names as (
  select distinct app_id, queue_name from effects
), known_queues as (
  insert into queues (app_id, name)
  select n.app_id, n.queue_name from names n
   where not exists (select from queues q where q.app_id = n.app_id and q.name = n.queue_name)
   order by n.app_id, n.queue_name
  on conflict do nothing
), consumers as (
  select n.app_id, n.queue_name, t.retry_max_attempts
    from names n
    join queue_trigger_details d on d.queue_name = n.queue_name
    join triggers t on t.id = d.trigger_id and t.app_id = n.app_id
), settings as (
  -- all messages of a fifo queue are one group
  select n.app_id, n.queue_name, q.fifo, q.default_max_attempts
    from names n
    join queues q on q.app_id = n.app_id and q.name = n.queue_name and (q.fifo or q.default_max_attempts is not null)
), inserted as (
  insert into queue_messages (id, app_id, queue_name, payload, deliver_after, priority, max_attempts,
                              dedup_key, group_key, trigger_depth, root_execution_id,
                              parent_execution_id, request_id)
  select e.id, e.app_id, e.queue_name, e.payload::jsonb,
         coalesce(e.deliver_after, now() + make_interval(secs => coalesce(e.delay, 0))), coalesce(e.priority, 0),
         coalesce(e.max_attempts, o.default_max_attempts, c.retry_max_attempts, 3), e.dedup_key,
         case when o.fifo then '' else e.group_key end, coalesce(e.trigger_depth, 0), e.root_execution_id,
         e.parent_execution_id, e.request_id
    from effects e
    left join consumers c using (app_id, queue_name)
    left join settings o using (app_id, queue_name)
   order by e.app_id, e.queue_name, e.dedup_key, e.ord
  on conflict (app_id, queue_name, dedup_key) where dedup_key is not null do nothing
), others as (
  -- apps that wait, found by a loose index scan between those known from earlier pulls: the dead rows that a drained
  -- flood leaves in the index are not walked again
  select n.app_id, g.upto
    from unnest(%(gap_starts)s::uuid[], %(gap_ends)s::uuid[]) as g(after, upto)
   cross join lateral (
     select o.app_id from outbox o
      where o.claim_token is null and o.app_id > g.after and o.app_id < g.upto
      order by o.app_id limit 1) n
  union all
  select n.app_id, s.upto
    from others s
   cross join lateral (
     select o.app_id from outbox o
      where o.claim_token is null and o.app_id > s.app_id and o.app_id < s.upto
      order by o.app_id limit 1) n
), busy as (
  select k.app_id, k.low from unnest(%(known_apps)s::uuid[], %(low_waters)s::timestamptz[]) as k(app_id, low)
  union all
  select app_id, '-infinity' from others
), due as materialized (
  select b.app_id, b.low
    from busy b
   -- not `exists`, which may become a join with all that waits
   cross join lateral (
     select from outbox o
      where o.claim_token is null and o.app_id = b.app_id and o.deliver_after <= now() and o.deliver_after >= b.low
      limit 1) first
   where b.app_id <> all(%(left_out)s::uuid[])
   -- from where the last pull ended, and around
   order by b.app_id <= %(last_app)s::uuid, b.app_id
), share as (
  select greatest(1, ceil(%(limit)s::float8 / greatest(1, count(*))))::bigint as rows from due
), claimed as (
  update outbox o set claim_token = %(claim_token)s, claimed_at = now(), attempt = attempt + 1
   where o.id = any(array(
     select m.id
       from due d
      cross join lateral (
        select id from outbox c
         -- the scalar sub-query makes the acknowledgement run first: without it competing lanes deadlock
         where (select count(*) from acked) >= 0
           and c.claim_token is null and c.app_id = d.app_id and c.deliver_after <= now() and c.deliver_after >= d.low
         order by c.deliver_after, c.id
         for update skip locked
         limit (select rows from share)) m
      limit %(limit)s))
  returning o.id, o.app_id, o.source_kind, o.trigger_id, o.script_id, o.event, o.attempt, o.max_attempts,
            o.created_at, o.deliver_after, o.trigger_depth, o.root_execution_id, o.parent_execution_id,
            o.request_id
)
select c.id, c.app_id, p.name, c.source_kind, c.trigger_id, c.script_id, s.name, s.app_id, s.version, c.event::text,
       c.attempt, c.max_attempts, c.created_at, c.deliver_after, c.trigger_depth, c.root_execution_id,
       coalesce(t.retry_backoff, 'exponential'), coalesce(t.retry_base_ms, 1000),
       c.parent_execution_id, c.request_id, a.lost, a.acked
  from (select (select count(*)::int from acked) as acked,
               (select array(select unnest(%(ack_ids)s::uuid[]) except select id from acked)
                 where (select count(*) from acked) < cardinality(%(ack_ids)s::uuid[])) as lost) a
  left join claimed c on true
  left join apps p on p.id = c.app_id
  left join scripts s on s.id = c.script_id
  left join triggers t on t.id = c.trigger_id;

-- name: insert_invocations
-- Once each: a failure goes straight to the dead letters.
insert into outbox (id, app_id, source_kind, script_id, event, max_attempts, trigger_depth, root_execution_id,
                    parent_execution_id, request_id)
select i.id, %(app_id)s, 'invoke', s.id, i.event::jsonb, 1, i.trigger_depth, i.root_execution_id,
       i.parent_execution_id, i.request_id
  from unnest(%(ids)s::uuid[], %(script_ids)s::uuid[], %(events)s::text[], %(trigger_depths)s::int[],
              %(root_execution_ids)s::uuid[], %(parent_execution_ids)s::uuid[], %(request_ids)s::text[])
       as i(id, script_id, event, trigger_depth, root_execution_id, parent_execution_id, request_id)
  -- none where the script was deleted meanwhile: the row becomes a dead letter that says so
  left join scripts s on s.id = i.script_id;

-- name: hold_deliveries
-- Keep claimed rows from being reclaimed until the transaction ends; a lease that was lost finds no row.
select id from outbox where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s for update;

-- name: remove_deliveries
delete from outbox where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s;

-- name: nack_deliveries
-- Give failed rows back, each after its own wait in milliseconds.
update outbox o
   set claim_token = null, claimed_at = null, deliver_after = now() + make_interval(secs => f.wait_ms / 1000.0)
  from unnest(%(ids)s::uuid[], %(waits_ms)s::float8[]) as f(id, wait_ms)
 where o.id = f.id and o.claim_token = %(claim_token)s
returning o.id;

-- name: release_deliveries
-- Claimed but not run: the attempt does not count.
update outbox set claim_token = null, claimed_at = null, attempt = attempt - 1
 where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s
returning id;

-- name: extend_deliveries
-- Start the lease of what runs anew.
update outbox set claimed_at = now()
 where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s
returning id;

-- name: bury_deliveries
-- A delivery that failed for good is a dead letter of its own kind; so is one that somebody had cancelled and wants gone.
with dead as (
  delete from outbox o using unnest(%(ids)s::uuid[], %(errors)s::text[]) as f(id, error)
   where o.id = f.id and o.claim_token = %(claim_token)s
  returning o.*, f.error
)
insert into dead_letters (id, app_id, source, op, trigger_id, script_name, event, reason, error, attempts, enqueued_at,
                          trigger_depth, root_execution_id, request_id, resolved_at, resolution, resolved_by)
select d.id, d.app_id, d.source_kind, 'deliver', d.trigger_id, s.name, d.event,
       case when %(discarded_by)s::text is null then 'attempts_exhausted' else 'cancelled' end,
       d.error::jsonb, d.attempt, d.created_at, d.trigger_depth, d.root_execution_id, d.request_id,
       case when %(discarded_by)s::text is not null then now() end,
       case when %(discarded_by)s::text is not null then 'discarded' end, %(discarded_by)s::text
  from dead d
  left join scripts s on s.id = d.script_id
returning id;

-- name: reclaim_deliveries
-- One batch of deliveries whose node died: again, or dead when no attempt is left. invoke_async has only one: whether
-- its handler ran is not known, so an operator or a dead_letter trigger decides.
with expired as (
  select id, attempt >= max_attempts as used_up from outbox
   where claim_token is not null and claimed_at < now() - make_interval(secs => %(timeout_secs)s)
   order by claimed_at for update skip locked limit %(limit)s
), released as (
  update outbox o set claim_token = null, claimed_at = null, deliver_after = now()
    from expired e where o.id = e.id and not e.used_up
  returning o.id
), dead as (
  delete from outbox o using expired e where o.id = e.id and e.used_up returning o.*
), buried as (
  insert into dead_letters (id, app_id, source, op, trigger_id, script_name, event, reason, error, attempts,
                            enqueued_at, trigger_depth, root_execution_id, request_id)
  select d.id, d.app_id, d.source_kind, 'deliver', d.trigger_id, s.name, d.event, 'lease_expired',
         jsonb_build_object('type', 'LeaseExpired', 'message',
                            'the lease ran out on the last attempt: the node died, or the handler held it for too long'),
         d.attempt, d.created_at, d.trigger_depth, d.root_execution_id, d.request_id
    from dead d
    left join scripts s on s.id = d.script_id
  returning id
)
select (select count(*) from released)::int, (select count(*) from buried)::int;

-- name: vacuum_deliveries
vacuum (analyze) outbox;
