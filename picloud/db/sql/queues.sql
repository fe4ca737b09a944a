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

-- name: ensure_queue
insert into queues (app_id, name) values (%(app_id)s, %(name)s) on conflict do nothing;
