-- Events that wait for a script: the outbox has the queue's rules, one row is one delivery.

-- name: claim_outbox
-- The next due rows, with what is needed to run them; the script's app is told, since a row may have been edited.
with claimed as (
  update outbox o set claim_token = %(claim_token)s, claimed_at = now(), attempt = attempt + 1
   where o.id = any(array(
     select id from outbox where claim_token is null and deliver_after <= now()
      order by deliver_after, id for update skip locked limit %(limit)s))
  returning o.*
)
select c.id, c.app_id, a.name as app_name, c.source_kind, c.script_id, s.name as script_name, s.app_id as script_app_id,
       c.event, c.attempt, c.max_attempts, c.trigger_depth, c.root_execution_id,
       coalesce(t.retry_backoff, 'exponential') as retry_backoff, coalesce(t.retry_base_ms, 1000) as retry_base_ms
  from claimed c
  join apps a on a.id = c.app_id
  left join scripts s on s.id = c.script_id
  left join triggers t on t.id = c.trigger_id
 order by c.deliver_after, c.id;

-- name: insert_invocations
-- Once each: a failure goes straight to the dead letters.
insert into outbox (id, app_id, source_kind, script_id, event, max_attempts, trigger_depth, root_execution_id)
select i.id, %(app_id)s, 'invoke', s.id, i.event::jsonb, 1, i.trigger_depth, i.root_execution_id
  from unnest(%(ids)s::uuid[], %(script_ids)s::uuid[], %(events)s::text[], %(trigger_depths)s::int[],
              %(root_execution_ids)s::uuid[]) as i(id, script_id, event, trigger_depth, root_execution_id)
  -- none where the script was deleted meanwhile: the row becomes a dead letter that says so
  left join scripts s on s.id = i.script_id;

-- name: finish_outbox
delete from outbox where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s returning id;

-- name: nack_outbox
update outbox o
   set claim_token = null, claimed_at = null, deliver_after = now() + make_interval(secs => f.wait_ms / 1000.0)
  from unnest(%(ids)s::uuid[], %(waits_ms)s::float8[]) as f(id, wait_ms)
 where o.id = f.id and o.claim_token = %(claim_token)s
returning o.id;

-- name: release_outbox
-- Claimed but not run: the attempt does not count.
update outbox set claim_token = null, claimed_at = null, attempt = attempt - 1
 where id = any(%(ids)s::uuid[]) and claim_token = %(claim_token)s
returning id;

-- name: bury_outbox
-- A delivery that failed for good is a dead letter of its own kind.
with dead as (
  delete from outbox o using unnest(%(ids)s::uuid[], %(errors)s::text[]) as f(id, error)
   where o.id = f.id and o.claim_token = %(claim_token)s
  returning o.*, f.error
)
insert into dead_letters (id, app_id, source, op, trigger_id, script_name, event, reason, error, attempts, enqueued_at,
                          trigger_depth, root_execution_id)
select d.id, d.app_id, d.source_kind, 'deliver', d.trigger_id, s.name, d.event, 'attempts_exhausted', d.error::jsonb,
       d.attempt, d.created_at, d.trigger_depth, d.root_execution_id
  from dead d
  left join scripts s on s.id = d.script_id
returning id;

-- name: reclaim_outbox
-- Deliveries of nodes that died: again, or dead when no attempt is left.
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
  insert into dead_letters (id, app_id, source, op, trigger_id, event, reason, error, attempts, enqueued_at,
                            trigger_depth, root_execution_id)
  select d.id, d.app_id, d.source_kind, 'deliver', d.trigger_id, d.event, 'lease_expired',
         jsonb_build_object('type', 'LeaseExpired', 'message', 'the lease ran out on the last attempt'),
         d.attempt, d.created_at, d.trigger_depth, d.root_execution_id
    from dead d
  returning id
)
select (select count(*) from released)::int, (select count(*) from buried)::int;
