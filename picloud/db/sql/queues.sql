-- Queues as a whole: counts, existence, last use.

-- name: list_depths
-- Exact, disjoint counts of every queue of an app. All numbers come from one snapshot.
with live as (
  select queue_name,
         count(*) filter (where claim_token is null and deliver_after <= now()) as ready,
         count(*) filter (where claim_token is null and deliver_after > now()) as delayed,
         count(*) filter (where claim_token is not null) as claimed,
         extract(epoch from now() - min(deliver_after) filter (where claim_token is null and deliver_after <= now()))::float8
           as oldest_ready_age_secs
    from queue_messages
   where app_id = %(app_id)s and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
   group by queue_name
), gone as (
  select queue_name, count(*) as dead
    from dead_letters
   where app_id = %(app_id)s and resolved_at is null
     and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
   group by queue_name
)
select q.name, coalesce(l.ready, 0) as ready, coalesce(l.delayed, 0) as delayed, coalesce(l.claimed, 0) as claimed,
       coalesce(g.dead, 0) as dead, l.oldest_ready_age_secs, q.paused_at
  from queues q
  left join live l on l.queue_name = q.name
  left join gone g on g.queue_name = q.name
 where q.app_id = %(app_id)s and (%(queue_name)s::text is null or q.name = %(queue_name)s::text)
   and (%(after)s::text is null or q.name > %(after)s::text)
 order by q.name
 limit %(limit)s;

-- name: count_depth
-- All messages of a queue that are not claimed, and those of them that are due.
select count(*)::int as total, (count(*) filter (where deliver_after <= now()))::int as ready
  from queue_messages
 where app_id = %(app_id)s and queue_name = %(queue_name)s and claim_token is null;

-- name: pause_queue
-- A queue that is paused already keeps the time.
update queues set paused_at = coalesce(paused_at, now()) where app_id = %(app_id)s and name = %(name)s returning name;

-- name: resume_queue
update queues set paused_at = null where app_id = %(app_id)s and name = %(name)s returning name;

-- name: lock_queue
-- The rules of a queue, held until the transaction ends: its claims go one after the other.
select max_in_flight, rate_per_second from queues where app_id = %(app_id)s and name = %(name)s for no key update;

-- name: count_claimed
-- What is in flight, less what this very statement acknowledges; a stale acknowledgement takes nobody's place.
select count(*)::int from queue_messages
 where app_id = %(app_id)s and queue_name = %(name)s and claim_token is not null
   and not (claim_token = %(token)s and id = any(%(done)s::uuid[]));

-- name: refill_rate
-- What the rate allows now: a second's worth at most, in whole messages from 1 on.
insert into queue_rates as r (app_id, name, tokens, at)
values (%(app_id)s, %(name)s, greatest(%(rate)s::real, 1), clock_timestamp())
on conflict (app_id, name) do update
   set tokens = least(greatest(%(rate)s::real, 1),
                      r.tokens + %(rate)s::real * greatest(0, extract(epoch from clock_timestamp() - r.at)::real)),
       at = clock_timestamp()
returning tokens;

-- name: spend_rate
update queue_rates set tokens = tokens - %(count)s where app_id = %(app_id)s and name = %(name)s;

-- name: change_queue
update queues
   set fifo = %(fifo)s, max_in_flight = %(max_in_flight)s, rate_per_second = %(rate_per_second)s,
       default_max_attempts = %(default_max_attempts)s, message_retention_secs = %(message_retention_secs)s,
       dead_retention_secs = %(dead_retention_secs)s
 where app_id = %(app_id)s and name = %(name)s
returning name;

-- name: regroup_messages
-- Messages that were sent before the queue became, or stopped being, fifo.
update queue_messages set group_key = case when %(fifo)s then '' end
 where app_id = %(app_id)s and queue_name = %(name)s
   and case when %(fifo)s then group_key is distinct from '' else group_key = '' end;

-- name: get_rules
select fifo, max_in_flight, rate_per_second, default_max_attempts, message_retention_secs, dead_retention_secs
  from queues where app_id = %(app_id)s and name = %(name)s;

-- name: list_rules
select name, fifo, max_in_flight, rate_per_second, default_max_attempts, message_retention_secs, dead_retention_secs
  from queues
 where app_id = %(app_id)s and name = any(%(names)s::text[]);

-- name: ensure_queue
insert into queues (app_id, name) values (%(app_id)s, %(name)s) on conflict do nothing;
