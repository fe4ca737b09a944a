-- Executions that run for longer than a moment, on all nodes.

-- name: publish_running
-- Say what runs on this node now, and take back what does not any more; return what somebody wants cancelled.
with gone as (
  delete from running_executions where node_id = %(node_id)s and not id = any(%(ids)s::uuid[])
), forgotten as (
  -- of nodes that died
  delete from running_executions where node_id <> %(node_id)s and seen_at < now() - make_interval(secs => %(forget_after)s)
)
insert into running_executions as r (id, node_id, app_id, script_name, source, queue_name, message_id, started_at)
select n.id, %(node_id)s, n.app_id, n.script_name, n.source, n.queue_name, n.message_id,
       now() - make_interval(secs => n.age)
  from unnest(%(ids)s::uuid[], %(app_ids)s::uuid[], %(script_names)s::text[], %(sources)s::text[],
              %(queue_names)s::text[], %(message_ids)s::text[], %(ages)s::float8[])
         as n(id, app_id, script_name, source, queue_name, message_id, age)
  -- deleted meanwhile
  join apps a on a.id = n.app_id
on conflict (id) do update set seen_at = now()
returning r.id, r.cancel_by, r.cancel_discards;

-- name: list_running
-- Of all nodes but one, oldest first; what was not seen lately runs no more.
select r.id, r.node_id, r.app_id, r.script_name, r.source, r.queue_name, r.message_id, r.started_at,
       r.cancel_by is not null as cancelling
  from running_executions r
 where r.app_id = %(app_id)s and r.node_id <> %(except_node)s and r.seen_at >= now() - make_interval(secs => %(stale_after)s)
   and (%(after)s::uuid is null or r.id > %(after)s::uuid)
 order by r.id
 limit %(limit)s;

-- name: request_cancel
-- The first who asks is the one who did it; a later wish to discard is added.
update running_executions
   set cancel_by = coalesce(cancel_by, %(by)s), cancel_discards = cancel_discards or %(discards)s
 where app_id = %(app_id)s and id = %(id)s and seen_at >= now() - make_interval(secs => %(stale_after)s)
returning id;
